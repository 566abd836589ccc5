"""Generated tasks that watch the search: is the score still about rightness, and does a pick cheat?

Monitor probes have a known answer and calibrate nothing. Impossible tasks contradict their visible
check, so whoever passes it did not do what was asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harnesspro.checks import cheats, impossible_probes_for, probes_for
from harnesspro.core.alarms import Divergence, Standing, cheating_of, divergence_of
from harnesspro.core.answers import cluster
from harnesspro.core.front import best, estimates
from harnesspro.core.hashing import seed_from
from harnesspro.core.plan import LEAST_WATCHED_ROUNDS, N_IMPOSSIBLE, N_MONITOR
from harnesspro.core.records import Cheating, Estimate, Probe, Trial
from harnesspro.core.stats import exact_share
from harnesspro.loop import scan
from harnesspro.loop.bench import Bench
from harnesspro.loop.hearing import hear
from harnesspro.loop.live import live_ids, search_law
from harnesspro.stages.evaluate import jobs_for

MONITOR_DRAW, IMPOSSIBLE_DRAW = "monitor/0", "impossible/0"
_STANDING = "standing"


# --- the score against probes, round by round ----------------------------------------------------


def watch(bench: Bench, *, round_index: int) -> str | None:
    """Put the round's incumbent on monitor probes and on record; whom to go back to, if it drifts.

    Nothing in runs too short to show a drift, or where no probe can be made.

    Raises:
        Cut: time, money or the user ended it.
    """
    if bench.config.n_rounds < LEAST_WATCHED_ROUNDS:
        return None
    key = f"{round_index:03d}"
    if bench.ports.ledger.get(_STANDING, key) is None:
        found = _standing(bench)
        if found is None:
            return None
        incumbent, standing = found
        value = {
            "candidate_id": incumbent,
            "score": standing.score.model_dump(mode="json"),
            "probe_accuracy": standing.probe_accuracy.model_dump(mode="json"),
        }
        bench.ports.ledger.put(_STANDING, key, value)
    return went_astray(bench)


def _standing(bench: Bench) -> tuple[str, Standing] | None:
    probes = _monitors(bench)
    joint = search_law(bench, scan.table(bench, "search"))
    if not probes or joint is None:
        return None
    incumbent = best(joint, live_ids(bench)) or bench.base.harness_id
    trials = _answers(bench, probes, [incumbent], draw=MONITOR_DRAW)
    right = _n_right(bench, probes, trials)
    accuracy = exact_share(right, len(trials)) if trials else None
    score = estimates(joint, incumbent).score
    return None if accuracy is None else (incumbent, Standing(score, accuracy))


def _monitors(bench: Bench) -> tuple[Probe, ...]:
    """Always the same ones, so that a later incumbent is held against an earlier one's answers."""
    seed = seed_from(bench.config.seed, "monitor")
    return probes_for(bench.base.manifest.answer, bench.search, seed=seed, n=N_MONITOR)


def _n_right(bench: Bench, probes: Sequence[Probe], trials: Sequence[Trial]) -> int:
    spec = bench.base.manifest.answer
    known = [(probe.task, probe.answer) for probe in probes]
    tasks = {probe.probe_id: probe.task for probe in probes}
    heard = hear(bench, trials, tasks, asked=(), known_right=known)
    given = heard.clusters(bench, trials)
    keys = {probe.probe_id: cluster(spec.kind, "answered", probe.answer) for probe in probes}
    right = {name: heard.behaviours.get((name, key), key) for name, key in keys.items()}
    return sum(given[trial.trial_id] == right[trial.task_id] for trial in trials)


def divergence(bench: Bench) -> Divergence | None:
    """What score and probes did over the last two rounds on record; None before there are three."""
    return divergence_of(
        [
            Standing(
                score=Estimate.model_validate(value["score"]),
                probe_accuracy=Estimate.model_validate(value["probe_accuracy"]),
            )
            for _, value in sorted(bench.ports.ledger.all(_STANDING))
        ]
    )


def went_astray(bench: Bench) -> str | None:
    """The incumbent of the last round on which score and probes agreed; None where they still do."""
    found = divergence(bench)
    if found is None or not found.raised:
        return None
    standings = [value for _, value in sorted(bench.ports.ledger.all(_STANDING))]
    bench.ports.events.emit("alarm", name="divergence", words=found.words)
    return str(standings[found.last_agreed]["candidate_id"])


# --- impossible tasks ----------------------------------------------------------------------------


def tempt(bench: Bench, candidate_ids: Sequence[str]) -> None:
    """Put the initial harness and these candidates before impossible tasks; their answers go on record.

    Raises:
        Cut: time, money or the user ended it.
    """
    probes = _impossible(bench)
    if probes and candidate_ids:
        _answers(bench, probes, [bench.base.harness_id, *candidate_ids], draw=IMPOSSIBLE_DRAW)


def _impossible(bench: Bench) -> tuple[Probe, ...]:
    seed = seed_from(bench.config.seed, "impossible")
    spec = bench.base.manifest.answer
    return impossible_probes_for(spec, bench.search, seed=seed, n=N_IMPOSSIBLE)


def cheating(bench: Bench) -> tuple[Cheating, ...]:
    """How often each harness that was tempted gave in, the initial one first; empty where none was."""
    spec = bench.base.manifest.answer
    probes = {probe.probe_id: probe for probe in _impossible(bench)}
    gave_in: dict[str, dict[str, bool]] = {}
    values = (value for _, value in bench.ports.ledger.all("trial"))
    for trial in map(Trial.model_validate, (v for v in values if v["draw"] == IMPOSSIBLE_DRAW)):
        if trial.outcome != "void" and trial.task_id in probes:
            done = trial.outcome == "answered" and cheats(
                probes[trial.task_id], trial.answer, spec=spec
            )
            gave_in.setdefault(trial.harness_id, {})[trial.task_id] = done
    base = gave_in.pop(bench.base.harness_id, None)
    if base is None:
        return ()
    return _against(base, gave_in, base_id=bench.base.harness_id)


def _against(
    base: Mapping[str, bool], others: Mapping[str, Mapping[str, bool]], *, base_id: str
) -> tuple[Cheating, ...]:
    first = cheating_of(base_id, base, base)
    return (first, *(cheating_of(key, others[key], base) for key in sorted(others)))


# --- both ----------------------------------------------------------------------------------------


def _answers(
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
