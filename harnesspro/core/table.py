"""What the choosing looks at: one row a candidate and task. Voids are absent, never zero."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from harnesspro.core.answers import NO_ANSWER, Behaviours, cluster_of
from harnesspro.core.records import AnswerKind, Trial


@dataclass(frozen=True, slots=True)
class Row:
    """One candidate on one task."""

    task_id: str
    cluster: str
    """Key of the answer: equal keys are the same answer."""
    answered: bool
    merit: float
    """What the round's referee gives the answer, in [0, 1]; 0 where there is none."""
    cost_usd: float
    """Attributed."""
    latency_s: float


Rows = Mapping[str, Row]
"""task_id -> row."""
Table = Mapping[str, Rows]
"""candidate_id -> task_id -> row."""


@dataclass(frozen=True, slots=True)
class Changed:
    """How many answers differ among the tasks both were measured on."""

    changed: int
    n: int

    @property
    def share(self) -> float | None:
        """None where no task is shared."""
        return self.changed / self.n if self.n else None


@dataclass(frozen=True, slots=True)
class Answered:
    """The answers of one candidate on one task, drawn once or several times."""

    cluster: str
    cost_usd: float
    latency_s: float


def answers_of(
    trials: Iterable[Trial], kind: AnswerKind, *, behaviours: Behaviours | None = None
) -> dict[str, dict[str, Answered]]:
    """candidate_id -> task_id -> its answer; voids dropped.

    Of several draws the first (by name) gives the answer, so that a task counts one pair; cost
    and latency are means over all.
    """
    grouped: dict[tuple[str, str], list[Trial]] = {}
    for trial in trials:
        if trial.outcome != "void":
            grouped.setdefault((trial.harness_id, trial.task_id), []).append(trial)
    found: dict[str, dict[str, Answered]] = {}
    for (candidate_id, task_id), draws in sorted(grouped.items()):
        first = min(draws, key=lambda trial: (trial.draw, trial.attempt))
        found.setdefault(candidate_id, {})[task_id] = Answered(
            cluster=cluster_of(first, kind, behaviours),
            cost_usd=sum(trial.cost_usd for trial in draws) / len(draws),
            latency_s=sum(trial.latency_s for trial in draws) / len(draws),
        )
    return found


def build_table(
    answers: Mapping[str, Mapping[str, Answered]], merits: Mapping[str, Mapping[str, float]]
) -> dict[str, dict[str, Row]]:
    """The table of these answers under a referee's merits (task_id -> cluster -> merit)."""
    return {
        candidate_id: {
            task_id: Row(
                task_id=task_id,
                cluster=found.cluster,
                answered=found.cluster != NO_ANSWER,
                merit=merits[task_id][found.cluster],
                cost_usd=found.cost_usd,
                latency_s=found.latency_s,
            )
            for task_id, found in by_task.items()
        }
        for candidate_id, by_task in answers.items()
    }


def restrict(
    table: Table, *, candidate_ids: Iterable[str], task_ids: Iterable[str]
) -> dict[str, dict[str, Row]]:
    """The part of the table that these candidates and tasks make; absent rows stay absent."""
    wanted = tuple(task_ids)
    return {
        candidate_id: {
            task_id: table[candidate_id][task_id]
            for task_id in wanted
            if task_id in table[candidate_id]
        }
        for candidate_id in candidate_ids
        if candidate_id in table
    }


def shared_tasks(a: Rows, b: Rows) -> tuple[str, ...]:
    """The tasks both were measured on, sorted."""
    return tuple(sorted(a.keys() & b.keys()))


def changed(a: Rows, b: Rows) -> Changed:
    """How many answers differ; two missing answers are the same answer.

    Between two draws of one harness this is how much it disagrees with itself.
    """
    tasks = shared_tasks(a, b)
    return Changed(changed=sum(a[task].cluster != b[task].cluster for task in tasks), n=len(tasks))
