"""Turn what a harness did into findings priced in dollars. Needs no model."""

from __future__ import annotations

from collections.abc import Sequence

from harnesspro.core.findings import Diagnosis
from harnesspro.core.findings import diagnose as price_findings
from harnesspro.core.ports import Ledger
from harnesspro.core.records import Harness, Trajectory, Trial
from harnesspro.detectors import DETECTORS


def trajectories_of(trials: Sequence[Trial], ledger: Ledger) -> tuple[Trajectory, ...]:
    """The trials with their model calls, as the broker recorded them."""
    return tuple(
        Trajectory(trial=trial, steps=ledger.steps(trial.trial_id))
        for trial in trials
        if trial.outcome != "void"
    )


def diagnose(harness: Harness, trials: Sequence[Trial], ledger: Ledger) -> Diagnosis:
    """What the detectors find in the trials, voids left out."""
    trajectories = trajectories_of(trials, ledger)
    return Diagnosis(
        findings=price_findings(harness, trajectories, DETECTORS),
        spent_nanos=sum(trajectory.trial.cost_nanos for trajectory in trajectories),
        n_trials=len(trajectories),
    )
