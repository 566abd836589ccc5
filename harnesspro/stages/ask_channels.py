"""Ask panels, judges and verifiers about tasks whose answers differ; what they say goes on record.

A panel answers the task itself and so votes for a cluster. A judge or verifier scores the answers,
which it sees in an order drawn for the task and without a word on whose they are. Each is asked once
about the same answers; where it stays silent nothing is recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Self

import numpy as np
from pydantic import Field, JsonValue, model_validator

from harnesspro.core.answers import NO_ANSWER
from harnesspro.core.channels import kind_of
from harnesspro.core.hashing import canonical_json, content_hash, seed_from
from harnesspro.core.ports import Dropped, Improver, Ledger
from harnesspro.core.records import AnswerKind, AnswerSpec, Record, Task, Trial

OPINION, VOTE = "opinion", "vote"
MOST_CHARS = 200_000
"""A question longer than this, as JSON, is not asked: cut, it would be another question."""

Voices = Mapping[str, Improver]
"""Channel name -> an improver bound to that channel's model."""
Opinions = Mapping[tuple[str, str, str], float]
"""(channel name, task_id, cluster) -> how right it finds that answer, in [0, 1]."""
Votes = Mapping[str, Mapping[str, str]]
"""Panel channel -> task_id -> the cluster of its own answer."""
ClusterOf = Callable[[Task, JsonValue], str]
"""The cluster that an answer to a task falls into."""


class PanelQuestion(Record):
    """What a panel is asked: the task, and the form of an answer."""

    task: JsonValue
    files: dict[str, str] = Field(default_factory=dict)
    answer_kind: AnswerKind
    answer_schema: dict[str, JsonValue] | None = None


class PanelReply(Record):
    """A panel's own answer."""

    answer: JsonValue

    @model_validator(mode="after")
    def _there(self) -> Self:
        if self.answer is None:
            raise ValueError("null is no answer")
        return self


class JudgeQuestion(Record):
    """What a judge or verifier is asked: the task, and the answers that were given to it."""

    task: JsonValue
    files: dict[str, str] = Field(default_factory=dict)
    answers: tuple[JsonValue, ...]


class JudgeReply(Record):
    """How right each answer is, in the order asked: 0 surely wrong, 1 surely right."""

    scores: tuple[Annotated[float, Field(ge=0, le=1)], ...]


@dataclass(frozen=True, slots=True)
class Differing:
    """A task with its distinct answers: at least two clusters, `NO_ANSWER` not among them."""

    task: Task
    answers: Mapping[str, JsonValue]
    """Cluster -> one answer of it."""


@dataclass(frozen=True, slots=True)
class ChannelBench:
    """What asking needs beside the questions."""

    voices: Voices
    ledger: Ledger
    spec: AnswerSpec
    cluster_of: ClusterOf
    concurrency: int = 1


def differing(
    trials: Sequence[Trial], tasks: Mapping[str, Task], *, clusters: Mapping[str, str]
) -> tuple[Differing, ...]:
    """The tasks on which these trials gave two answers or more, by task id.

    `clusters` maps trial_id to cluster. Of a cluster the answer of the first trial id stands.
    """
    found: dict[str, dict[str, JsonValue]] = {}
    for trial in sorted(trials, key=lambda trial: trial.trial_id):
        if trial.outcome == "answered" and clusters[trial.trial_id] != NO_ANSWER:
            answers = found.setdefault(trial.task_id, {})
            answers.setdefault(clusters[trial.trial_id], trial.answer)
    return tuple(
        Differing(task=tasks[task_id], answers=dict(sorted(answers.items())))
        for task_id, answers in sorted(found.items())
        if len(answers) > 1
    )


def ask_channels(questions: Sequence[Differing], bench: ChannelBench) -> None:
    """Put on record what each voice says of these tasks, where it is not on record yet."""
    for channel in bench.voices:
        asking = _ask_panel if kind_of(channel) == "panel" else _ask_judge
        with ThreadPoolExecutor(max_workers=bench.concurrency) as pool:
            list(pool.map(partial(asking, channel=channel, bench=bench), questions))


def _ask_panel(question: Differing, channel: str, bench: ChannelBench) -> None:
    task = question.task
    key = f"{channel}/{task.task_id}"
    if bench.ledger.get(VOTE, key) is not None:
        return
    asked = PanelQuestion(
        task=task.input,
        files=task.files,
        answer_kind=bench.spec.kind,
        answer_schema=task.answer_schema(bench.spec),
    )
    if _too_long(asked, "panel", key=key, ledger=bench.ledger):
        return
    reply = bench.voices[channel].ask("panel", asked, PanelReply, key=key)
    if not isinstance(reply, Dropped):
        cluster = bench.cluster_of(task, reply.answer)
        fact = {"channel": channel, "task_id": task.task_id, "cluster": cluster}
        bench.ledger.put(VOTE, key, fact | {"answer": reply.answer})


def _ask_judge(question: Differing, channel: str, bench: ChannelBench) -> None:
    """All answers are shown together; a score that is on record stands."""
    task = question.task
    new = {
        cluster: key
        for cluster in question.answers
        if bench.ledger.get(OPINION, key := f"{channel}/{task.task_id}/{cluster}") is None
    }
    if not new:
        return
    order = shuffled(question)
    answers = tuple(question.answers[cluster] for cluster in order)
    asked = JudgeQuestion(task=task.input, files=task.files, answers=answers)
    key = f"{channel}/{task.task_id}/{content_hash(order)[:16]}"
    if _too_long(asked, "judge", key=key, ledger=bench.ledger):
        return
    reply = bench.voices[channel].ask("judge", asked, JudgeReply, key=key)
    if isinstance(reply, Dropped) or len(reply.scores) != len(order):
        return
    for cluster, score in zip(order, reply.scores, strict=True):
        if cluster in new:
            fact = {"channel": channel, "task_id": task.task_id, "cluster": cluster}
            bench.ledger.put(OPINION, new[cluster], fact | {"score": score})


def shuffled(question: Differing) -> tuple[str, ...]:
    """The clusters in the order a judge sees them: by chance, and the same whenever it is asked."""
    clusters = sorted(question.answers)
    rng = np.random.default_rng(seed_from(question.task.content_key, clusters))
    return tuple(clusters[i] for i in rng.permutation(len(clusters)))


def _too_long(question: Record, agent: str, *, key: str, ledger: Ledger) -> bool:
    n_chars = len(canonical_json(question.model_dump(mode="json")))
    if n_chars <= MOST_CHARS:
        return False
    reason = f"the question has {n_chars} characters, and {MOST_CHARS} are asked at most"
    dropped = Dropped(agent=agent, reason=reason)
    ledger.put("dropped", f"{agent}/{key}", dropped.model_dump(mode="json"))
    return True


def opinions_on_record(ledger: Ledger) -> Opinions:
    """What judges and verifiers have said so far."""
    return {_place(fact): float(fact["score"]) for _, fact in ledger.all(OPINION)}


def votes_on_record(ledger: Ledger) -> Votes:
    """What panels have answered so far."""
    votes: dict[str, dict[str, str]] = {}
    for _, fact in ledger.all(VOTE):
        channel, task_id, cluster = _place(fact)
        votes.setdefault(channel, {})[task_id] = cluster
    return votes


def _place(fact: Mapping[str, Any]) -> tuple[str, str, str]:
    return fact["channel"], fact["task_id"], fact["cluster"]
