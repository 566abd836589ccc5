"""The same request sent again within a trial where its reply could not, or did not, differ."""

from __future__ import annotations

from collections.abc import Sequence

from harnesspro.core.findings import finding_of, knob_place
from harnesspro.core.records import Finding, Harness, Trajectory
from harnesspro.detectors.calls import is_repetition, same_requests, span


def detect(harness: Harness, trajectories: Sequence[Trajectory]) -> tuple[Finding, ...]:
    """Claims the cost of every repetition but the first of its kind."""
    repeats = [
        (trajectory, step)
        for trajectory in trajectories
        for group in same_requests(trajectory)
        if is_repetition(group)
        for step in group[1:]
    ]
    if not repeats:
        return ()
    evidence = [span(trajectory, step, step.cost_nanos) for trajectory, step in repeats]
    trials = {trajectory.trial.trial_id for trajectory, _ in repeats}
    wasted = sum(one.wasted_nanos for one in evidence)
    return (
        finding_of(
            harness,
            detector="repeated_calls",
            pattern="the same request is sent again and cannot bring a new reply",
            advice="Ask once and keep the reply, or change the request before asking again.",
            place=knob_place(harness, *_suspects(harness)),
            evidence=evidence,
            detail={
                "repeated_trials_share": len(trials) / len(trajectories),
                "repeats": len(repeats),
                "beyond_first_nanos": wasted,
            },
        ),
    )


def _suspects(harness: Harness) -> tuple[str, ...]:
    """Dials that make a harness ask again, those that are turned up."""
    floors = {"samples": 1, "retries": 0}
    values = harness.knob_values
    return tuple(
        name
        for name, floor in floors.items()
        if isinstance(value := values.get(name), int) and value > floor
    )
