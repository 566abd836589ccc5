"""What the product's own stages say of recorded answers, and what second looks say; gold has no part.

Which answers were right is carried along and read by none of the channels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harnesspro.core.answers import NO_ANSWER, Behaviours, cluster_of
from harnesspro.core.calibration import ProbeAnswer, ProbeRow
from harnesspro.core.hashing import canonical_json
from harnesspro.core.records import Check, Manifest, Referee, Task, Trial
from harnesspro.core.referee import freeze, judge_answers
from harnesspro.core.table import answers_of
from harnesspro.stages.behave import BehaviourBench, behave
from harnesspro.stages.check_answers import (
    CheckBench,
    admit_programs,
    check_answers,
    results_on_record,
)
from harnesspro.stages.score import Results, passed_by
from harnesspro.stages.write_checks import write_checks
from harnesspro.testing.doubles import MemoryLedger
from tests.bench import looks
from tests.bench.recordings import Recording, Row
from tests.unit.sandbox.boxes import Box

USD_PER_TOKEN = 1e-7
REFEREE = "referee"

Said = dict[tuple[str, str], float]
"""(task_id, cluster) -> score."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """Everything known of the answers to the real tasks of one material."""

    tasks: Mapping[str, Task]
    trials: Mapping[tuple[str, str], Trial]
    """(variant, task_id) -> trial."""
    clusters: Mapping[str, str]
    checks: tuple[Check, ...]
    """With what was measured of them on generated probes."""
    referee: Referee
    """Of the checks admitted there; uncalibrated, for no probe was answered."""
    said: Mapping[str, Said]
    """Channel -> what it says."""
    results: Results
    behaviours: Behaviours
    right: Mapping[tuple[str, str], bool]
    """(task_id, cluster) -> truth."""

    @property
    def variants(self) -> tuple[str, ...]:
        """In the order recorded: the initial harness first."""
        return tuple(dict.fromkeys(variant for variant, _ in self.trials))

    def row(self, task_id: str, names: Sequence[str]) -> ProbeRow | None:
        """A task as the calibration reads a probe; None where a variant has no answer on file."""
        trials = [self.trials[name, task_id] for name in names if (name, task_id) in self.trials]
        if len(trials) < len(names):
            return None
        answers = tuple(self._answer(trial) for trial in trials)
        keys = {answer.cluster for answer in answers if answer.answered}
        scores = {
            name: {**{key: said[task_id, key] for key in keys}, NO_ANSWER: 0.0}
            for name, said in self.said.items()
            if all((task_id, key) in said for key in keys)
        }
        return ProbeRow(probe_id=task_id, answers=answers, scores=scores)

    def _answer(self, trial: Trial) -> ProbeAnswer:
        key = self.clusters[trial.trial_id]
        return ProbeAnswer(
            candidate_id=trial.harness_id,
            cluster=key,
            right=self.right[trial.task_id, key],
            answered=key != NO_ANSWER,
            n_chars=0 if key == NO_ANSWER else len(canonical_json(trial.answer)),
            latency_s=trial.latency_s,
            cost_usd=trial.cost_usd,
        )


def sheet_of(material: Any, recording: Recording, box: Box | None) -> Sheet:
    """The sheet of one material; `box` is where answers that are code are tried."""
    tasks, kept = recording.tasks, recording.of_kind("real")
    trials = {
        (variant, task_id): trial_of(variant, task_id, kept[variant, task_id])
        for variant in material.variants
        for task_id in tasks
        if (variant, task_id) in kept
    }
    heard = _heard(material, list(trials.values()), tasks, box)
    clusters = {
        trial.trial_id: cluster_of(trial, material.spec.kind, heard.behaviours)
        for trial in trials.values()
    }
    right: dict[tuple[str, str], bool] = {}
    for (variant, task_id), trial in trials.items():
        right.setdefault((task_id, clusters[trial.trial_id]), kept[variant, task_id]["right"])
    referee = freeze(heard.checks)
    said = {
        **_by_checks(material, list(trials.values()), tasks, heard=heard, referee=referee),
        **_by_copies(material, recording, trials, clusters),
        **_by_looks(recording, trials, clusters),
    }
    return Sheet(
        tasks=tasks,
        trials=trials,
        clusters=clusters,
        checks=heard.checks,
        referee=referee,
        said=said,
        results=heard.results,
        behaviours=heard.behaviours,
        right=right,
    )


def trial_of(variant: str, task_id: str, row: Row) -> Trial:
    """A line on file as a trial, every token at one price."""
    tokens = row["in_tokens"] + row["out_tokens"]
    return Trial(
        trial_id=f"{variant}/{task_id}",
        harness_id=variant,
        task_id=task_id,
        draw="bench/0",
        outcome=row["outcome"],
        answer=row["answer"] if row["outcome"] == "answered" else None,
        cost_nanos=round(tokens * USD_PER_TOKEN * 1e9),
        latency_s=row["seconds"],
    )


# --- the product's checks ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Heard:
    """The checks, what programs said, and what code does."""

    checks: tuple[Check, ...]
    results: Results
    behaviours: Behaviours


def _heard(
    material: Any, trials: Sequence[Trial], tasks: Mapping[str, Task], box: Box | None
) -> _Heard:
    written = write_checks(material.spec, list(tasks.values()), owners=(), seed=0)
    if box is None:
        return _Heard(written.checks, {}, {})
    ledger = MemoryLedger()
    given = [
        (tasks[trial.task_id], trial.answer) for trial in trials if trial.outcome == "answered"
    ]
    trying = BehaviourBench(box.client, ledger, material.spec, str(box.code), n_at_once=2)
    behaviours = behave(given, trying)
    bench = CheckBench(
        sandbox=box.client,
        ledger=ledger,
        manifest=_manifest(material),
        code_dir=str(box.code),
        programs=tuple(check for check in written.checks if check.writer == "program"),
        behaviours=behaviours,
        n_at_once=2,
    )
    checks = admit_programs(written.checks, written.probes, bench, seed=0)
    check_answers(trials, tasks, bench)
    return _Heard(checks, results_on_record(ledger), behaviours)


def _manifest(material: Any) -> Manifest:
    return Manifest.model_validate(
        {
            "format": "harnesspro/1",
            "name": "bench",
            "about": "Holds what the checks need to know.",
            "entry": {"python": "solver.py:solve"},
            "answer": material.spec.model_dump(),
            "roles": {},
            "parts": {},
        }
    )


def _by_checks(
    material: Any,
    trials: Sequence[Trial],
    tasks: Mapping[str, Task],
    *,
    heard: _Heard,
    referee: Referee,
) -> dict[str, Said]:
    """Every check alone, admitted or not, and the referee of those admitted."""
    passed = passed_by(
        trials,
        tasks,
        spec=material.spec,
        checks=[check.model_copy(update={"admitted": True}) for check in heard.checks],
        said=heard.results,
        behaviours=heard.behaviours,
    )
    names = {check.check_id: f"check {check.name}" for check in heard.checks}
    found: dict[str, Said] = {}
    for place, shares in passed.items():
        for check_id, share in shares.items():
            found.setdefault(names[check_id], {})[place] = share
    answers = answers_of(trials, material.spec.kind, behaviours=heard.behaviours)
    merits = judge_answers(referee, answers, passed)
    found[REFEREE] = {
        (task_id, key): merit
        for task_id, by_cluster in merits.items()
        for key, merit in by_cluster.items()
    }
    return found


# --- changed copies and second looks -----------------------------------------------------------


def _by_copies(
    material: Any,
    recording: Recording,
    trials: Mapping[tuple[str, str], Trial],
    clusters: Mapping[str, str],
) -> dict[str, Said]:
    """Two readings of a changed copy's answers, told in the original's words.

    `the vote`: of the answers of all that were asked, how many are this one. `its own`: of the
    variants that gave this answer, how many give it again.
    """
    found: dict[str, Said] = {}
    kinds = dict.fromkeys(
        key.partition("/")[0] for _, key in recording.answers if "real/" not in key
    )
    for kind in kinds:
        again = _again(material, recording, kind)
        for (_, task_id), trial in trials.items():
            here = {v: again[v, task_id] for v in material.variants if (v, task_id) in again}
            if trial.outcome != "answered" or len(here) < len(material.variants) - 1:
                continue
            key = clusters[trial.trial_id]
            votes = list(here.values())
            found.setdefault(f"{kind}, the vote", {})[task_id, key] = votes.count(key) / len(votes)
            own = [
                here[variant] == key
                for variant in here
                if clusters[trials[variant, task_id].trial_id] == key
            ]
            if own:
                found.setdefault(f"{kind}, its own", {})[task_id, key] = sum(own) / len(own)
    return found


def _again(material: Any, recording: Recording, kind: str) -> dict[tuple[str, str], str]:
    """(variant, task_id) -> the cluster of its answer to the changed copy."""
    found = {}
    for (variant, task_id), row in recording.of_kind(kind).items():
        trial = trial_of("copy", task_id, row)
        answer = material.back(kind, recording.tasks[task_id], trial.answer)
        own = trial.model_copy(update={"answer": answer})
        found[variant, task_id] = cluster_of(own, material.spec.kind)
    return found


def _by_looks(
    recording: Recording,
    trials: Mapping[tuple[str, str], Trial],
    clusters: Mapping[str, str],
) -> dict[str, Said]:
    """What the model says when it is asked otherwise; nothing where it was not asked."""
    if not recording.looks:
        return {}
    answers: dict[str, dict[str, Any]] = {}
    for (_, task_id), trial in trials.items():
        if trial.outcome == "answered":
            answers.setdefault(task_id, {}).setdefault(clusters[trial.trial_id], trial.answer)
    given = [
        looks.Given(recording.tasks[task_id], distinct)
        for task_id, distinct in answers.items()
        if len(distinct) > 1
    ]
    scored = {name: dict(looks.scores(name, given, recording.looks)) for name in looks.LOOKS}
    return {name: said for name, said in scored.items() if said}
