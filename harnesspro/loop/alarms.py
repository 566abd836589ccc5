"""What improvers are shown of the checks, and which candidates were fitted to it: from what is on
record of the search.
"""

from __future__ import annotations

from collections.abc import Sequence

from harnesspro.core.alarms import Gap, gap_of, visible
from harnesspro.core.hashing import seed_from
from harnesspro.core.referee import Passed
from harnesspro.loop import scan
from harnesspro.loop.bench import Bench
from harnesspro.loop.hearing import hear
from harnesspro.proposers.question import CheckShown
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


def _passed(bench: Bench) -> dict[str, dict[str, Passed]]:
    """Harness -> task -> what every check says of its answer to a search task. Nothing is asked."""
    trials = [t for t in scan.trials_of(bench, "search") if t.draw == bench.search_draws[0]]
    heard = hear(bench, trials, bench.tasks, asked=())
    said = passed_by(
        trials,
        bench.tasks,
        spec=bench.base.manifest.answer,
        checks=bench.referee.checks,
        said=heard.results,
        behaviours=heard.behaviours,
    )
    clusters = heard.clusters(bench, trials)
    found: dict[str, dict[str, Passed]] = {}
    for trial in trials:
        place = (trial.task_id, clusters[trial.trial_id])
        if place in said:
            found.setdefault(trial.harness_id, {})[trial.task_id] = said[place]
    return found
