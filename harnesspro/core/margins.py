"""How far a referee's verdicts carry: the bound on the loss, how bad it would have to be to fall, and
how many more tasks would settle what is open.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from harnesspro.core.records import Referee
from harnesspro.core.referee import (
    EASIER_PROBES,
    LEAST_TILT,
    Votes,
    held_tilt,
    p_better,
    p_loss_within,
    tango_z,
)
from harnesspro.core.stats import MOST_TASKS, first_where

_STEPS = 40
"""Halvings of an interval: more than the digits of a double."""


def loss_upper(referee: Referee, votes: Votes, *, alpha: float) -> float:
    """The bound U: the smallest loss that the referee's verdicts exclude; 1 where none.

    The upper 1 - alpha bound of the loss, in accuracy (a fraction): for every margin above it the
    test of "it loses more than that" passes.
    """
    return _least(lambda eps: p_loss_within(referee, votes, eps=eps) <= alpha, low=0.0, high=1.0)


def tipping_hit_rate(
    referee: Referee, votes: Votes, *, eps: float, alpha: float = 0.05
) -> float | None:
    """The hit rate on these very tasks under which "loses at most eps" would no longer be shown.

    To be held against the measured lower bound less the discount for easier probes. None where even
    a referee that is always right would not show it.
    """

    def holds(hit_rate: float) -> bool:
        return p_within(votes, hit_rate=hit_rate, tilt=tilt, eps=eps) <= alpha

    share = votes.changed / votes.n if votes.n else 0.0
    tilt = held_tilt(referee, eps=eps, share=share)
    return _least(holds, low=0.5, high=1.0) if holds(1.0) else None


def p_within(votes: Votes, *, hit_rate: float, tilt: float, eps: float) -> float:
    """P-value against "it loses more than eps" for a referee this often right on these tasks."""
    from scipy.special import ndtr

    z = _z_within(votes, hit_rate=hit_rate, tilt=tilt, eps=eps)
    return 1.0 if z is None else float(ndtr(z))


def _z_within(votes: Votes, *, hit_rate: float, tilt: float, eps: float) -> float | None:
    """Far below 0 where a loss of eps is excluded; None where such a referee must stay silent."""
    if not votes.n:
        return None
    margin = eps * (2 * hit_rate - 1) - tilt * votes.changed / votes.n
    return tango_z(votes, margin=margin) if 0 < margin < 1 else None


def tilt_of(referee: Referee) -> float:
    """What is held against every change: never under the least, all the way where unmeasured."""
    return 1.0 if referee.tilt_upper is None else max(LEAST_TILT, referee.tilt_upper)


# --- how many more tasks, if verdicts go on as seen ----------------------------------------------


def more_to_exclude_loss(referee: Referee, votes: Votes, *, eps: float, alpha: float) -> int | None:
    """How many more tasks would show "it loses at most eps"; None where no number would."""
    if referee.discordant_hit_rate is None or not referee.trusted:
        return None
    hit_rate = referee.discordant_hit_rate.low - EASIER_PROBES
    share = votes.changed / votes.n if votes.n else 0.0
    tilt = held_tilt(referee, eps=eps, share=share)
    z = _z_within(votes, hit_rate=hit_rate, tilt=tilt, eps=eps)
    return None if z is None else _more(-z, votes.n, alpha=alpha)


def more_to_show_loss(referee: Referee, votes: Votes, *, eps: float, alpha: float) -> int | None:
    """How many more tasks would show "it loses more than eps"; None where no number would."""
    if not (referee.trusted and votes.n):
        return None
    margin = eps + tilt_of(referee) * votes.changed / votes.n
    return _more(tango_z(votes, margin=margin), votes.n, alpha=alpha) if margin < 1 else None


def more_to_show_gain(referee: Referee, votes: Votes, *, alpha: float) -> int | None:
    """How many more tasks would show "it is better"; None where no number would."""
    if not votes.n or not referee.trusted:
        return None

    def passes(n: int) -> bool:
        grown = Votes(
            n=n,
            changed=math.ceil(votes.changed * n / votes.n),
            worse=math.ceil(votes.worse * n / votes.n),
            better=votes.better * n // votes.n,
        )
        return p_better(referee, grown) <= alpha

    if passes(votes.n):
        return 0
    total = first_where(passes, after=votes.n, upto=MOST_TASKS)
    return None if total is None else total - votes.n


def _more(z: float, n: int, *, alpha: float) -> int | None:
    """A score grows with the root of the tasks, so this many more take it to its quantile."""
    from scipy.special import ndtri

    wanted = -float(ndtri(alpha))
    if z >= wanted:
        return 0
    total = math.ceil(n * (wanted / z) ** 2) if z > 0 else math.inf
    return None if total > MOST_TASKS else int(total) - n


def _least(holds: Callable[[float], bool], *, low: float, high: float) -> float:
    """Where a monotone statement begins to hold, by bisection; `high` where it nowhere does."""
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
