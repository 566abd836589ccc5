"""Trials to the table the judge reads: same answers clustered, each cluster's merit without gold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harnesspro.checks import passes
from harnesspro.core.answers import Behaviours, cluster_of
from harnesspro.core.records import AnswerSpec, Check, Referee, Task, Trial
from harnesspro.core.referee import judge_answers
from harnesspro.core.table import Changed, Row, answers_of, build_table, changed

Results = Mapping[tuple[str, str, str], float]
"""(check_id, task_id, cluster) -> how far it passed, in [0, 1]; absent where the check is silent."""
Votes = Mapping[str, Mapping[str, float]]
"""task_id -> cluster -> the panel's share of votes."""


def table_of(
    trials: Sequence[Trial],
    tasks: Mapping[str, Task],
    *,
    spec: AnswerSpec,
    referee: Referee,
    owner_results: Results,
    votes: Votes | None = None,
    behaviours: Behaviours | None = None,
) -> dict[str, dict[str, Row]]:
    """Candidate -> task -> row, under the frozen referee.

    `owner_results` is what every check said that is not decided here: the owner's, programs', and
    models' opinions.
    """
    answers = answers_of(trials, spec.kind, behaviours=behaviours)
    passed = passed_by(
        trials,
        tasks,
        spec=spec,
        checks=referee.checks,
        said=owner_results,
        behaviours=behaviours,
    )
    return build_table(answers, judge_answers(referee, answers, passed, votes=votes))


def passed_by(
    trials: Sequence[Trial],
    tasks: Mapping[str, Task],
    *,
    spec: AnswerSpec,
    checks: Sequence[Check],
    said: Results,
    behaviours: Behaviours | None = None,
) -> dict[tuple[str, str], dict[str, float]]:
    """(task_id, cluster) -> check_id -> how far that answer passed; silent checks are absent.

    Of a cluster the answer of the first trial id is checked.
    """
    passed: dict[tuple[str, str], dict[str, float]] = {}
    for trial in sorted(trials, key=lambda trial: trial.trial_id):
        if trial.outcome != "answered":
            continue
        key = (trial.task_id, cluster_of(trial, spec.kind, behaviours))
        if key not in passed:
            task = tasks[trial.task_id]
            shares = {
                check.check_id: _share(check, task, trial, spec=spec, said=said, key=key)
                for check in checks
                if check.admitted
            }
            passed[key] = {name: x for name, x in shares.items() if x is not None}
    return passed


def _share(
    check: Check,
    task: Task,
    trial: Trial,
    *,
    spec: AnswerSpec,
    said: Results,
    key: tuple[str, str],
) -> float | None:
    if check.writer == "schema":
        return float(passes(check, task, spec, trial.answer))
    return said.get((check.check_id, *key))


def own_disagreement(
    trials: Sequence[Trial], spec: AnswerSpec, *, behaviours: Behaviours | None = None
) -> Changed:
    """How often a harness's first two draws of a task differ."""
    draws = sorted({trial.draw for trial in trials})[:2]
    if len(draws) < 2:
        return Changed(changed=0, n=0)
    first, second = (
        table_without_merit(
            [trial for trial in trials if trial.draw == draw], spec, behaviours=behaviours
        )
        for draw in draws
    )
    return changed(first, second)


def table_without_merit(
    trials: Sequence[Trial], spec: AnswerSpec, *, behaviours: Behaviours | None = None
) -> dict[str, Row]:
    """One harness's rows for comparing answers only; every merit is 0."""
    answers = answers_of(trials, spec.kind, behaviours=behaviours)
    merits = {
        task_id: {found.cluster: 0.0}
        for by_task in answers.values()
        for task_id, found in by_task.items()
    }
    return next(iter(build_table(answers, merits).values()), {})
