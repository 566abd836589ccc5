"""Runs a race: asks the pure judge for the next batch, measures it, until there is a result."""

from __future__ import annotations

from collections.abc import Sequence

from harnesspro.core.hashing import seed_from
from harnesspro.core.race import RaceBatch, RacePlan, RaceResult, next_step
from harnesspro.core.table import Table
from harnesspro.loop import scan
from harnesspro.loop.bench import Bench
from harnesspro.loop.live import keeping
from harnesspro.stages.evaluate import jobs_for


def run_race(bench: Bench, candidate_ids: Sequence[str], *, round_index: int) -> RaceResult:
    """The round's result; what was measured is on record, so running again costs nothing.

    Raises:
        Cut: time, money or the user ended it.
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
        _measure(bench, step)
        lost |= _unmeasured(step, scan.table(bench, "search"))


def _unmeasured(step: RaceBatch, table: Table) -> frozenset[tuple[str, str]]:
    """Pairs of the batch that stayed void: tried, and left out from here on."""
    return frozenset(
        (candidate_id, task_id)
        for candidate_id in step.candidate_ids
        for task_id in step.task_ids
        if task_id not in table.get(candidate_id, {})
    )


def _measure(bench: Bench, step: RaceBatch) -> None:
    tasks = [bench.tasks[task_id] for task_id in step.task_ids]
    harnesses = [bench.harness(candidate_id) for candidate_id in step.candidate_ids]
    bench.run(jobs_for(harnesses, tasks, draws=bench.search_draws, models=bench.config.models))


def _record(bench: Bench, result: RaceResult, round_index: int) -> None:
    value = {
        "promoted": list(result.promoted),
        "open": list(result.open),
        "dropped": dict(result.dropped),
    }
    bench.ports.ledger.put("race", f"{round_index:03d}", value)
    for candidate_id, reason in result.dropped.items():
        bench.ports.events.emit("race.dropped", id=candidate_id, reason=reason)
