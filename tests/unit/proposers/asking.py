"""One-line builders: a question about the planted harness, a finding, a variant on record."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harnesspro.core.records import Finding, Harness, Patch
from harnesspro.formats.native import apply_patch, load_harness
from harnesspro.proposers.question import Question, Tried

ROOT = Path(__file__).parents[3]
PLANTED = load_harness(ROOT / "harnesses/planted")


def a_finding(
    detector: str, *, part: str = "budgets", knob: str | None = None, **detail
) -> Finding:
    return Finding(
        finding_id=f"f-{detector}",
        detector=detector,
        part=part,
        knob=knob,
        pattern=f"pattern of {detector}",
        advice="do less",
        evidence=(),
        wasted_nanos=1000,
        lost_success=0.1,
        detail=detail,
    )


def a_tried(
    *, score: float | None = 0.9, cost_ratio: float | None = 1.0, patch_id: str = "", **knobs
) -> Tried:
    return Tried(
        knob_values={**PLANTED.knob_values, **knobs},
        patch_id=patch_id,
        summary=f"tried {knobs}",
        proposer="knobs",
        score=score,
        cost_ratio=cost_ratio,
        changed=None,
        status="open" if knobs else "baseline",
    )


def a_question(parent: Harness = PLANTED, **changes: Any) -> Question:
    fields: dict[str, Any] = {
        "base": PLANTED,
        "findings": (),
        "history": (),
        "round_index": 0,
        "n_rounds": 3,
        "seed": 0,
        "models": {"worker": "sim/small"},
    }
    return Question(parent=parent, **(fields | changes))


def changed(harness: Harness = PLANTED, *, edits=(), **knobs) -> Harness:
    patch = Patch(
        parent_id=harness.harness_id,
        edits=tuple(edits),
        knobs=knobs,
        direction="cost",
        proposer="test",
        summary="test",
    )
    return apply_patch(harness, patch)
