"""Whole runs in a toy world: eight candidates, race, at most three frozen picks, one confirm."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from harnesspro.core.confirm import freeze_picks, judge
from harnesspro.core.front import front_ids, law
from harnesspro.core.race import RacePlan, RaceResult, next_step
from harnesspro.core.records import Referee, Verdict
from harnesspro.core.stats import upper_bound
from harnesspro.core.table import Table, restrict
from tests.sim.sheets import Sheet, share
from tests.sim.worlds import EPS, NOBODY, Change, Eye, Variant, answer_table, draw_referees

WORSE_BY = 0.03

MIXED = {
    "same": Variant(Change(), 0.7),
    "near": Variant(Change(0.005, 0.005), 0.5),
    "trade": Variant(Change(0.05, 0.05), 0.4),
    "gain": Variant(Change(0.02, 0.07), 0.6),
    "slip": Variant(Change(0.045), 0.5),
    "loss": Variant(Change(0.08), 0.4),
    "trap": Variant(Change(0.20), 0.2),
    "dear": Variant(Change(0.02, 0.02), 1.4),
}
"""One of each kind; the trap is consistent, a fifth as dear and 20 points worse."""
LOSING = {f"loss {k}": Variant(Change(0.06, 0.01), 0.3 + 0.05 * k) for k in range(8)}
"""Nothing good among them: each five points worse."""
SLIPPING = {f"slip {k}": Variant(Change(0.04), 0.3 + 0.05 * k) for k in range(8)}
"""Each four points worse, which is within the margin of five."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What the runs of one row share."""

    name: str
    variants: dict[str, Variant]
    n_search: int
    n_confirm: int
    probes: Eye | None = None
    """None: no referee."""
    tasks: Eye | None = None
    eps: float = EPS
    """The margin asked for."""
    times: int = 1
    """How many times as many runs as a row has at least: where a rate near .005 is to be bound."""


@dataclass(frozen=True, slots=True)
class Tally:
    """What many runs accepted."""

    n_runs: int
    n_accepting: int
    """Runs that accepted something."""
    n_harmful: int
    """Runs that accepted a pick truly worse by more than three points."""
    accepted: dict[str, int]

    @property
    def harmful_upper(self) -> float:
        """Exact upper 95 % bound of the share of harmful runs."""
        return upper_bound(self.n_harmful, self.n_runs)


GOOD = (Eye(0.9), Eye(0.8))
LEANING = (Eye(0.85, 0.2), Eye(0.75, 0.2))
SETTINGS = (
    Setting("no referee", MIXED, 40, 80, times=8),
    Setting("no referee", MIXED, 66, 134, times=8),
    Setting("no referee", MIXED, 100, 300, times=4),
    Setting("good referee", MIXED, 40, 80, *GOOD, times=8),
    Setting("good referee", MIXED, 66, 134, *GOOD, times=8),
    Setting("good referee", MIXED, 100, 300, *GOOD, times=4),
    Setting("leaning referee", MIXED, 66, 134, *LEANING, times=8),
    Setting("leaning referee", MIXED, 100, 300, *LEANING, times=4),
    Setting("all eight -5, no referee", LOSING, 66, 134),
    Setting("all eight -5, good referee", LOSING, 66, 134, *GOOD),
    Setting("all eight -4 (within the margin), no referee", SLIPPING, 66, 134),
)


def run_once(rng: Generator, setting: Setting, *, seed: int) -> tuple[Verdict, ...]:
    """One run: search tasks raced, picks frozen on the survivors, fresh confirm tasks judged."""
    referee = _referee(rng, setting)
    eye = setting.tasks if referee.trusted else None
    search = answer_table(rng, setting.n_search, setting.variants, eye=eye)
    survivors = _raced(search, tuple(setting.variants), trusted=referee.trusted, seed=seed)
    tasks = search["base"]
    joint = law(
        restrict(search, candidate_ids=("base", *survivors), task_ids=tasks),
        "base",
        seed=seed,
        n_boot=200,
        trusted=referee.trusted,
        n_compared=len(setting.variants),
    )
    picks = freeze_picks(
        joint,
        candidate_ids=survivors,
        front=front_ids(joint),
        max_picks=3,
        measured=frozenset(survivors) if setting.probes else frozenset(),
        n_confirm=setting.n_confirm,
        eps=setting.eps,
    )
    confirm = answer_table(rng, setting.n_confirm, setting.variants, eye=eye)
    return judge(picks, confirm, "base", eps=setting.eps, referee=referee, base_disagreement=None)


def _referee(rng: Generator, setting: Setting) -> Referee:
    return NOBODY if setting.probes is None else draw_referees(rng, setting.probes, n_runs=1)[0]


def _raced(table: Table, ids: tuple[str, ...], *, trusted: bool, seed: int) -> tuple[str, ...]:
    tasks = tuple(sorted(table["base"]))
    plan = RacePlan("base", ids, tasks, first_block=12, seed=seed, trusted=trusted)
    result = next_step(plan, table)
    assert isinstance(result, RaceResult)
    return (*result.promoted, *result.open)


def tally(setting: Setting, *, n_runs: int) -> Tally:
    """Many runs of one setting."""
    rng = np.random.default_rng([8, setting.n_confirm])
    counted: Counter[str] = Counter()
    accepting = harmful = 0
    for run in range(n_runs):
        found = run_once(rng, setting, seed=run)
        accepted = [verdict.candidate_id for verdict in found if verdict.kind == "accept"]
        counted.update(accepted)
        accepting += bool(accepted)
        harmful += any(setting.variants[key].change.net < -WORSE_BY for key in accepted)
    return Tally(n_runs, accepting, harmful, dict(counted))


def whole_sheet(n_runs: int) -> Sheet:
    """All settings."""
    rows = []
    for setting in SETTINGS:
        found = tally(setting, n_runs=setting.times * n_runs)
        kinds = ", ".join(f"{key} {n}" for key, n in sorted(found.accepted.items()))
        rows.append(
            (
                setting.name,
                f"{setting.n_search} + {setting.n_confirm}",
                share(found.n_accepting / found.n_runs, digits=2),
                f"{found.n_harmful} of {found.n_runs}",
                share(found.harmful_upper),
                kinds or "nothing",
            )
        )
    return Sheet(
        "Whole runs",
        "Eight candidates raced on search tasks, at most three picks frozen, one confirm on fresh tasks; "
        "eps 5, alpha .05. Harmful: an accepted pick is truly worse by more than three points; with its "
        "exact upper 95 % bound. Promised: <= .01 where good and bad candidates are mixed. "
        f"{n_runs} runs a row or a multiple, fixed seeds.",
        (
            "world",
            "search + confirm",
            "runs that accept",
            "harmful runs",
            "upper bound",
            "accepted",
        ),
        tuple(rows),
    )
