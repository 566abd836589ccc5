"""Trials lost to a limit: their replies were cut off, or their calls and money ran out."""

from __future__ import annotations

from collections.abc import Sequence

from harnesspro.core.findings import Place, finding_of, knob_place
from harnesspro.core.records import Finding, Harness, Trajectory
from harnesspro.detectors.calls import span


def detect(harness: Harness, trajectories: Sequence[Trajectory]) -> tuple[Finding, ...]:
    """One finding for the output cap, one for the trial's own limits; claims the lost trials."""
    capped = [one for one in trajectories if _lost_to_the_cap(one)]
    stopped = [one for one in trajectories if one.trial.outcome == "limit"]
    n_trials = len(trajectories)
    return (
        *_finding(
            harness,
            capped,
            n_trials=n_trials,
            pattern="replies are cut off before the answer is complete",
            advice="Raise the output cap, or ask for shorter replies.",
            place=knob_place(harness, "max_output_tokens"),
        ),
        *_finding(
            harness,
            stopped,
            n_trials=n_trials,
            pattern="trials use up their calls or their money before they answer",
            advice="Make fewer calls a task, or let a trial use more.",
            place=knob_place(harness, "samples", "retries"),
        ),
    )


def _lost_to_the_cap(trajectory: Trajectory) -> bool:
    return (
        trajectory.trial.outcome in ("malformed", "crashed")
        and bool(trajectory.steps)
        and trajectory.steps[-1].finish_reason == "length"
    )


def _finding(
    harness: Harness,
    lost: Sequence[Trajectory],
    *,
    n_trials: int,
    pattern: str,
    advice: str,
    place: Place,
) -> tuple[Finding, ...]:
    evidence = [span(one, step, step.cost_nanos) for one in lost for step in one.steps]
    if not evidence:
        return ()
    out_tokens = max(step.usage.out_tokens for one in lost for step in one.steps)
    return (
        finding_of(
            harness,
            detector="limit_hits",
            pattern=pattern,
            advice=advice,
            place=place,
            evidence=evidence,
            lost_success=len(lost) / n_trials,
            detail={"lost_trials": len(lost), "out_tokens_max": out_tokens},
        ),
    )
