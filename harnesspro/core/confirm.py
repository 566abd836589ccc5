"""The one strict test, after the last round: picks against the initial harness on fresh tasks.

Two ways to show "not worse": few answers changed (no judge needed), or a trusted referee. Nothing
here may be loosened without redoing its simulated error rates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from harnesspro.core.costs import Costs, compare_costs
from harnesspro.core.front import COST_EPSILON, SURE, JointLaw, best, gain, knee, p_cheaper
from harnesspro.core.margins import loss_upper, tipping_hit_rate
from harnesspro.core.records import Referee, Verdict, VerdictKind
from harnesspro.core.referee import (
    Votes,
    p_better,
    p_loss_beyond,
    p_loss_within,
    smallest_margin,
)
from harnesspro.core.stats import agreement_p, agreement_upper, tasks_needed
from harnesspro.core.table import Row, Rows, Table, changed, shared_tasks

MOST_PICKS = 3
FIXED_ORDER_BELOW = 200
"""Under this many tasks the frozen order protects; from here on Holm does."""

Claim = Literal["cost", "success"]
Route = Literal["agreement", "referee"]


@dataclass(frozen=True, slots=True)
class Pick:
    """One harness to confirm, and what is claimed of it. Their order is part of the test."""

    candidate_id: str
    claim: Claim
    why: str


# --- before confirm opens ----------------------------------------------------------------------


def freeze_picks(
    joint: JointLaw,
    *,
    candidate_ids: Sequence[str],
    front: Sequence[str],
    max_picks: int,
    keeping: frozenset[str] = frozenset(),
) -> tuple[Pick, ...]:
    """At most `max_picks` picks among `candidate_ids`, in the order they will be tested.

    First the fewest answers changed, among those at least 5 % cheaper with probability 0.9 (of
    equals one in `keeping`, whose changes keep every answer by construction, then the cheaper);
    then the knee; then the best. Success is claimed only of a candidate that is not cheaper and
    that a trusted referee prefers with probability 0.9.
    """
    eligible = [key for key in joint.ids[1:] if key in set(candidate_ids)]
    standing = [key for key in front if key in eligible]
    cheaper = [key for key in eligible if _looks_cheaper(joint, key)]
    wanted = (
        (
            min(cheaper, key=lambda key: _caution(joint, key, keeping), default=None),
            "fewest changed",
        ),
        (knee(joint, standing), "knee"),
        (best(joint, standing), "best"),
    )
    found: dict[str, Pick] = {}
    for key, why in wanted:
        claim = _claim(joint, key) if key is not None else None
        if key is not None and claim is not None and key not in found:
            found[key] = Pick(candidate_id=key, claim=claim, why=why)
    return tuple(found.values())[: min(max_picks, MOST_PICKS)]


def _looks_cheaper(joint: JointLaw, candidate_id: str) -> bool:
    return p_cheaper(joint, candidate_id, by=COST_EPSILON) >= SURE


def _caution(
    joint: JointLaw, candidate_id: str, keeping: frozenset[str]
) -> tuple[float, bool, float]:
    seen = joint.counts[joint.at(candidate_id)]
    return (
        seen.changed / seen.n,
        candidate_id not in keeping,
        joint.place(candidate_id).cost_usd,
    )


def _claim(joint: JointLaw, candidate_id: str) -> Claim | None:
    if _looks_cheaper(joint, candidate_id):
        return "cost"
    better = joint.score[1:, joint.at(candidate_id)] > joint.score[1:, 0]
    return "success" if joint.trusted and float(better.mean()) >= SURE else None


# --- what was measured -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything counted of one pick before anything is decided."""

    pick: Pick
    votes: Votes
    costs: Costs | None
    """None where no task is shared."""
    vetoed: bool = False
    """It loses to the initial harness on probes: the referee may claim nothing for it."""


def gather(
    pick: Pick, rows: Rows, base: Rows, *, cap_usd: float | None, vetoed: bool = False
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
    return Evidence(pick=pick, votes=votes, costs=costs, vetoed=vetoed)


def _costs(pairs: Sequence[tuple[Row, Row]], cap_usd: float | None) -> Costs:
    own = np.array([row.cost_usd for row, _ in pairs])
    base = np.array([row0.cost_usd for _, row0 in pairs])
    return compare_costs(own, base, cap_usd=cap_usd)


def _p_not_worse(seen: Evidence, referee: Referee, *, eps: float) -> dict[Route, float]:
    """P-value of each route against "it loses more than eps"; agreement first."""
    return {
        "agreement": agreement_p(seen.votes.changed, seen.votes.n, eps=eps),
        "referee": 1.0 if seen.vetoed else p_loss_within(referee, seen.votes, eps=eps),
    }


def _p_claim(seen: Evidence, referee: Referee) -> float:
    if seen.pick.claim == "success":
        return 1.0 if seen.vetoed else p_better(referee, seen.votes)
    return 1.0 if seen.costs is None else seen.costs.p_cheaper()


# --- the verdicts ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Decision:
    """What one pick was tested at and how it came out."""

    alpha: float
    tested: bool
    accepted: bool


def judge(  # noqa: PLR0913 - everything that was declared before confirm opened
    picks_in_order: Sequence[Pick],
    table: Table,
    baseline_id: str,
    *,
    eps: float,
    alpha: float = 0.05,
    referee: Referee,
    base_disagreement: float | None,
    cap_usd: float | None = None,
    vetoed: frozenset[str] = frozenset(),
) -> tuple[Verdict, ...]:
    """One verdict a pick, in the frozen order; `table` holds fresh draws on confirm tasks.

    `eps` is the margin in accuracy, `alpha` one-sided; `cap_usd` the most one trial may cost;
    `vetoed` the picks that lose to the initial harness on probes, for which the referee may claim
    nothing.
    Under 200 tasks the picks are tested in order at full alpha, and the first that is not accepted
    ends the testing; from 200 on Holm's correction. Nobody is accepted without both "not worse" and
    the declared claim; `reject` needs a loss beyond eps shown by a trusted referee.
    """
    base = table.get(baseline_id, {})
    gathered = [
        gather(
            pick,
            table.get(pick.candidate_id, {}),
            base,
            cap_usd=cap_usd,
            vetoed=pick.candidate_id in vetoed,
        )
        for pick in picks_in_order
    ]
    p_values = [
        max(min(_p_not_worse(seen, referee, eps=eps).values()), _p_claim(seen, referee))
        for seen in gathered
    ]
    small = min((seen.votes.n for seen in gathered), default=0) < FIXED_ORDER_BELOW
    decisions = (_in_order if small else _holm)(p_values, alpha)
    return tuple(
        _verdict(seen, decision, referee, eps=eps, base_disagreement=base_disagreement)
        for seen, decision in zip(gathered, decisions, strict=True)
    )


def _in_order(p_values: Sequence[float], alpha: float) -> list[_Decision]:
    decisions: list[_Decision] = []
    open_ = True
    for p in p_values:
        decisions.append(_Decision(alpha=alpha, tested=open_, accepted=open_ and p <= alpha))
        open_ = open_ and p <= alpha
    return decisions


def _holm(p_values: Sequence[float], alpha: float) -> list[_Decision]:
    """The smallest p against alpha / m, the next against alpha / (m - 1), until one fails."""
    m, open_ = len(p_values), True
    found: dict[int, _Decision] = {}
    step = alpha / m if m else alpha
    for rank, index in enumerate(sorted(range(m), key=p_values.__getitem__)):
        step = alpha / (m - rank) if open_ else step
        open_ = open_ and p_values[index] <= step
        found[index] = _Decision(alpha=step, tested=True, accepted=open_)
    return [found[index] for index in range(m)]


def _verdict(
    seen: Evidence,
    decision: _Decision,
    referee: Referee,
    *,
    eps: float,
    base_disagreement: float | None,
) -> Verdict:
    votes, costs, alpha = seen.votes, seen.costs, decision.alpha
    routes = _p_not_worse(seen, referee, eps=eps)
    shown = [route for route, p in routes.items() if p <= alpha]
    kind = _kind(seen, decision, referee, eps=eps)
    verdict = Verdict(
        candidate_id=seen.pick.candidate_id,
        kind=kind,
        claim=seen.pick.claim,
        route=shown[0] if shown else "none",
        n=votes.n,
        n_changed=votes.changed,
        changed_upper=agreement_upper(votes.changed, votes.n),
        base_disagreement=base_disagreement,
        cost_ratio=costs.ratio(alpha) if costs else None,
        log_cost_ratio=costs.typical.bounds(alpha) if costs else None,
        cheaper_up_to_usd=costs.holds_to_usd(alpha) if costs else None,
        cheaper=costs is not None and costs.p_cheaper() <= alpha,
        not_worse=bool(shown),
        smallest_margin=min(
            agreement_upper(votes.changed, votes.n, alpha=alpha),
            1.0 if seen.vetoed else smallest_margin(referee, votes, alpha=alpha),
        ),
        vetoed=seen.vetoed,
        n_worse=votes.worse,
        n_better=votes.better,
        loss_upper=_loss_upper(seen, referee, alpha=alpha),
        tipping_hit_rate=(
            tipping_hit_rate(referee, votes, eps=eps, alpha=alpha)
            if kind == "accept" and shown[0] == "referee"
            else None
        ),
        n_more_tasks=_n_more(seen, eps=eps, alpha=alpha) if kind == "inconclusive" else 0,
        reason="",
    )
    reason = _reason(verdict, referee, tested=decision.tested, eps=eps)
    return verdict.model_copy(update={"reason": reason})


def _loss_upper(seen: Evidence, referee: Referee, *, alpha: float) -> float:
    """The bound on the loss, by the route that bounds it lower."""
    agreed = agreement_upper(seen.votes.changed, seen.votes.n, alpha=alpha)
    return agreed if seen.vetoed else min(agreed, loss_upper(referee, seen.votes, alpha=alpha))


def _kind(seen: Evidence, decision: _Decision, referee: Referee, *, eps: float) -> VerdictKind:
    if decision.accepted:
        return "accept"
    lost = p_loss_beyond(referee, seen.votes, eps=eps) <= decision.alpha
    return "reject" if decision.tested and lost else "inconclusive"


def _n_more(seen: Evidence, *, eps: float, alpha: float) -> int | None:
    """How many more tasks would decide if answers and costs go on as seen; None where none would."""
    votes = seen.votes
    share = votes.changed / votes.n if votes.n else 0.0
    more = [tasks_needed(votes.changed, votes.n, changed_share=share, eps=eps, alpha=alpha)]
    if seen.pick.claim == "cost" and seen.costs is not None:
        more.append(seen.costs.tasks_needed(alpha))
    known = [number for number in more if number is not None]
    return max(known) if len(known) == len(more) else None


# --- in words ----------------------------------------------------------------------------------


def _reason(verdict: Verdict, referee: Referee, *, tested: bool, eps: float) -> str:
    """What was found, and what stands in the way where something does."""
    found = (
        f"{verdict.n_changed} of {verdict.n} answers changed, so accuracy cannot have moved by more "
        f"than {100 * verdict.changed_upper:.1f} points"
    )
    if verdict.kind == "accept":
        gain_ = "and it is cheaper" if verdict.claim == "cost" else "and it is better"
        return f"{found}; not worse by more than {100 * eps:g} points, {gain_}"
    if verdict.kind == "reject":
        return f"{found}; the referee sees a loss of more than {100 * eps:g} points"
    hurdles = _hurdles(verdict, referee, tested=tested, eps=eps)
    return "; ".join([found, *hurdles, _advice(verdict)])


def _hurdles(verdict: Verdict, referee: Referee, *, tested: bool, eps: float) -> list[str]:
    hurdles = []
    if not verdict.not_worse:
        hurdles.append(f"the margin is {100 * eps:g} points")
        if verdict.vetoed:
            hurdles.append(
                "it loses to the initial harness on probes, so the referee claims nothing"
            )
        elif not referee.trusted:
            hurdles.append(f"the referee is not trusted ({referee.reason})")
    if verdict.claim == "cost" and not verdict.cheaper:
        hurdles.append("it is not shown to be cheaper, in the typical task and on the bill")
    if not tested:
        hurdles.append("an earlier pick was not accepted, which ends the testing")
    return hurdles


def _advice(verdict: Verdict) -> str:
    if verdict.n_more_tasks is None:
        return "at this rate no number of tasks decides without a trusted referee"
    if verdict.n_more_tasks == 0:
        return "the numbers would do in a test of its own"
    return f"about {verdict.n_more_tasks} more tasks would decide"
