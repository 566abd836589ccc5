"""A variant that is consistent where the initial harness wavers, and wrong there: who is fooled by it.

On a hard task the initial harness gives the popular mistake more often than the right answer; the
variant always gives the popular mistake. A panel of the initial harness's own repeats votes for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from harnesspro.core.calibration import (
    Pair,
    errors_on_gains,
    errors_on_losses,
    hit_rate,
    mark,
    tilt,
)
from harnesspro.core.confirm import Pick, judge
from harnesspro.core.records import Calibration, Referee, Verdict
from harnesspro.core.referee import Passed, is_trusted, judge_answers
from harnesspro.core.table import Answered, build_table
from harnesspro.stages.calibrate import shares
from tests.sim.worlds import EPS

RIGHT, POPULAR, N_CLUSTERS = 0, 1, 5
HARD = 0.28
"""Share of hard tasks."""
BASE_ON_EASY = (0.96, 0.02, 0.01, 0.01, 0.0)
BASE_ON_HARD = (0.25, 0.45, 0.1, 0.1, 0.1)
"""How often the initial harness gives each answer; the variant loses a quarter of the hard tasks."""
BASE_ON_HARD_PROBES = (0.6, 0.2, 0.1, 0.05, 0.05)
"""Probes are easier."""
TRUE_LOSS = HARD * BASE_ON_HARD[RIGHT]
N_REPEATS, N_PROBES = 3, 400
FAMILIES = ("example", "property", "metamorphic", "must_still_work")
PASSES_RIGHT, PASSES_WRONG, PASSES_POPULAR = 0.92, 0.35, 0.5
"""Chance to pass one family's check; the popular mistake passes more often, on tasks alone."""

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Draws:
    """Clusters on n tasks: the initial harness's answer and repeats, the variant's, what each passes."""

    base: Ints
    repeats: Ints
    variant: Ints
    passed: NDArray[np.bool_]
    """Tasks x families x clusters."""


def draw(rng: Generator, n: int, *, on_hard: tuple[float, ...], popular: float) -> Draws:
    """Fresh answers to n tasks."""
    hard = rng.random(n) < HARD
    law = np.where(hard[:, None], on_hard, BASE_ON_EASY).cumsum(axis=1)
    drawn = (rng.random((1 + N_REPEATS, n, 1)) > law[None]).sum(axis=2).clip(0, N_CLUSTERS - 1)
    chance = np.full((n, len(FAMILIES), N_CLUSTERS), PASSES_WRONG)
    chance[:, :, RIGHT], chance[:, :, POPULAR] = PASSES_RIGHT, popular
    return Draws(
        base=drawn[0],
        repeats=drawn[1:],
        variant=np.where(hard, POPULAR, drawn[0]),
        passed=rng.random(chance.shape) < chance,
    )


def confirmed(rng: Generator, n: int, *, base_votes: bool) -> Verdict:
    """The verdict on the variant, twice as cheap, under a referee measured on probes.

    With `base_votes` the initial harness's repeats are the panel, which the product forbids.
    """
    panel = tuple(f"panel:base/{k}" for k in range(N_REPEATS)) if base_votes else ()
    bare = Referee(checks=(), weights=dict.fromkeys(FAMILIES, 1.0), panel=panel)
    referee = bare.model_copy(update=_measured(rng, bare))
    tasks = draw(rng, n, on_hard=BASE_ON_HARD, popular=PASSES_POPULAR)
    answers, merits = _judged(tasks, referee)
    (verdict,) = judge(
        [Pick("variant", "cost", "knee", route="referee")],
        build_table(answers, merits),
        "base",
        eps=EPS,
        referee=referee,
        base_disagreement=None,
    )
    return verdict


def _measured(rng: Generator, bare: Referee) -> dict[str, object]:
    """Trust and calibration on the first hundred probe pairs of initial harness and variant."""
    probes = draw(rng, N_PROBES, on_hard=BASE_ON_HARD_PROBES, popular=PASSES_WRONG)
    other = np.where(probes.variant == probes.base, probes.repeats[0], probes.variant)
    _, merits = _judged(probes, bare, also=other)
    pairs = [
        Pair(f"t{t}", f"c{own}", f"c{base}", variant_is_right=bool(own == RIGHT))
        for t, (own, base) in enumerate(zip(other, probes.base, strict=True))
        if own != base and RIGHT in (own, base)
    ][:100]
    marks = mark(pairs, merits)
    rate = hit_rate(marks)
    calibration = Calibration(
        n_probes=N_PROBES,
        n_discordant=len(pairs),
        hit_rate=rate,
        tilt=tilt(marks),
        errors_on_losses=errors_on_losses(marks),
        errors_on_gains=errors_on_gains(marks),
        n_ties=marks.ties,
    )
    return {"calibration": calibration, "trusted": is_trusted(rate)}


def _judged(draws: Draws, referee: Referee, *, also: Ints | None = None):
    rows = {"base": draws.base, "variant": draws.variant}
    if also is not None:
        rows["also"] = also
    costs = {"base": 1.0, "variant": 0.5, "also": 0.5}
    answers = {
        key: {f"t{t}": Answered(f"c{c}", costs[key], 1.0) for t, c in enumerate(row)}
        for key, row in rows.items()
    }
    passed: dict[tuple[str, str], Passed] = {
        (f"t{t}", f"c{c}"): {f: float(of[k, c]) for k, f in enumerate(FAMILIES)}
        for t, of in enumerate(draws.passed)
        for c in {int(row[t]) for row in rows.values()}
    }
    return answers, judge_answers(referee, answers, passed, votes=_votes(draws, referee.panel))


def _votes(draws: Draws, panel: tuple[str, ...]) -> Mapping[str, Mapping[str, float]]:
    cast = {
        name: {f"t{t}": f"c{c}" for t, c in enumerate(row)}
        for name, row in zip(panel, draws.repeats, strict=False)
    }
    voted = {f"t{t}": shares(panel, cast, f"t{t}") for t in range(len(draws.base))}
    return {task: votes for task, votes in voted.items() if votes is not None}
