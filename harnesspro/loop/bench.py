"""What a run works with: its ports, and the facts that stay the same from first trial to report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Event

from pydantic import JsonValue

from harnesspro.config import RunConfig, RunHeader
from harnesspro.core.documents import CertificateSummary
from harnesspro.core.plan import Plan, most_probes
from harnesspro.core.ports import (
    Archive,
    Backend,
    Clock,
    EventSink,
    Grader,
    Improver,
    Ledger,
    Meter,
    Opening,
    Proposer,
    Sandbox,
    Trees,
    TrialJob,
)
from harnesspro.core.records import Harness, Patch, Referee, Task, Trajectory, Trial
from harnesspro.core.referee import may_tell
from harnesspro.stages.evaluate import Cut, RoundSpent, evaluate


@dataclass(frozen=True, slots=True)
class Ports:
    """The world, as the loop may touch it."""

    backend: Backend
    sandbox: Sandbox
    ledger: Ledger
    meter: Meter
    trees: Trees
    archive: Archive
    grader: Grader | None
    events: EventSink
    clock: Clock
    proposers: tuple[Proposer, ...]
    """For every round; those for round 0 alone know it from the question."""
    voices: Mapping[str, Improver]
    """Channel name -> an improver bound to the model of that panel, judge or verifier."""
    read_harness: Callable[[dict[str, str]], Harness]
    apply_patch: Callable[[Harness, Patch], Harness]
    keep_trajectory: Callable[[Trajectory], object]
    write_report: Callable[[dict[str, JsonValue]], None]
    certify: Callable[[Opening | None, int], CertificateSummary]
    """Write the certificate of what left the vault, given the opening and how many were graded."""
    interrupted: Callable[[], bool]
    purse_empty: Callable[[], bool]
    round_empty: Event
    """Set once a round's purse refused a call; cleared when the round has ended."""


@dataclass(frozen=True, slots=True)
class Bench:
    """One run's fixed facts."""

    header: RunHeader
    ports: Ports
    base: Harness
    search: tuple[Task, ...]
    confirm: tuple[Task, ...]
    sealed: tuple[Task, ...]
    """Kept for the one opening; nothing is decided by them."""
    referee: Referee
    started_at: float
    """Start of this sitting, seconds since the epoch; earlier sittings are in `spent_s`."""
    spent_s: float
    run_dir: Path
    firewall: str
    """`F1` or `F0`: how this sitting is kept from the vault."""

    @property
    def run_id(self) -> str:
        """The run's name."""
        return self.header.run_id

    @property
    def config(self) -> RunConfig:
        """The run's configuration, resolved."""
        return self.header.config

    @property
    def tasks(self) -> dict[str, Task]:
        """Every task of the run by id."""
        return {task.task_id: task for task in (*self.search, *self.confirm, *self.sealed)}

    @property
    def search_draws(self) -> tuple[str, ...]:
        """One label for each repeat."""
        return tuple(f"search/{k}" for k in range(self.config.n_repeats))

    @property
    def plan(self) -> Plan:
        """How many trials this run may take."""
        return Plan(
            n_search=len(self.search),
            n_confirm=len(self.confirm),
            n_rounds=self.config.n_rounds,
            max_candidates=self.config.max_candidates,
            max_picks=self.config.max_picks,
            first_block=self.config.first_block,
            n_repeats=self.config.n_repeats,
            n_sealed=len(self.sealed),
            with_controls=self.config.controls,
            n_probes=most_probes(
                self.config.n_probes,
                n_confirm=len(self.confirm),
                eps=self.config.margin,
                can_judge=bool(self.config.channels) or may_tell(self.referee.checks),
            ),
        )

    def elapsed_s(self) -> float:
        """Seconds of work so far, over all sittings."""
        return self.spent_s + self.ports.clock.now() - self.started_at

    def spent_usd(self) -> float:
        """What is held against the cap: the bill, or list prices where no bill arrives."""
        spend = self.ports.meter.spend()
        return max(spend.paid_usd, spend.improver_usd + spend.target_usd)

    def cut_now(self) -> Cut | None:
        """Why the run must stop measuring right now, if it must."""
        if self.ports.interrupted():
            return Cut("interrupted", "stopped by Ctrl-C; everything measured is kept")
        if self.ports.purse_empty():
            return Cut("budget", f"the cap of ${self.config.budget_usd} covers no further call")
        if self.ports.round_empty.is_set():
            return RoundSpent("budget", "the round's share of the cap covers no further call")
        limit = self.config.time_limit_s
        if limit is not None and self.elapsed_s() > limit:
            return Cut("time", f"the time limit of {limit:.0f} s is reached")
        return None

    def run(self, jobs: Sequence[TrialJob]) -> tuple[Trial, ...]:
        """The jobs' trials under this run's limits; see `stages.evaluate`.

        What is on record is read back and neither run nor counted again.
        """
        fresh, known = [], []
        for job in jobs:
            value = self.ports.ledger.get("trial", job.trial_id)
            if value is None:
                fresh.append(job)
            else:
                known.append(Trial.model_validate(value))
        measured = evaluate(
            fresh, backend=self.ports.backend, events=self.ports.events, cut_now=self.cut_now
        )
        return (*known, *measured)

    @property
    def code_dir(self) -> str:
        """The initial harness's files, staged: a round cannot change what checks it."""
        return self.ports.trees.stage(self.base.harness_id)

    def harness(self, harness_id: str) -> Harness:
        """The harness kept under this id."""
        if harness_id == self.base.harness_id:
            return self.base
        return self.ports.read_harness(self.ports.trees.files(harness_id))
