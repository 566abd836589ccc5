"""What the search says of its own checks: what improvers are shown of them, which candidates were
fitted to that, and whether an independent panel contradicts them.
"""

from __future__ import annotations

from collections.abc import Sequence

from harnesspro.core.alarms import Concordance, Gap, concordance_of, gap_of, visible
from harnesspro.core.hashing import seed_from
from harnesspro.core.records import Referee, Trial
from harnesspro.core.referee import Passed, freeze, merit
from harnesspro.loop import scan
from harnesspro.loop.bench import Bench
from harnesspro.loop.hearing import Heard, hear
from harnesspro.proposers.question import CheckShown
from harnesspro.stages.calibrate import channel_of, shares
from harnesspro.stages.score import passed_by


def gaps(bench: Bench, candidate_ids: Sequence[str]) -> tuple[Gap, ...]:
    """One gap a candidate, on search tasks; those of whom SEEN and SHADOW checks do not both speak are
    left out. Nothing is asked.
    """
    channels = {check.channel for check in bench.referee.checks}
    if "SHADOW" not in channels:
        return ()
    passed = _passed(bench)
    base = passed.get(bench.base.harness_id, {})
    found = (
        gap_of(
            key,
            passed.get(key, {}),
            base,
            referee=bench.referee,
            seed=seed_from(bench.config.seed, "gap", key),
        )
        for key in candidate_ids
    )
    return tuple(gap for gap in found if gap is not None)


def shown(bench: Bench, harness_id: str, *, round_index: int) -> tuple[CheckShown, ...]:
    """What an improver may know of the checks in a round, with how a harness's answers did by them."""
    rows = _passed(bench).get(harness_id, {}).values()
    found = []
    for check in visible(bench.referee.checks, round_index=round_index):
        said = [row[check.check_id] for row in rows if check.check_id in row]
        failed = sum(share < 1 for share in said) / len(said) if said else None
        found.append(CheckShown(name=check.name, family=check.family, failed=failed))
    return tuple(found)


def concordance(bench: Bench, referee: Referee) -> Concordance | None:
    """Whether a referee's generated checks and its panel order the answers to search tasks alike.

    None without both. The panel is asked where answers differ and it has not voted yet.

    Raises:
        Cut: the run must stop while there is still something to ask.
    """
    checks = [check for check in referee.checks if channel_of(check) == "checks"]
    if not checks or not referee.panel:
        return None
    heard = _heard(bench, asked=referee.panel)
    words: dict[str, dict[str, tuple[float, float]]] = {}
    alone = freeze(checks)
    for rows in _rows(bench, heard).values():
        for task_id, (key, passed) in rows.items():
            votes = shares(referee.panel, heard.votes, task_id)
            if votes is not None and alone.weights.keys() & passed.keys():
                said = (merit(alone, passed), votes.get(key, 0.0))
                words.setdefault(task_id, {})[key] = said
    seed = seed_from(bench.config.seed, "concordance")
    return concordance_of(words, n_variants=_n_differing(bench, heard), seed=seed)


def _n_differing(bench: Bench, heard: Heard) -> int:
    """Harnesses with an answer that another one's differs from."""
    given: dict[str, dict[str, set[str]]] = {}
    trials = _trials(bench)
    clusters = heard.clusters(bench, trials)
    for trial in trials:
        here = given.setdefault(trial.task_id, {})
        here.setdefault(clusters[trial.trial_id], set()).add(trial.harness_id)
    apart = [who for here in given.values() if len(here) > 1 for who in here.values()]
    return len(set().union(*apart))


def _trials(bench: Bench) -> list[Trial]:
    return [t for t in scan.trials_of(bench, "search") if t.draw == bench.search_draws[0]]


def _heard(bench: Bench, *, asked: Sequence[str]) -> Heard:
    return hear(bench, _trials(bench), bench.tasks, asked=asked)


def _passed(bench: Bench) -> dict[str, dict[str, Passed]]:
    """Harness -> task -> what every check says of its answer to a search task. Nothing is asked."""
    rows = _rows(bench, _heard(bench, asked=()))
    return {key: {task: passed for task, (_, passed) in own.items()} for key, own in rows.items()}


def _rows(bench: Bench, heard: Heard) -> dict[str, dict[str, tuple[str, Passed]]]:
    """Harness -> search task -> the cluster of its answer, and what every check says of that."""
    trials = _trials(bench)
    said = passed_by(
        trials,
        bench.tasks,
        spec=bench.base.manifest.answer,
        checks=bench.referee.checks,
        said=heard.results,
        behaviours=heard.behaviours,
    )
    clusters = heard.clusters(bench, trials)
    found: dict[str, dict[str, tuple[str, Passed]]] = {}
    for trial in trials:
        place = (trial.task_id, clusters[trial.trial_id])
        if place in said:
            found.setdefault(trial.harness_id, {})[trial.task_id] = (place[1], said[place])
    return found
