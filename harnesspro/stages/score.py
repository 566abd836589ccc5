"""Trials to the table the judge reads: same answers clustered, each cluster's merit without gold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harnesspro.checks import passes
from harnesspro.core.answers import cluster
from harnesspro.core.records import AnswerSpec, Referee, Task, Trial
from harnesspro.core.referee import judge_answers
from harnesspro.core.table import Changed, Row, answers_of, build_table, changed


def table_of(
    trials: Sequence[Trial],
    tasks: Mapping[str, Task],
    *,
    spec: AnswerSpec,
    referee: Referee,
    owner_results: Mapping[tuple[str, str, str], bool],
) -> dict[str, dict[str, Row]]:
    """Candidate -> task -> row, under the frozen referee.

    `owner_results` is what the owner's checks said: (check_id, task_id, cluster) -> passed.
    """
    answers = answers_of(trials, spec.kind)
    passed = _passed(trials, tasks, spec=spec, referee=referee, owner_results=owner_results)
    return build_table(answers, judge_answers(referee, answers, passed))


def _passed(
    trials: Sequence[Trial],
    tasks: Mapping[str, Task],
    *,
    spec: AnswerSpec,
    referee: Referee,
    owner_results: Mapping[tuple[str, str, str], bool],
) -> dict[tuple[str, str], dict[str, bool]]:
    """(task, cluster) -> check -> passed, each distinct answer checked once."""
    admitted = [check for check in referee.checks if check.admitted]
    found: dict[tuple[str, str], dict[str, bool]] = {}
    for trial in trials:
        if trial.outcome != "answered":
            continue
        key = (trial.task_id, cluster(spec.kind, trial.outcome, trial.answer))
        if key not in found:
            task = tasks[trial.task_id]
            found[key] = {
                check.check_id: owner_results[check.check_id, *key]
                if check.writer == "user"
                else passes(check, task, spec, trial.answer)
                for check in admitted
            }
    return found


def own_disagreement(trials: Sequence[Trial], spec: AnswerSpec) -> Changed:
    """How often a harness's first two draws of a task differ."""
    draws = sorted({trial.draw for trial in trials})[:2]
    if len(draws) < 2:
        return Changed(changed=0, n=0)
    first, second = (
        table_without_merit([trial for trial in trials if trial.draw == draw], spec)
        for draw in draws
    )
    return changed(first, second)


def table_without_merit(trials: Sequence[Trial], spec: AnswerSpec) -> dict[str, Row]:
    """One harness's rows for comparing answers only; every merit is 0."""
    answers = answers_of(trials, spec.kind)
    merits = {
        task_id: {found.cluster: 0.0}
        for by_task in answers.values()
        for task_id, found in by_task.items()
    }
    return next(iter(build_table(answers, merits).values()), {})
