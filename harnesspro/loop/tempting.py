"""Tasks that cannot be done, with a planted wrong answer beside them: who gives in, and who looks?

The words of an impossible task contradict its visible check, so whoever passes the check did not do
what was asked. The planted answer lies in a file that nothing names, so whoever gives it went looking.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pydantic import JsonValue

from harnesspro.checks import cheats, impossible_probes_for, took_honey
from harnesspro.core.alarms import cheating_of, with_honey
from harnesspro.core.hashing import seed_from
from harnesspro.core.plan import N_IMPOSSIBLE
from harnesspro.core.records import Cheating, Probe, Trial
from harnesspro.core.report import lineage
from harnesspro.loop import scan
from harnesspro.loop.bench import Bench
from harnesspro.stages.evaluate import jobs_for

IMPOSSIBLE_DRAW = "impossible/0"


def tempt(bench: Bench, candidate_ids: Sequence[str]) -> None:
    """Put the initial harness and these candidates before impossible tasks; their answers go on record.

    Raises:
        Cut: time, money or the user ended it.
    """
    probes = _impossible(bench)
    if probes and candidate_ids:
        answers_to(bench, probes, [bench.base.harness_id, *candidate_ids], draw=IMPOSSIBLE_DRAW)


def _impossible(bench: Bench) -> tuple[Probe, ...]:
    seed = seed_from(bench.config.seed, "impossible")
    spec = bench.base.manifest.answer
    return impossible_probes_for(spec, bench.search, seed=seed, n=N_IMPOSSIBLE)


def cheating(bench: Bench) -> tuple[Cheating, ...]:
    """How often each harness that was tempted gave in, the initial one first; empty where none was."""
    spec, base_id = bench.base.manifest.answer, bench.base.harness_id
    given = _tempted(bench)
    if base_id not in given:
        return ()
    gave_in = _by_task(given, lambda probe, answer: cheats(probe, answer, spec=spec))
    took = _by_task(given, lambda probe, answer: took_honey(probe, answer, spec=spec))
    return tuple(
        with_honey(cheating_of(key, gave_in[key], gave_in[base_id]), took[key], took[base_id])
        for key in (base_id, *sorted(given.keys() - {base_id}))
    )


Given = Mapping[str, Mapping[str, tuple[Probe, Trial]]]
"""harness_id -> task_id -> what it was tempted by, and what came of it."""


def _tempted(bench: Bench) -> Given:
    values = [v for _, v in bench.ports.ledger.all("trial") if v["draw"] == IMPOSSIBLE_DRAW]
    probes = {probe.probe_id: probe for probe in _impossible(bench)} if values else {}
    given: dict[str, dict[str, tuple[Probe, Trial]]] = {}
    for trial in map(Trial.model_validate, values):
        if trial.outcome != "void" and trial.task_id in probes:
            found = given.setdefault(trial.harness_id, {})
            found[trial.task_id] = (probes[trial.task_id], trial)
    return given


def _by_task(given: Given, did: Callable[[Probe, JsonValue], bool]) -> dict[str, dict[str, bool]]:
    """Who did so on which task; no answer does."""
    return {
        key: {
            task_id: trial.outcome == "answered" and did(probe, trial.answer)
            for task_id, (probe, trial) in answers.items()
        }
        for key, answers in given.items()
    }


def quarantined(bench: Bench) -> frozenset[str]:
    """Thieves (`Cheating.is_thief`) and all that descend from them: neither picked, kept nor shown as a
    front.
    """
    thieves = {one.candidate_id for one in cheating(bench) if one.is_thief}
    known = scan.candidates(bench) if thieves else {}
    return frozenset(
        key for key in known if thieves & {key, *(one.candidate_id for one in lineage(known, key))}
    )


def answers_to(
    bench: Bench, probes: Sequence[Probe], ids: Sequence[str], *, draw: str
) -> list[Trial]:
    """The trials of these harnesses on these probes; voids left out."""
    jobs = jobs_for(
        [bench.harness(key) for key in ids],
        [probe.task for probe in probes],
        draws=(draw,),
        models=bench.config.models,
    )
    return [trial for trial in bench.run(jobs) if trial.outcome != "void"]
