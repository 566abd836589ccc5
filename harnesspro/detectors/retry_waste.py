"""Retries that failed in the same way as the call before them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from harnesspro.core.findings import finding_of, knob_place
from harnesspro.core.records import Finding, Harness, Step, Trajectory
from harnesspro.detectors.calls import is_repetition, same_requests, span
from harnesspro.detectors.replies import form_of


def detect(harness: Harness, trajectories: Sequence[Trajectory]) -> tuple[Finding, ...]:
    """Claims the cost of each retry whose reply failed like the one before.

    A reply failed where the whole trial was malformed, or (for JSON answers) where it holds no
    JSON. Samples of a vote are no retries.
    """
    wasted = [(one, step) for one in trajectories for step in _vain_retries(harness, one)]
    if not wasted:
        return ()
    kind = harness.manifest.answer.kind
    helped = [n for one in trajectories if (n := _retries_that_helped(harness, one))]
    return (
        finding_of(
            harness,
            detector="retry_waste",
            pattern="a retry fails in the same way as the call before it",
            advice="Retry at most as often as retries were seen to help, or change the request.",
            place=knob_place(harness, "retries"),
            evidence=[span(one, step, step.cost_nanos) for one, step in wasted],
            detail={
                "vain_retries": len(wasted),
                "useful_retries": max(helped, default=0),
                "forms": dict(Counter(form_of(step, kind) for _, step in wasted).most_common()),
            },
        ),
    )


def _vain_retries(harness: Harness, trajectory: Trajectory) -> Iterator[Step]:
    kind = harness.manifest.answer.kind
    samples = _sample_indexes(harness, trajectory)
    for before, step in zip(trajectory.steps, trajectory.steps[1:], strict=False):
        failed_alike = form_of(before, kind) == form_of(step, kind)
        if step.index not in samples and failed_alike and _failed(harness, trajectory, step):
            yield step


def _failed(harness: Harness, trajectory: Trajectory, step: Step) -> bool:
    if trajectory.trial.outcome == "malformed":
        return True
    kind = harness.manifest.answer.kind
    return kind == "json" and form_of(step, kind) in {"no JSON", "empty"}


def _retries_that_helped(harness: Harness, trajectory: Trajectory) -> int:
    """Calls beyond the first and its samples in a trial that was answered in the end."""
    if trajectory.trial.outcome != "answered":
        return 0
    samples = _sample_indexes(harness, trajectory)
    return sum(step.index not in samples for step in trajectory.steps[1:])


def _sample_indexes(harness: Harness, trajectory: Trajectory) -> set[int]:
    """Steps that repeat a request as further samples of a vote, up to the `samples` knob."""
    planned = harness.knob_values.get("samples")
    n_samples = planned if isinstance(planned, int) else 1
    return {
        step.index
        for group in same_requests(trajectory)
        if not is_repetition(group)
        for step in group[1:n_samples]
    }
