"""Runs a race: asks the pure judge for the next batch, measures it, until there is a result."""

from __future__ import annotations

from collections.abc import Sequence

from harnesspro.core.errors import HarnessProError
from harnesspro.core.hashing import seed_from
from harnesspro.core.race import RaceBatch, RacePlan, RaceResult, next_step
from harnesspro.loop import scan
from harnesspro.loop.bench import Bench
from harnesspro.stages.evaluate import jobs_for


def run_race(bench: Bench, candidate_ids: Sequence[str], *, round_index: int) -> RaceResult:
    """The round's result; what was measured is on record, so running again costs nothing.

    Raises:
        Cut: time, money or the user ended it.
        HarnessProError: a batch stays unmeasured however often it is run.
    """
    plan = RacePlan(
        baseline_id=bench.base.harness_id,
        candidate_ids=tuple(candidate_ids),
        task_ids=tuple(task.task_id for task in bench.search),
        first_block=bench.config.first_block,
        seed=seed_from(bench.config.seed, "race", round_index),
    )
    last: RaceBatch | None = None
    while True:
        step = next_step(plan, scan.table(bench, "search"))
        if isinstance(step, RaceResult):
            _record(bench, step, round_index)
            return step
        if step == last:
            raise HarnessProError(
                "race",
                f"tasks {', '.join(step.task_ids[:3])} could not be measured on every variant",
                fix="see the void trials' faults with `harnesspro trace`, mend them and resume",
            )
        last = step
        _measure(bench, step)


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
