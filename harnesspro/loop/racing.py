"""Runs a race: asks the pure judge for the next batch, measures it, until there is a result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from harnesspro.core.hashing import seed_from
from harnesspro.core.ports import Purse, TrialJob
from harnesspro.core.purses import (
    candidate_cap_nanos,
    candidate_purse,
    round_cap_nanos,
    round_purse,
)
from harnesspro.core.race import RaceBatch, RacePlan, RaceResult, next_step
from harnesspro.core.table import Table
from harnesspro.loop import scan
from harnesspro.loop.bench import Bench
from harnesspro.loop.live import keeping
from harnesspro.stages.evaluate import jobs_for


def run_race(bench: Bench, candidate_ids: Sequence[str], *, round_index: int) -> RaceResult:
    """The round's result; what was measured is on record, so running again costs nothing.

    Raises:
        Cut: time, money or the user ended it; `RoundSpent` where it was the round's own purse.
    """
    plan = RacePlan(
        baseline_id=bench.base.harness_id,
        candidate_ids=tuple(candidate_ids),
        task_ids=tuple(task.task_id for task in bench.search),
        first_block=bench.config.first_block,
        seed=seed_from(bench.config.seed, "race", round_index),
        trusted=bench.referee.trusted,
        keeping=keeping(bench) & frozenset(candidate_ids),
    )
    lost: frozenset[tuple[str, str]] = frozenset()
    while True:
        step = next_step(plan, scan.table(bench, "search"), lost=lost)
        if isinstance(step, RaceResult):
            _record(bench, step, round_index)
            return step
        _measure(bench, step, round_index)
        lost |= _unmeasured(step, scan.table(bench, "search"))


def _unmeasured(step: RaceBatch, table: Table) -> frozenset[tuple[str, str]]:
    """Pairs of the batch that stayed void: tried, and left out from here on."""
    return frozenset(
        (candidate_id, task_id)
        for candidate_id in step.candidate_ids
        for task_id in step.task_ids
        if task_id not in table.get(candidate_id, {})
    )


def _measure(bench: Bench, step: RaceBatch, round_index: int) -> None:
    tasks = [bench.tasks[task_id] for task_id in step.task_ids]
    harnesses = [bench.harness(candidate_id) for candidate_id in step.candidate_ids]
    jobs = jobs_for(harnesses, tasks, draws=bench.search_draws, models=bench.config.models)
    within = purse_of_round(bench, round_index)
    cap = candidate_cap_nanos(
        scan.per_trial(bench).usd, n_trials=len(bench.search) * bench.config.n_repeats
    )
    bench.run([_from(job, within, cap, base_id=bench.base.harness_id) for job in jobs])


def _from(job: TrialJob, within: Purse, cap: int | None, *, base_id: str) -> TrialJob:
    """The job on the purses of its round and, where it is a candidate's, its own."""
    key = job.harness.harness_id
    own = () if key == base_id else (candidate_purse(within, key, cap),)
    return replace(job, within=(within, *own))


def purse_of_round(bench: Bench, round_index: int) -> Purse:
    """The round's purse, its cap fixed when the round first spends from it."""
    key = f"{round_index:03d}"
    kept = bench.ports.ledger.get("purse", key)
    if kept is None:
        world = scan.scan(bench)
        cap = round_cap_nanos(
            bench.config.budget_usd,
            spent_usd=world.spent_usd,
            confirm_usd=world.confirm.usd,
            search_usd=world.next_round.usd,
        )
        kept = {"cap_nanos": cap}
        bench.ports.ledger.put("purse", key, kept)
    return round_purse(round_index, kept["cap_nanos"])


def _record(bench: Bench, result: RaceResult, round_index: int) -> None:
    value = {
        "promoted": list(result.promoted),
        "open": list(result.open),
        "dropped": dict(result.dropped),
    }
    bench.ports.ledger.put("race", f"{round_index:03d}", value)
    for candidate_id, reason in result.dropped.items():
        bench.ports.events.emit("race.dropped", id=candidate_id, reason=reason)
