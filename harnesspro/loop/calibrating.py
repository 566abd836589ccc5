"""After the last round, before the picks are frozen: the referee is held against probes.

The initial harness and the likely picks answer generated tasks whose truth is known. That says which
channels are heard and how often the referee is right where answers differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from harnesspro.checks import probes_for
from harnesspro.core import referee as referees
from harnesspro.core.answers import Behaviours, cluster
from harnesspro.core.calibration import (
    LEAST_ADMITTING,
    Enough,
    Marks,
    Merits,
    More,
    ProbeRow,
    calibration_of,
    mark,
    n_admitting,
    next_probes,
    pairs_of,
)
from harnesspro.core.channels import kind_of
from harnesspro.core.confirm import MOST_PICKS, freeze_picks
from harnesspro.core.front import best, count, front_ids, knee
from harnesspro.core.hashing import seed_from
from harnesspro.core.plan import MOST_ON_PROBES
from harnesspro.core.records import AnswerSpec, Calibration, Probe, Referee, Trial
from harnesspro.core.referee import may_tell
from harnesspro.loop import scan
from harnesspro.loop.alarms import concordance
from harnesspro.loop.bench import Bench
from harnesspro.loop.hearing import asked_by, hear
from harnesspro.loop.live import complexity, keeping, search_law
from harnesspro.loop.tempting import tempt
from harnesspro.stages.calibrate import (
    Seen,
    channel_of,
    form,
    merits_of,
    opinion_check,
    rows_of,
)
from harnesspro.stages.evaluate import jobs_for
from harnesspro.stages.score import passed_by

PROBE_DRAW = "probe/0"
POOL = 3
"""Probes drawn for each that may be measured, to choose families from."""
ANSWERS_OF_BASE = 0.8
"""A contrast answers at least this share of the tasks that the initial harness answers."""
_RECORD = ("referee", "confirm")


def calibrated(bench: Bench) -> Bench:
    """The bench under the referee that confirm is judged by: measured, or with the reason why not.

    Raises:
        Cut: time, money or the user ended it; what was measured is on record.
    """
    kept = bench.ports.ledger.get(*_RECORD)
    if kept is not None:
        return replace(bench, referee=Referee.model_validate(kept))
    variants = on_probes(bench)
    reason = why_not(bench, variants)
    if reason is None:
        referee = _calibrate(bench, variants)
        tempt(bench, variants)
    else:
        referee = _unmeasured(bench.referee, reason)
    bench.ports.ledger.put(*_RECORD, referee.model_dump(mode="json"))
    return replace(bench, referee=referee)


def on_probes(bench: Bench) -> tuple[str, ...]:
    """The candidates that answer probes: the likely picks, then those that changed the most answers.

    Ordered by how many answers they changed. Contrasts are there because pairs of differing answers
    are what is scarce; they must answer nearly as often as the initial harness.
    """
    joint = search_law(bench, scan.table(bench, "search"))
    if joint is None:
        return ()
    ids = [key for key in joint.ids if key != joint.baseline_id]
    front = front_ids(joint, complexity=complexity(bench))
    picks = freeze_picks(
        joint, candidate_ids=ids, front=front, max_picks=MOST_PICKS, keeping=keeping(bench)
    )
    standing = [key for key in front if key in ids]
    ends = [knee(joint, standing), best(joint, standing)]
    likely = [*(pick.candidate_id for pick in picks), *(key for key in ends if key is not None)]
    chosen = list(dict.fromkeys(likely))[:MOST_PICKS]
    changed = _changed_shares(bench)
    contrasts = [key for key in sorted(changed, key=lambda key: -changed[key]) if key not in chosen]
    chosen += contrasts[: MOST_ON_PROBES - len(chosen)] if chosen else []
    return tuple(sorted(chosen, key=lambda key: (changed.get(key, 0.0), key)))


def _changed_shares(bench: Bench) -> dict[str, float]:
    """Candidate -> share of search answers it changed, of all raced that answer often enough."""
    table = scan.table(bench, "search")
    base = table[bench.base.harness_id]
    found = {}
    for key, rows in table.items():
        seen = count(rows, base)
        answered = sum(row.answered for row in rows.values())
        answered_before = sum(base[task].answered for task in rows.keys() & base.keys())
        if key != bench.base.harness_id and answered >= ANSWERS_OF_BASE * answered_before:
            found[key] = seen.changed / seen.n if seen.n else 0.0
    return found


def why_not(bench: Bench, variants: Sequence[str]) -> str | None:
    """Why measuring the referee would be money for nothing; None where it is not."""
    if not variants:
        return "no candidate was left to judge"
    if not bench.referee.checks and not bench.config.channels:
        return "no check was admitted and no independent model was named"
    if bench.config.n_probes == 0:
        return "--probes 0 forbids it"
    if not bench.config.n_probes and not (bench.config.channels or may_tell(bench.referee.checks)):
        return (
            "the checks look at the form of an answer more than at its rightness, and no independent "
            "model was named (--probes N measures it all the same)"
        )
    if bench.plan.n_probes == 0:
        return (
            f"with {len(bench.confirm)} confirm tasks even a good referee would seldom let a change "
            f"pass at a margin of {100 * bench.config.margin:g} points (--probes N measures it all "
            "the same)"
        )
    return _no_room(bench, LEAST_ADMITTING * (1 + len(variants)))


def _no_room(bench: Bench, n_trials: int) -> str | None:
    """What stands against so many more trials: confirm comes first, in money and in time."""
    world, one = scan.scan(bench), scan.per_trial(bench)
    cap, limit = world.cap_usd, world.time_limit_s
    if cap is not None and world.spent_usd + world.confirm.usd + n_trials * one.usd > cap:
        return f"the cap of ${cap:g} leaves room for the final measurement only"
    seconds = world.elapsed_s + world.confirm.seconds + n_trials * one.seconds
    if limit is not None and seconds > limit:
        return f"the time limit of {limit:.0f} s leaves room for the final measurement only"
    return None


def _unmeasured(opening: Referee, reason: str) -> Referee:
    calibration = Calibration(
        n_probes=0, n_discordant=0, hit_rate=None, tilt=None, n_ties=0, reason=reason
    )
    return referees.freeze(opening.checks, calibration=calibration)


# --- measuring ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Standing:
    """What the probes measured so far make of the referee."""

    rows: tuple[ProbeRow, ...]
    referee: Referee | None
    """None before there are enough probes to admit channels."""
    merits: Merits
    marks: Marks | None
    n_pairs: int
    n_admitting: int = 0


def _calibrate(bench: Bench, variants: Sequence[str]) -> Referee:
    bench.ports.events.emit("phase", name="calibrate", round=None, n_rounds=None)
    seed = seed_from(bench.config.seed, "probes")
    most, spec = bench.plan.n_probes, bench.base.manifest.answer
    pool = probes_for(spec, bench.search, seed=seed, n=POOL * most)
    distinct = {probe.task.content_key: probe for probe in reversed(pool) if not probe.impossible}
    probes = tuple(reversed(distinct.values()))  # the same question asked twice is one trial
    ids = (bench.base.harness_id, *variants)
    n_asked = 0
    standing = _Standing(rows=(), referee=None, merits={}, marks=None, n_pairs=0)
    while True:
        probes = (*probes[:n_asked], *_telling(probes, standing.rows, seed=seed)[n_asked:])[:most]
        n_rows = len(standing.rows)  # a probe that stayed void gives none
        step = next_probes(
            n_rows,
            n_most=n_rows + len(probes) - n_asked,
            n_pairs=standing.n_pairs,
            formed=standing.referee is not None,
            marks=standing.marks,
        )
        if isinstance(step, More):
            no_room = _no_room(bench, step.n * len(ids))
            step = Enough(no_room) if no_room else step
        if isinstance(step, Enough):
            break
        n_asked += step.n
        standing = _measure(bench, probes[:n_asked], ids, seed=seed)
    if standing.referee is None:
        known = calibration_of(
            standing.rows, {}, admitting=len(standing.rows), seed=seed, reason=step.reason
        )
        return referees.freeze(bench.referee.checks, calibration=known)
    return _frozen(standing, seed=seed, reason=step.reason)


def _telling(probes: Sequence[Probe], rows: Sequence[ProbeRow], *, seed: int) -> tuple[Probe, ...]:
    """The first probes, then those of families among them in which answers differed.

    Where everyone agrees nothing is to be learnt of a referee; which answers differ is known before
    any channel is heard.
    """
    first = probes[:LEAST_ADMITTING]
    if len(rows) < LEAST_ADMITTING:
        return tuple(probes)
    differed = {pair.probe_id for pair in pairs_of(rows[:LEAST_ADMITTING], seed=seed)}
    families = {probe.family for probe in first if probe.probe_id in differed}
    later = probes[LEAST_ADMITTING:]
    return (*first, *(probe for probe in later if not families or probe.family in families))


def _frozen(standing: _Standing, *, seed: int, reason: str) -> Referee:
    assert standing.referee is not None
    found = calibration_of(
        standing.rows,
        standing.merits,
        # Where no channel was heard there is no word to mark.
        admitting=len(standing.rows) if standing.marks is None else standing.n_admitting,
        seed=seed,
        reason=reason,
    )
    formed = standing.referee
    return referees.freeze(formed.checks, formed.panel, channels=formed.channels, calibration=found)


def _measure(bench: Bench, probes: Sequence[Probe], ids: Sequence[str], *, seed: int) -> _Standing:
    """Run what is not on record, ask the channels where answers differ, mark the referee.

    Behind the probes that admit channels only those admitted are asked.
    """
    opening, names = bench.referee, bench.config.channels
    trials = _answers(bench, probes, ids)
    bare = rows_of(probes, ids, _seen(bench, probes, trials, asked=()), opening=opening, asked=())
    n_pairs = len(pairs_of(bare, seed=seed))
    admitting = n_admitting(bare, seed=seed)
    if admitting is None:
        return _Standing(bare, None, {}, None, n_pairs=n_pairs)
    first = {row.probe_id for row in bare[:admitting]}
    heard = _seen(bench, probes, [t for t in trials if t.task_id in first], asked=names)
    rows = rows_of(probes, ids, heard, opening=opening, asked=names)
    referee = _agreeing(bench, form(rows, opening, asked=names, seed=seed))
    if not referee.checks and not referee.panel:
        return _Standing(bare, referee, {}, None, n_pairs=n_pairs, n_admitting=admitting)
    seen = _seen(bench, probes, trials, asked=asked_by(referee))
    merits = merits_of(bare, referee, passed=seen.passed, votes=seen.votes)
    marks = mark(pairs_of(bare[admitting:], seed=seed), merits)
    return _Standing(bare, referee, merits, marks, n_pairs=n_pairs, n_admitting=admitting)


def _agreeing(bench: Bench, referee: Referee) -> Referee:
    """The referee, its generated checks sitting out where they contradict the admitted panel.

    The panel is asked about the search tasks on which answers differ.
    """
    found = concordance(bench, referee)
    if found is None or not found.raised:
        return referee
    bench.ports.events.emit("alarm", name="concordance", words=found.words)
    heard = [check for check in referee.checks if channel_of(check) != "checks"]
    channels = [
        channel.model_copy(update={"admitted": False, "reason": found.words})
        if channel.name == "checks"
        else channel
        for channel in referee.channels
    ]
    return referees.freeze(heard, referee.panel, channels=channels)


def _answers(bench: Bench, probes: Sequence[Probe], ids: Sequence[str]) -> list[Trial]:
    """The trials of these harnesses on these probes, probe by probe; voids left out."""
    tasks = [probe.task for probe in probes]
    harnesses = [bench.harness(key) for key in ids]
    jobs = jobs_for(harnesses, tasks, draws=(PROBE_DRAW,), models=bench.config.models)
    place = {job.trial_id: index for index, job in enumerate(jobs)}
    trials = [trial for trial in bench.run(jobs) if trial.outcome != "void"]
    return sorted(trials, key=lambda trial: place[trial.trial_id])


def _seen(
    bench: Bench, probes: Sequence[Probe], trials: Sequence[Trial], *, asked: Sequence[str]
) -> Seen:
    spec = bench.base.manifest.answer
    tasks = {probe.probe_id: probe.task for probe in probes}
    right = [(probe.task, probe.answer) for probe in probes]
    heard = hear(bench, trials, tasks, asked=asked, known_right=right)
    passed = passed_by(
        trials,
        tasks,
        spec=spec,
        checks=(*bench.referee.checks, *(opinion_check(n) for n in asked if kind_of(n) != "panel")),
        said=heard.results,
        behaviours=heard.behaviours,
    )
    return Seen(
        trials=trials,
        clusters=heard.clusters(bench, trials),
        passed=passed,
        votes=heard.votes,
        is_right=lambda probe, key: key == _right(probe, spec, heard.behaviours),
    )


def _right(probe: Probe, spec: AnswerSpec, behaviours: Behaviours) -> str:
    """The cluster of a probe's own answer."""
    key = cluster(spec.kind, "answered", probe.answer)
    return behaviours.get((probe.probe_id, key), key)
