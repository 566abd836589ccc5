"""Turn what a harness did into findings priced in dollars. Needs no model."""

from __future__ import annotations

from collections.abc import Sequence

from harnesspro.core.findings import diagnose as price_findings
from harnesspro.core.ports import Ledger
from harnesspro.core.records import Finding, Harness, Trajectory, Trial
from harnesspro.detectors import DETECTORS


def trajectories_of(trials: Sequence[Trial], ledger: Ledger) -> tuple[Trajectory, ...]:
    """The trials with their model calls, as the broker recorded them."""
    return tuple(
        Trajectory(trial=trial, steps=ledger.steps(trial.trial_id))
        for trial in trials
        if trial.outcome != "void"
    )


def diagnose(
    harness: Harness, trials: Sequence[Trial], ledger: Ledger
) -> tuple[tuple[Finding, ...], int]:
    """The findings, dearest first, and the nano-dollars spent by the trials diagnosed."""
    trajectories = trajectories_of(trials, ledger)
    spent = sum(trajectory.trial.cost_nanos for trajectory in trajectories)
    return price_findings(harness, trajectories, DETECTORS), spent
