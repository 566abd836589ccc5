"""Puts answers to everything that judges outside this process, and reads back what it said.

Code is tried, the owner's checks and generated programs run in the sandbox, panels, judges and
verifiers are asked where answers differ. All of it goes on record, so nothing is paid twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pydantic import JsonValue

from harnesspro.core.answers import Behaviours, cluster, cluster_of
from harnesspro.core.records import Referee, Task, Trial
from harnesspro.loop.bench import Bench
from harnesspro.stages.ask_channels import (
    ChannelBench,
    Votes,
    ask_channels,
    differing,
    opinions_on_record,
    votes_on_record,
)
from harnesspro.stages.behave import BehaviourBench, behave
from harnesspro.stages.check_answers import (
    CheckBench,
    Results,
    check_answers,
    results_on_record,
)


@dataclass(frozen=True, slots=True)
class Heard:
    """What is known of answers beside the answers themselves."""

    results: Results
    """The owner's checks, programs and opinions, the last under the channel's name."""
    votes: Votes
    behaviours: Behaviours

    def clusters(self, bench: Bench, trials: Sequence[Trial]) -> dict[str, str]:
        """trial_id -> cluster."""
        kind = bench.base.manifest.answer.kind
        return {trial.trial_id: cluster_of(trial, kind, self.behaviours) for trial in trials}


def hear(
    bench: Bench,
    trials: Sequence[Trial],
    tasks: Mapping[str, Task],
    *,
    asked: Sequence[str],
    known_right: Sequence[tuple[Task, JsonValue]] = (),
) -> Heard:
    """Everything on record once these trials' answers have been put to all that judge.

    `asked` are the panels, judges and verifiers to be asked; `known_right` are further answers whose
    behaviour is needed.

    Raises:
        Cut: the run must stop; what was said so far is on record.
    """
    answered = [trial for trial in trials if trial.outcome == "answered"]
    answers = [(tasks[trial.task_id], trial.answer) for trial in answered]
    behaviours = behave([*answers, *known_right], _behaviour_bench(bench))
    _check(bench, answered, tasks, behaviours)
    heard = Heard(results={}, votes={}, behaviours=behaviours)
    if asked:
        questions = differing(answered, tasks, clusters=heard.clusters(bench, answered))
        ask_channels(questions, _channel_bench(bench, asked))
        cut = bench.cut_now()
        if cut is not None:  # who was stopped in mid-question has not said all
            raise cut
    ledger = bench.ports.ledger
    results = {**results_on_record(ledger), **opinions_on_record(ledger)}
    return replace(heard, results=results, votes=votes_on_record(ledger))


def asked_by(referee: Referee) -> tuple[str, ...]:
    """The panels, judges and verifiers a referee listens to."""
    models = (check.name for check in referee.checks if check.writer == "model")
    return (*referee.panel, *models)


def _behaviour_bench(bench: Bench) -> BehaviourBench:
    return BehaviourBench(
        sandbox=bench.ports.sandbox,
        ledger=bench.ports.ledger,
        spec=bench.base.manifest.answer,
        code_dir=bench.code_dir,
        n_at_once=bench.config.concurrency,
    )


def _check(
    bench: Bench, trials: Sequence[Trial], tasks: Mapping[str, Task], behaviours: Behaviours
) -> None:
    programs = tuple(check for check in bench.referee.checks if check.writer == "program")
    if not bench.base.manifest.checks and not programs:
        return
    checks = CheckBench(
        sandbox=bench.ports.sandbox,
        ledger=bench.ports.ledger,
        manifest=bench.base.manifest,
        code_dir=bench.code_dir,
        programs=programs,
        behaviours=behaviours,
        n_at_once=bench.config.concurrency,
    )
    check_answers(trials, tasks, checks)


def _channel_bench(bench: Bench, asked: Sequence[str]) -> ChannelBench:
    """A panel's code answer is tried too, before it is said which cluster it falls into."""
    spec = bench.base.manifest.answer

    def cluster_for(task: Task, answer: JsonValue) -> str:
        behaviours = behave([(task, answer)], _behaviour_bench(bench))
        key = cluster(spec.kind, "answered", answer)
        return behaviours.get((task.task_id, key), key)

    return ChannelBench(
        voices={name: bench.ports.voices[name] for name in asked},
        ledger=bench.ports.ledger,
        spec=spec,
        cluster_of=cluster_for,
        concurrency=bench.config.concurrency,
    )
