"""The control at equal dollars: dials set by chance, measured until they have cost what the candidates
cost, the best of them confirmed as a pick would be.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from harnesspro.core.confirm import freeze_picks
from harnesspro.core.front import front_ids, law
from harnesspro.core.hashing import seed_from
from harnesspro.core.records import Harness, Trial
from harnesspro.core.table import Rows
from harnesspro.loop import scan
from harnesspro.loop.bench import Bench
from harnesspro.proposers.random_settings import random_settings
from harnesspro.stages.evaluate import jobs_for

SEARCH_DRAW, CONFIRM_DRAW = "random/0", "control/random"


def search_at_random(bench: Bench) -> None:
    """Spend on settings drawn by chance what the candidates have cost; confirm the best of them.

    Raises:
        Cut: time, money or the user ended it; what was measured is on record.
    """
    for harness in _affordable(bench):
        bench.ports.trees.put(harness, message="dials set by chance")
        models = bench.config.models
        bench.run(jobs_for([harness], bench.search, draws=(SEARCH_DRAW,), models=models))
    chosen = chosen_at_random(bench)
    if chosen is not None:
        jobs = jobs_for(
            [bench.harness(chosen)],
            bench.confirm,
            draws=(CONFIRM_DRAW,),
            models=bench.config.models,
        )
        bench.run(jobs)


def _affordable(bench: Bench) -> Iterator[Harness]:
    """Settings by chance, as long as those before have not cost what the candidates have."""
    budget = candidates_usd(bench)
    for patch in random_settings(bench.base, seed=bench.config.seed):
        if spent_at_random(bench) >= budget:
            return
        yield bench.ports.apply_patch(bench.base, patch)


def candidates_usd(bench: Bench) -> float:
    """What all trials of candidates on search tasks have cost, attributed."""
    base = bench.base.harness_id
    return sum(t.cost_usd for t in scan.trials_of(bench, "search") if t.harness_id != base)


def spent_at_random(bench: Bench) -> float:
    """What the settings drawn by chance have cost so far on search tasks, attributed."""
    return sum(trial.cost_usd for trial in scan.trials_of(bench, "random"))


def n_tried(bench: Bench) -> int:
    """Settings drawn by chance that were measured."""
    return len({trial.harness_id for trial in scan.trials_of(bench, "random")})


def chosen_at_random(bench: Bench) -> str | None:
    """The setting that the rule for picks would take first; None where it would take none."""
    base = bench.base.harness_id
    trials = [*_of_base(bench), *scan.trials_of(bench, "random")]
    table = scan.judged(bench, trials, asking=False)
    tried = [key for key in table if key != base]
    if base not in table or not tried:
        return None
    joint = law(
        table,
        base,
        seed=seed_from(bench.config.seed, "random"),
        trusted=bench.referee.trusted,
        n_compared=len(tried),
    )
    picks = freeze_picks(joint, candidate_ids=tried, front=front_ids(joint), max_picks=1)
    return picks[0].candidate_id if picks else None


def _of_base(bench: Bench) -> list[Trial]:
    return [
        trial
        for trial in scan.trials_of(bench, "search")
        if trial.harness_id == bench.base.harness_id and trial.draw == bench.search_draws[0]
    ]


def confirmed_at_random(bench: Bench) -> Mapping[str, Rows]:
    """The chosen setting's rows on the confirm tasks, under its harness id; empty where none was."""
    trials = [t for t in scan.trials_of(bench, "control") if t.draw == CONFIRM_DRAW]
    return scan.judged(bench, trials, asking=False) if trials else {}
