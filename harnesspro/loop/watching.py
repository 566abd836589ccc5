"""Generated tasks that watch the search: is the score still about rightness?

Monitor probes have a known answer and calibrate nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from harnesspro.checks import probes_for
from harnesspro.core.alarms import Divergence, Standing, divergence_of
from harnesspro.core.answers import cluster
from harnesspro.core.front import best, estimates
from harnesspro.core.hashing import seed_from
from harnesspro.core.plan import LEAST_WATCHED_ROUNDS, N_MONITOR
from harnesspro.core.records import Estimate, Probe, Trial
from harnesspro.core.stats import exact_share
from harnesspro.loop import scan
from harnesspro.loop.bench import Bench
from harnesspro.loop.hearing import hear
from harnesspro.loop.live import live_ids, search_law
from harnesspro.loop.tempting import answers_to

MONITOR_DRAW = "monitor/0"
_STANDING = "standing"


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
    trials = answers_to(bench, probes, [incumbent], draw=MONITOR_DRAW)
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
