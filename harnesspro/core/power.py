"""What so many confirm tasks can show, by either route, before a cent is spent on them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache, partial

from harnesspro.core.margins import p_within
from harnesspro.core.referee import EASIER_PROBES, LEAST_TILT, TRUSTED_PAIRS, Votes
from harnesspro.core.stats import agreement_p, first_where, lower_bound

GOOD_REFEREE = 0.9
"""Hit rate of the referee that a plan counts on."""
BEST_REFEREE = 0.95
"""The best that is worth hoping for."""
USUAL_CHANGE = 0.05
"""Share of answers that a saving worth judging changes."""
WORTH_CALIBRATING = 0.2
"""A referee is measured where it lets a pick that is no worse pass with this chance."""
WELL_SHOWN = 0.5
_TAIL = 1e-4
_MOST_PLANNED = 3000


@dataclass(frozen=True, slots=True)
class Reach:
    """What n confirm tasks can show of "it loses at most eps"."""

    n: int
    eps: float
    most_changed: int | None
    """The most changed answers of n with which agreement passes; None where it cannot."""
    fewest_by_agreement: int
    """With fewer tasks agreement cannot pass, though no answer changes."""
    chance_by_referee: float
    """That a pick no worse, changing 5 % of the answers, passes a referee that was right on 90 of 100
    pairs."""
    fewest_by_referee: int | None
    """About the tasks from which that chance is one in two; None where 3,000 do not give it."""


def what_n_can_show(n: int, *, eps: float, alpha: float = 0.05) -> Reach:
    """What a first pick can be shown at full alpha on n tasks; the margin eps lies in (0, 1)."""
    passing = (c for c in range(n, -1, -1) if agreement_p(c, n, eps=eps) <= alpha)
    return Reach(
        n=n,
        eps=eps,
        most_changed=next(passing, None),
        fewest_by_agreement=math.ceil(math.log(alpha) / math.log(1 - eps)),
        chance_by_referee=chance_by_referee(n, eps=eps, alpha=alpha),
        fewest_by_referee=_fewest_by_referee(eps, alpha),
    )


def referee_route_possible(n_confirm: int, eps: float) -> bool:
    """Whether a trusted referee could let anything pass that agreement does not, so that it pays to
    measure one.

    True where a pick that is no worse and changes 5 % of the answers passes in one of five runs under
    a referee that was right on 95 of 100 pairs. At a margin of 5 points that is from about 80 tasks, at 10 from 40, at 3 from 260.
    """
    chance = chance_by_referee(n_confirm, eps=eps, hit_rate=BEST_REFEREE)
    return chance >= WORTH_CALIBRATING


def chance_by_agreement(
    n: int, *, eps: float, changed: int, seen: int, alpha: float = 0.05
) -> float:
    """The chance that so few answers change on n tasks that agreement passes.

    `changed` of `seen` search answers changed: the share is Beta(changed + 1/2, unchanged + 1/2), the
    count on n tasks beta-binomial.
    """
    from scipy.special import betaln, gammaln

    chance = 0.0
    a, b = changed + 0.5, seen - changed + 0.5
    for c in range(n + 1):
        if agreement_p(c, n, eps=eps) > alpha:
            break
        ways = gammaln(n + 1) - gammaln(c + 1) - gammaln(n - c + 1)
        chance += math.exp(ways + betaln(a + c, b + n - c) - betaln(a, b))
    return chance


@lru_cache(maxsize=256)
def chance_by_referee(
    n: int,
    *,
    eps: float,
    hit_rate: float = GOOD_REFEREE,
    changed: float = USUAL_CHANGE,
    alpha: float = 0.05,
) -> float:
    """The chance that a pick exactly as accurate passes the referee on n tasks.

    `changed` is the share of answers it changes, half of them called better (it gains what it loses,
    so the referee's own errors cancel). The referee was right on the share `hit_rate` of 100 pairs,
    with no more tilt than is always held against it.
    """
    from scipy.special import bdtr

    right = round(hit_rate * TRUSTED_PAIRS)
    low = lower_bound(right, TRUSTED_PAIRS) - EASIER_PROBES

    def fails(c: int, worse: int) -> bool:
        votes = Votes(n=n, changed=c, worse=worse, better=c - worse)
        return p_within(votes, hit_rate=low, tilt=LEAST_TILT, eps=eps) > alpha

    chance, below = 0.0, 0.0
    for c in range(n + 1):
        upto = float(bdtr(c, n, changed))
        first = first_where(partial(fails, c), after=-1, upto=c)
        most_worse = c if first is None else first - 1
        chance += (upto - below) * (float(bdtr(most_worse, c, 0.5)) if most_worse >= 0 else 0.0)
        below = upto
        if upto > 1 - _TAIL:
            break
    return chance


@lru_cache(maxsize=32)
def _fewest_by_referee(eps: float, alpha: float) -> int | None:
    return first_where(
        lambda n: chance_by_referee(n, eps=eps, alpha=alpha) >= WELL_SHOWN,
        after=0,
        upto=_MOST_PLANNED,
    )
