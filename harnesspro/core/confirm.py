"""The one strict test, after the last round: picks against the initial harness on fresh tasks.

Two ways to show "not worse": few answers changed (no judge needed), or a trusted referee. Nothing
here may be loosened without redoing its simulated error rates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harnesspro.core.evidence import (
    Claim,
    Evidence,
    Route,
    bound_on_loss,
    gather,
    margin_supported,
    more_tasks,
    p_accept,
    p_not_worse,
)
from harnesspro.core.front import COST_EPSILON, SURE, JointLaw, best, knee, p_cheaper
from harnesspro.core.margins import tipping_hit_rate
from harnesspro.core.power import chance_by_agreement, chance_by_referee
from harnesspro.core.reasons import in_words
from harnesspro.core.records import Referee, Verdict, VerdictKind
from harnesspro.core.referee import p_loss_beyond
from harnesspro.core.stats import agreement_upper
from harnesspro.core.table import Table

MOST_PICKS = 3
FIXED_ORDER_BELOW = 200
"""Under this many tasks the frozen order protects; from here on Holm does."""


@dataclass(frozen=True, slots=True)
class Pick:
    """One harness to confirm, and what is claimed of it. Their order is part of the test."""

    candidate_id: str
    claim: Claim
    why: str
    route: Route = "agreement"
    """How "not worse" is to be shown."""


# --- before confirm opens ----------------------------------------------------------------------


def freeze_picks(
    joint: JointLaw,
    *,
    candidate_ids: Sequence[str],
    front: Sequence[str],
    max_picks: int,
    keeping: frozenset[str] = frozenset(),
    measured: frozenset[str] = frozenset(),
    n_confirm: int = 0,
    eps: float = 0.05,
) -> tuple[Pick, ...]:
    """At most `max_picks` picks among `candidate_ids`, in the order they will be tested.

    First the fewest answers changed, among those at least 5 % cheaper with probability 0.9 (of
    equals one in `keeping`, whose changes keep every answer by construction, then the cheaper);
    then the knee; then the best. Success is claimed only of a candidate that is not cheaper and
    that a trusted referee prefers with probability 0.9.

    With each pick its one route on `n_confirm` tasks at the margin `eps` is declared. The referee's is
    open to those in `measured` alone: who answered no probes may be a pick, for few changed answers
    need no judge.
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
        claim = _claim(joint, key, measured) if key is not None else None
        if key is not None and claim is not None and key not in found:
            alone = key in keeping or key not in measured
            route = "agreement" if alone else _route(joint, key, claim, n=n_confirm, eps=eps)
            found[key] = Pick(candidate_id=key, claim=claim, why=why, route=route)
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


def _claim(joint: JointLaw, candidate_id: str, measured: frozenset[str]) -> Claim | None:
    if _looks_cheaper(joint, candidate_id):
        return "cost"
    if not joint.trusted or candidate_id not in measured:
        return None
    better = joint.score[1:, joint.at(candidate_id)] > joint.score[1:, 0]
    return "success" if float(better.mean()) >= SURE else None


def _route(joint: JointLaw, candidate_id: str, claim: Claim, *, n: int, eps: float) -> Route:
    """The route with the better chance, were it no worse: by how many answers it changed so far."""
    if not joint.trusted:
        return "agreement"
    if claim == "success":
        return "referee"
    seen = joint.counts[joint.at(candidate_id)]
    agreed = chance_by_agreement(n, eps=eps, changed=seen.changed, seen=seen.n)
    share = (seen.changed + 0.5) / (seen.n + 1)
    return "agreement" if agreed >= chance_by_referee(n, eps=eps, changed=share) else "referee"


# --- the verdicts ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Decision:
    """What one pick was tested at and how it came out."""

    alpha: float
    tested: bool
    accepted: bool


@dataclass(frozen=True, slots=True)
class _Test:
    """What was declared beforehand and holds for every pick."""

    eps: float
    referee: Referee
    base_disagreement: float | None
    cap_usd: float | None


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
    `vetoed` the picks for which the referee may claim nothing: on probes they lose to the initial
    harness, or were not measured.
    Under 200 tasks the picks are tested in order at full alpha, and the first that is not accepted
    ends the testing; from 200 on Holm's correction. Nobody is accepted without both "not worse" and
    the declared claim; `reject` needs a loss beyond eps shown by a trusted referee.
    """
    base = table.get(baseline_id, {})
    gathered = [
        gather(
            pick.candidate_id,
            table.get(pick.candidate_id, {}),
            base,
            claim=pick.claim,
            route=pick.route,
            cap_usd=cap_usd,
            vetoed=pick.candidate_id in vetoed,
        )
        for pick in picks_in_order
    ]
    p_values = [p_accept(seen, referee, eps=eps) for seen in gathered]
    small = min((seen.votes.n for seen in gathered), default=0) < FIXED_ORDER_BELOW
    decisions = (_in_order if small else _holm)(p_values, alpha)
    test = _Test(eps, referee, base_disagreement, cap_usd)
    return tuple(
        _verdict(seen, decision, test) for seen, decision in zip(gathered, decisions, strict=True)
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


def _verdict(seen: Evidence, decision: _Decision, test: _Test) -> Verdict:
    votes, costs, alpha = seen.votes, seen.costs, decision.alpha
    shown = p_not_worse(seen, test.referee, eps=test.eps) <= alpha
    kind = _kind(seen, decision, test)
    by_referee = kind == "accept" and seen.by_referee
    verdict = Verdict(
        candidate_id=seen.candidate_id,
        kind=kind,
        claim=seen.claim,
        route=seen.route if shown else "none",
        declared_route=seen.route,
        n=votes.n,
        n_changed=votes.changed,
        n_worse=votes.worse,
        n_better=votes.better,
        changed_upper=agreement_upper(votes.changed, votes.n),
        base_disagreement=test.base_disagreement,
        cost_ratio=costs.ratio(alpha) if costs else None,
        log_cost_ratio=costs.typical.bounds(alpha) if costs else None,
        cheaper=costs is not None and costs.p_cheaper() <= alpha,
        cheaper_up_to_usd=costs.holds_to_usd(alpha) if costs else None,
        not_worse=shown,
        vetoed=seen.vetoed,
        smallest_margin=margin_supported(seen, test.referee, alpha=alpha),
        loss_upper=bound_on_loss(seen, test.referee, alpha=alpha),
        tipping_hit_rate=(
            tipping_hit_rate(test.referee, votes, eps=test.eps, alpha=alpha) if by_referee else None
        ),
        n_more_tasks=(
            more_tasks(seen, test.referee, eps=test.eps, alpha=alpha)
            if kind == "inconclusive"
            else 0
        ),
        reason="",
    )
    reason = in_words(
        verdict, test.referee, tested=decision.tested, eps=test.eps, cap_usd=test.cap_usd
    )
    return verdict.model_copy(update={"reason": reason})


def _kind(seen: Evidence, decision: _Decision, test: _Test) -> VerdictKind:
    if decision.accepted:
        return "accept"
    lost = p_loss_beyond(test.referee, seen.votes, eps=test.eps) <= decision.alpha
    return "reject" if decision.tested and lost else "inconclusive"
