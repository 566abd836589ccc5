"""An output cap far above anything a reply used: no waste yet, but it is what a runaway costs."""

from __future__ import annotations

from collections.abc import Sequence

from harnesspro.core.findings import finding_of, knob_place
from harnesspro.core.records import Finding, Harness, Trajectory
from harnesspro.detectors.calls import percentile, span

MIN_CALLS = 10
MIN_RATIO = 4
"""A cap below four times the 99th percentile is ordinary room."""


def detect(harness: Harness, trajectories: Sequence[Trajectory]) -> tuple[Finding, ...]:
    """Claims nothing; evidence is the longest reply."""
    capped = [
        (one, step, cap)
        for one in trajectories
        for step in one.steps
        if isinstance(cap := step.request.get("max_output_tokens"), int)
    ]
    if len(capped) < MIN_CALLS or any(step.finish_reason == "length" for _, step, _ in capped):
        return ()
    used = percentile([step.usage.out_tokens for _, step, _ in capped], 99)
    asked = min(cap for _, _, cap in capped)
    if asked < MIN_RATIO * max(used, 1):
        return ()
    trajectory, longest, _ = max(capped, key=lambda one: one[1].usage.out_tokens)
    return (
        finding_of(
            harness,
            detector="oversized_cap",
            pattern="the output cap is far above what replies use",
            advice="Lower the cap: every call reserves it, and a runaway reply is billed up to it.",
            place=knob_place(harness, "max_output_tokens"),
            evidence=[span(trajectory, longest, 0)],
            detail={"asked_tokens": asked, "out_tokens_p99": used},
        ),
    )
