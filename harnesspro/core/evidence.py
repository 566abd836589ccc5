"""What was counted of one pick on the confirm tasks, and what it shows by either route."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from harnesspro.core.costs import Costs, compare_costs
from harnesspro.core.front import gain
from harnesspro.core.margins import (
    loss_upper,
    more_to_exclude_loss,
    more_to_show_gain,
    more_to_show_loss,
)
from harnesspro.core.records import Referee
from harnesspro.core.referee import Votes, p_better, p_loss_within, smallest_margin
from harnesspro.core.stats import agreement_p, agreement_upper, tasks_needed
from harnesspro.core.table import Row, Rows, changed, shared_tasks

Claim = Literal["cost", "success"]
Route = Literal["agreement", "referee"]


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything counted of one pick before anything is decided."""

    candidate_id: str
    claim: Claim
    votes: Votes
    costs: Costs | None
    """None where no task is shared."""
    route: Route
    """How "not worse" is to be shown, declared beforehand: two chances at one claim would pass a loss
    at the margin more often than alpha."""
    vetoed: bool
    """The referee may claim nothing for it: no "not worse", no "better"."""

    @property
    def by_referee(self) -> bool:
        """Whether the referee's word decides."""
        return self.route == "referee" and not self.vetoed


def gather(
    candidate_id: str,
    rows: Rows,
    base: Rows,
    *,
    claim: Claim,
    route: Route,
    cap_usd: float | None = None,
    vetoed: bool = False,
) -> Evidence:
    """Count one pick against the initial harness, over the tasks both have."""
    pairs = [(rows[task], base[task]) for task in shared_tasks(rows, base)]
    gains = [gain(row, row0) for row, row0 in pairs]
    votes = Votes(
        n=len(pairs),
        changed=changed(rows, base).changed,
        worse=sum(value < 0 for value in gains),
        better=sum(value > 0 for value in gains),
    )
    costs = _costs(pairs, cap_usd) if pairs else None
    return Evidence(candidate_id, claim, votes, costs, route, vetoed)


def _costs(pairs: Sequence[tuple[Row, Row]], cap_usd: float | None) -> Costs:
    own = np.array([row.cost_usd for row, _ in pairs])
    base = np.array([row0.cost_usd for _, row0 in pairs])
    return compare_costs(own, base, cap_usd=cap_usd)


def p_not_worse(seen: Evidence, referee: Referee, *, eps: float) -> float:
    """P-value of the declared route against "it loses more than eps"."""
    if seen.route == "agreement":
        return agreement_p(seen.votes.changed, seen.votes.n, eps=eps)
    return p_loss_within(referee, seen.votes, eps=eps) if seen.by_referee else 1.0


def p_accept(seen: Evidence, referee: Referee, *, eps: float) -> float:
    """P-value of the whole claim: not worse by the declared route, and cheaper or better."""
    return max(p_not_worse(seen, referee, eps=eps), _p_claim(seen, referee))


def _p_claim(seen: Evidence, referee: Referee) -> float:
    if seen.claim == "success":
        return 1.0 if seen.vetoed else p_better(referee, seen.votes)
    return 1.0 if seen.costs is None else seen.costs.p_cheaper()


def bound_on_loss(seen: Evidence, referee: Referee, *, alpha: float) -> float:
    """The bound U on the loss of accuracy, by the declared route; changed answers bound it anyway."""
    if seen.by_referee and referee.trusted:
        return loss_upper(referee, seen.votes, alpha=alpha)
    return agreement_upper(seen.votes.changed, seen.votes.n, alpha=alpha)


def margin_supported(seen: Evidence, referee: Referee, *, alpha: float) -> float:
    """The smallest margin that would have passed; by the referee to half a point."""
    if seen.by_referee and referee.trusted:
        return smallest_margin(referee, seen.votes, alpha=alpha)
    return agreement_upper(seen.votes.changed, seen.votes.n, alpha=alpha)


def more_tasks(seen: Evidence, referee: Referee, *, eps: float, alpha: float) -> int | None:
    """How many more tasks would decide, for or against, if all goes on as seen; None: no number."""
    accepted = _most(
        _more_not_worse(seen, referee, eps=eps, alpha=alpha), _more_claim(seen, referee, alpha)
    )
    rejected = more_to_show_loss(referee, seen.votes, eps=eps, alpha=alpha)
    return _least(accepted, rejected)


def _more_not_worse(seen: Evidence, referee: Referee, *, eps: float, alpha: float) -> int | None:
    votes = seen.votes
    if seen.by_referee:
        return more_to_exclude_loss(referee, votes, eps=eps, alpha=alpha)
    share = votes.changed / votes.n if votes.n else 0.0
    return tasks_needed(votes.changed, votes.n, changed_share=share, eps=eps, alpha=alpha)


def _more_claim(seen: Evidence, referee: Referee, alpha: float) -> int | None:
    if seen.claim == "success":
        return None if seen.vetoed else more_to_show_gain(referee, seen.votes, alpha=alpha)
    return seen.costs.tasks_needed(alpha) if seen.costs else 0


def _least(a: int | None, b: int | None) -> int | None:
    """The smaller of two numbers of which either may be out of reach."""
    return b if a is None else a if b is None else min(a, b)


def _most(a: int | None, b: int | None) -> int | None:
    """The larger of two numbers; out of reach where either is."""
    return None if a is None or b is None else max(a, b)
