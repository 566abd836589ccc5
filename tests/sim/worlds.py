"""Toy worlds with known truth for the judge: what a change did, what a referee says of it.

Nothing here decides anything: a world draws counts, answers and costs, and the product judges them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

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
from harnesspro.core.records import Calibration, Referee
from harnesspro.core.referee import Votes, freeze, is_trusted, p_loss_within
from harnesspro.core.stats import agreement_p
from harnesspro.core.table import Row

EPS, ALPHA, PAIRS = 0.05, 0.05, 100
NOBODY = freeze([])
"""A referee that may say nothing."""

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Change:
    """What a variant does to the answers, in shares of all tasks."""

    lost: float = 0.0
    """From right to wrong."""
    won: float = 0.0
    """From wrong to right."""
    moved: float = 0.0
    """From one wrong answer to another."""

    @property
    def net(self) -> float:
        """True difference of accuracy."""
        return self.won - self.lost

    @property
    def changed(self) -> float:
        """Share of answers that change."""
        return self.lost + self.won + self.moved


@dataclass(frozen=True, slots=True)
class Eye:
    """How a referee sees a pair of differing answers, one of them right."""

    hit: float
    """Chance to prefer the right one, over losses and gains alike."""
    tilt: float = 0.0
    """Chance to err on a loss less chance to err on a gain: above 0 it leans towards change."""

    @property
    def errs_on_loss(self) -> float:
        """It prefers the variant's wrong answer."""
        return min(1.0, max(0.0, 1 - self.hit + self.tilt / 2))

    @property
    def errs_on_gain(self) -> float:
        """It prefers the initial harness's wrong answer."""
        return min(1.0, max(0.0, 1 - self.hit - self.tilt / 2))


def draw_votes(rng: Generator, n: int, change: Change, *, eye: Eye, n_runs: int) -> list[Votes]:
    """The counts of many confirms; between two wrong answers the referee tosses its tilted coin."""
    kept = 1 - change.changed
    drawn = rng.multinomial(n, [change.lost, change.won, change.moved, kept], size=n_runs)
    lost, won, moved, _ = drawn.T
    unseen_loss = rng.binomial(lost, eye.errs_on_loss)
    unseen_gain = rng.binomial(won, eye.errs_on_gain)
    moved_up = rng.binomial(moved, 0.5 + eye.tilt / 2)
    better = unseen_loss + (won - unseen_gain) + moved_up
    changed = lost + won + moved
    return [
        Votes(n=n, changed=int(c), worse=int(c - b), better=int(b))
        for c, b in zip(changed, better, strict=True)
    ]


def draw_referees(rng: Generator, eye: Eye, *, n_runs: int, pairs: int = PAIRS) -> list[Referee]:
    """Referees measured on so many discordant probe pairs, half of which a loss."""
    losses = rng.binomial(pairs, 0.5, size=n_runs)
    for_change = rng.binomial(losses, eye.errs_on_loss)
    against = rng.binomial(pairs - losses, eye.errs_on_gain)
    return [
        referee_of(pairs, int(a), int(b), n_losses=int(n))
        for a, b, n in zip(for_change, against, losses, strict=True)
    ]


@cache
def referee_of(pairs: int, for_change: int, against: int, *, n_losses: int) -> Referee:
    """A referee that errs on so many pairs, marked by the product."""
    pairs_, merits = [], {}
    wrong = [k < for_change for k in range(n_losses)]
    wrong += [k < against for k in range(pairs - n_losses)]
    for k, errs in enumerate(wrong):
        gains = k >= n_losses
        prefers_variant = gains != errs
        pairs_.append(Pair(f"p{k}", "v", "b", variant_is_right=gains))
        merits[f"p{k}"] = {"v": 0.8, "b": 0.2} if prefers_variant else {"v": 0.2, "b": 0.8}
    marks = mark(pairs_, merits)
    rate = hit_rate(marks)
    calibration = Calibration(
        n_probes=4 * pairs,
        n_discordant=2 * pairs,
        hit_rate=rate,
        tilt=tilt(marks),
        errors_on_losses=errors_on_losses(marks),
        errors_on_gains=errors_on_gains(marks),
        n_ties=0,
    )
    return Referee(checks=(), weights={}, trusted=is_trusted(rate), calibration=calibration)


def passes_agreement(votes: Votes, *, eps: float = EPS, alpha: float = ALPHA) -> bool:
    """Whether few enough answers changed."""
    return agreement_p(votes.changed, votes.n, eps=eps) <= alpha


def passes_referee(
    referee: Referee, votes: Votes, *, eps: float = EPS, alpha: float = ALPHA
) -> bool:
    """Whether the referee's verdicts exclude a loss beyond eps."""
    return p_loss_within(referee, votes, eps=eps) <= alpha


# --- tables of answers and costs ---------------------------------------------------------------


def lognormal(rng: Generator, n: int, sigma: float) -> NDArray[np.float64]:
    """Costs with mean 1."""
    return np.exp(sigma * rng.standard_normal(n) - sigma**2 / 2)


@dataclass(frozen=True, slots=True)
class Variant:
    """A candidate of a toy run."""

    change: Change
    cost: float
    """Mean cost over the initial harness's."""


def answer_table(
    rng: Generator,
    n: int,
    variants: dict[str, Variant],
    *,
    eye: Eye | None = None,
    accuracy: float = 0.65,
) -> dict[str, dict[str, Row]]:
    """Rows of an initial harness and its variants on n tasks.

    The same answer is the same cluster. Of a changed answer the eye makes the merit: 0.8 against 0.2
    for what it prefers; without an eye every answer has merit 0.9.
    """
    right = rng.random(n) < accuracy
    blind = np.full(n, 0.9 if eye is None else 0.5)
    base_cost = lognormal(rng, n, 0.4)
    table = {"base": _rows("base", np.zeros(n, dtype=bool), blind, base_cost)}
    for key, variant in variants.items():
        change = variant.change
        roll = rng.random(n)
        lost = right & (roll < change.lost / accuracy)
        won = ~right & (roll < change.won / (1 - accuracy))
        moved = ~right & ~won & (roll < (change.won + change.moved) / (1 - accuracy))
        changed = lost | won | moved
        merit = blind if eye is None else _seen(rng, lost, won, moved=moved, eye=eye)
        costs = variant.cost * lognormal(rng, n, 0.4)
        table[key] = _rows(key, changed, merit, costs)
    return table


def _seen(rng: Generator, lost: NDArray[np.bool_], won: NDArray[np.bool_], *, moved, eye: Eye):
    """Merit of the variant's answer, the initial harness's being one half."""
    roll = rng.random(lost.size)
    prefers = np.where(lost, roll < eye.errs_on_loss, roll >= eye.errs_on_gain)
    prefers = np.where(moved, roll < 0.5 + eye.tilt / 2, prefers)
    return np.where(lost | won | moved, np.where(prefers, 0.8, 0.2), 0.5)


def _rows(key: str, changed, merit, costs) -> dict[str, Row]:
    return {
        f"t{i:04d}": Row(
            task_id=f"t{i:04d}",
            cluster=key if changed[i] else "base",
            answered=True,
            merit=float(merit[i]),
            cost_usd=float(costs[i]),
            latency_s=1.0,
        )
        for i in range(len(costs))
    }
