"""Trials to the table the judge reads: same answers clustered, each cluster's merit without gold."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import fmean

from harnesspro.checks import passes
from harnesspro.core import referee as referees
from harnesspro.core.answers import cluster
from harnesspro.core.records import AnswerSpec, Referee, Task, Trial
from harnesspro.core.table import Row


def table_of(
    trials: Sequence[Trial],
    tasks: Mapping[str, Task],
    *,
    spec: AnswerSpec,
    referee: Referee,
) -> dict[str, dict[str, Row]]:
    """Candidate -> task -> row. Several draws of one task become one row.

    The row's cluster is the first draw's; merit, cost and latency are means over the draws.
    """
    merits = _merits(trials, tasks, spec=spec, referee=referee)
    groups: dict[tuple[str, str], list[Trial]] = defaultdict(list)
    for trial in sorted(trials, key=lambda trial: trial.draw):
        groups[trial.harness_id, trial.task_id].append(trial)
    table: dict[str, dict[str, Row]] = defaultdict(dict)
    for (harness_id, task_id), group in groups.items():
        keys = [cluster(spec.kind, trial.outcome, trial.answer) for trial in group]
        table[harness_id][task_id] = Row(
            task_id=task_id,
            cluster=keys[0],
            answered=group[0].outcome == "answered",
            merit=fmean(merits[task_id][key] for key in keys),
            cost_usd=fmean(trial.cost_usd for trial in group),
            latency_s=fmean(trial.latency_s for trial in group),
        )
    return dict(table)


def _merits(
    trials: Sequence[Trial],
    tasks: Mapping[str, Task],
    *,
    spec: AnswerSpec,
    referee: Referee,
) -> dict[str, dict[str, float]]:
    """Task -> cluster -> merit, over every answer seen to that task."""
    admitted = [check for check in referee.checks if check.admitted]
    seen: dict[str, dict[str, dict[str, bool] | None]] = defaultdict(dict)
    for trial in trials:
        key = cluster(spec.kind, trial.outcome, trial.answer)
        if key in seen[trial.task_id]:
            continue
        task = tasks[trial.task_id]
        seen[trial.task_id][key] = (
            {check.check_id: passes(check, task, spec, trial.answer) for check in admitted}
            if trial.outcome == "answered"
            else None
        )
    return {task_id: referees.merits(referee, answers) for task_id, answers in seen.items()}


def own_disagreement(trials: Sequence[Trial], spec: AnswerSpec) -> float | None:
    """Share of tasks with two or more draws of one harness whose answers differ; None = no such task."""
    answers: dict[str, set[str]] = defaultdict(set)
    draws: dict[str, int] = defaultdict(int)
    for trial in trials:
        answers[trial.task_id].add(cluster(spec.kind, trial.outcome, trial.answer))
        draws[trial.task_id] += 1
    repeated = [task_id for task_id, n in draws.items() if n > 1]
    if not repeated:
        return None
    return sum(len(answers[task_id]) > 1 for task_id in repeated) / len(repeated)
