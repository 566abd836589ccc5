"""What is lost, ranked: findings of every detector, no step's dollar claimed by two of them.

Knows no detector; a detector is a function from a harness and its trajectories to findings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from harnesspro.core.hashing import content_id
from harnesspro.core.money import usd_from_nanos
from harnesspro.core.records import Finding, Harness, Record, Span, Trajectory

Detector = Callable[[Harness, Sequence[Trajectory]], tuple[Finding, ...]]
"""Pure. It is given no void trial; every span it returns names a real step of a trajectory."""

StepKey = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a harness to work: a part, a dial of it, or a passage of its text."""

    part: str | None = None
    knob: str | None = None
    excerpt: str = ""


def knob_place(harness: Harness, *names: str) -> Place:
    """The first of the named knobs that the harness has, with its part; else nowhere."""
    for name in names:
        if name in harness.manifest.knobs:
            return Place(part=harness.manifest.knobs[name].part, knob=name)
    return Place()


def finding_of(
    harness: Harness,
    *,
    detector: str,
    pattern: str,
    advice: str,
    place: Place,
    evidence: Sequence[Span],
    lost_success: float = 0.0,
    detail: Mapping[str, JsonValue] | None = None,
) -> Finding:
    """A finding that claims what its spans claim, named by what it says and where."""
    subject = (detector, place.part, place.knob, pattern, harness.harness_id)
    return Finding(
        finding_id=content_id("f", *subject, *([place.excerpt] if place.excerpt else [])),
        detector=detector,
        part=place.part,
        knob=place.knob,
        pattern=pattern,
        advice=advice,
        evidence=tuple(evidence),
        wasted_nanos=sum(span.wasted_nanos for span in evidence),
        lost_success=lost_success,
        detail=dict(detail or {}),
    )


class Diagnosis(Record):
    """What some trials of a harness show, as it stands on record."""

    findings: tuple[Finding, ...] = ()
    """Dearest first."""
    spent_nanos: int = 0
    """Attributed, by the trials diagnosed."""
    n_trials: int = 0

    @property
    def spent_usd(self) -> float:
        """What the trials diagnosed cost, in dollars."""
        return usd_from_nanos(self.spent_nanos)

    def document(
        self, head: Mapping[str, JsonValue], *, levels: dict[str, JsonValue]
    ) -> dict[str, JsonValue]:
        """`harnesspro/diagnosis@1`, `head` saying of which run and harness, `levels` how walled."""
        return {
            "schema": "harnesspro/diagnosis@1",
            **head,
            "n_trials": self.n_trials,
            "spend_usd": self.spent_usd,
            "findings": [
                finding.model_dump(mode="json") | {"wasted_usd": finding.wasted_usd}
                for finding in self.findings
            ],
            "levels": levels,
        }


def diagnose(
    harness: Harness, trajectories: Sequence[Trajectory], detectors: Mapping[str, Detector]
) -> tuple[Finding, ...]:
    """Every detector's findings, dearest first, then by lost success.

    Claims on a step are met in the order of the findings' first ranking until its cost is used
    up, so all claims together never exceed the spend. Void trials are left out; a finding without
    a span on a real step is dropped. `detail` gains `spend_nanos`, `n_trials`, `also_found` (the
    detectors that found something) and `claimed_nanos` (the claim before others' were met).
    """
    diagnosed = [one for one in trajectories if one.trial.outcome != "void"]
    found = [one for detect in detectors.values() for one in detect(harness, diagnosed)]
    left = {
        (one.trial.trial_id, step.index): step.cost_nanos for one in diagnosed for step in one.steps
    }
    shared: dict[str, JsonValue] = {
        "spend_nanos": sum(left.values()),
        "n_trials": len(diagnosed),
        "also_found": [*sorted({finding.detector for finding in found})],
    }
    capped = [_capped(finding, left, shared) for finding in sorted(found, key=_rank)]
    return tuple(finding for finding in sorted(capped, key=_rank) if finding.evidence)


def _rank(finding: Finding) -> tuple[int, float, str, str]:
    return (-finding.wasted_nanos, -finding.lost_success, finding.detector, finding.finding_id)


def _capped(finding: Finding, left: dict[StepKey, int], shared: Mapping[str, JsonValue]) -> Finding:
    """The finding with each claim cut to what its step has left; `left` is drawn down."""
    spans = []
    for span in finding.evidence:
        key = (span.trial_id, span.step)
        if key in left:
            claim = min(span.wasted_nanos, left[key])
            left[key] -= claim
            spans.append(span.model_copy(update={"wasted_nanos": claim}))
    wasted = sum(span.wasted_nanos for span in spans)
    detail = {**finding.detail, **shared, "claimed_nanos": finding.wasted_nanos}
    met = {"evidence": tuple(spans), "wasted_nanos": wasted, "detail": detail}
    return finding.model_copy(update=met)


def patterns(findings: Sequence[Finding]) -> tuple[str, ...]:
    """The distinct failure patterns, in the order of the findings."""
    return tuple(dict.fromkeys(finding.pattern for finding in findings))


def per_thousand_tasks(finding: Finding, n_trials: int) -> float:
    """Claimed waste in dollars for a thousand tasks, one trial each.

    Raises:
        ValueError: `n_trials` is below 1.
    """
    if n_trials < 1:
        raise ValueError(f"n_trials: {n_trials}; expected at least 1")
    return finding.wasted_usd * 1000 / n_trials
