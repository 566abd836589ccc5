"""How far a referee's verdicts carry: the bound on the loss, and how bad it would have to be to fall."""

from __future__ import annotations

from collections.abc import Callable

from harnesspro.core.records import Referee
from harnesspro.core.referee import LEAST_TILT, Votes, p_loss_within, tango_z

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
        return p_within(votes, hit_rate=hit_rate, tilt=tilt_of(referee), eps=eps) <= alpha

    return _least(holds, low=0.5, high=1.0) if holds(1.0) else None


def p_within(votes: Votes, *, hit_rate: float, tilt: float, eps: float) -> float:
    """P-value against "it loses more than eps" for a referee this often right on these tasks."""
    from scipy.special import ndtr

    if not votes.n:
        return 1.0
    margin = eps * (2 * hit_rate - 1) - tilt * votes.changed / votes.n
    return float(ndtr(tango_z(votes, margin=margin))) if 0 < margin < 1 else 1.0


def tilt_of(referee: Referee) -> float:
    """What is held against every change: never under the least, all the way where unmeasured."""
    return 1.0 if referee.tilt_upper is None else max(LEAST_TILT, referee.tilt_upper)


def _least(holds: Callable[[float], bool], *, low: float, high: float) -> float:
    """Where a monotone statement begins to hold, by bisection; `high` where it nowhere does."""
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
