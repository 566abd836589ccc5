"""A verdict in one plain sentence: what was found, and what stands in the way where something does."""

from __future__ import annotations

from harnesspro.core.money import format_usd
from harnesspro.core.records import Referee, Verdict


def in_words(
    verdict: Verdict, referee: Referee, *, tested: bool, eps: float, cap_usd: float | None
) -> str:
    """The reason of a verdict; `cap_usd` is what one trial may cost at most."""
    changed = f"{verdict.n_changed} of {verdict.n} answers changed"
    bound = f"so accuracy cannot have moved by more than {_points(verdict.changed_upper)} points"
    found = f"{changed}, {bound}"
    margin = f"{100 * eps:g} points"
    if verdict.kind == "reject":
        return f"{found}; the referee sees a loss of more than {margin} ({_votes(verdict)})"
    if verdict.kind == "accept":
        if verdict.route == "referee":
            found = f"{changed}; {_referee_says(verdict)}"
        return f"{found}; not worse by more than {margin}, {_claimed(verdict, cap_usd)}"
    hurdles = _hurdles(verdict, referee, tested=tested, margin=margin)
    return "; ".join([found, *hurdles, _advice(verdict, referee)])


def _points(share: float) -> str:
    return f"{100 * share:.1f}"


def _votes(verdict: Verdict) -> str:
    return f"{verdict.n_worse} answers worse, {verdict.n_better} better"


def _referee_says(verdict: Verdict) -> str:
    loss = 1.0 if verdict.loss_upper is None else verdict.loss_upper
    line = f"by the referee ({_votes(verdict)}) at most {_points(loss)} points of accuracy are lost"
    if verdict.tipping_hit_rate is None:
        return line
    return f"{line}, as long as it is right on {100 * verdict.tipping_hit_rate:.0f} % of them"


def _claimed(verdict: Verdict, cap_usd: float | None) -> str:
    if verdict.claim == "success":
        return f"and it is better ({_votes(verdict)})"
    limit = verdict.cheaper_up_to_usd
    if limit is None or (cap_usd is not None and limit >= cap_usd):
        return "and it is cheaper"
    return f"and it is cheaper as long as no trial costs more than {format_usd(limit)}"


def _hurdles(verdict: Verdict, referee: Referee, *, tested: bool, margin: str) -> list[str]:
    hurdles = []
    if not verdict.not_worse:
        hurdles += [f"the margin is {margin}", _why_no_referee(verdict, referee)]
    if verdict.claim == "cost" and not verdict.cheaper:
        hurdles.append("it is not shown to be cheaper, in the typical task and on the bill")
    if verdict.claim == "success" and referee.trusted and not verdict.vetoed and verdict.not_worse:
        hurdles.append(f"it is not shown to be better ({_votes(verdict)})")
    if not tested:
        hurdles.append("an earlier pick was not accepted, which ends the testing")
    return hurdles


def _why_no_referee(verdict: Verdict, referee: Referee) -> str:
    if not referee.trusted:
        return f"the referee is not trusted ({referee.reason})"
    if verdict.vetoed:
        return (
            "the referee claims nothing for it: on probes it loses to the initial harness, or was "
            "not measured"
        )
    if verdict.declared_route == "agreement":
        return "it was to be shown by agreement, since few answers had changed in the search"
    return f"the referee does not exclude such a loss ({_votes(verdict)})"


def _advice(verdict: Verdict, referee: Referee) -> str:
    if verdict.n_more_tasks is None:
        trusted = referee.trusted and not verdict.vetoed
        return "at this rate no number of tasks decides" + (
            "" if trusted else " without a trusted referee"
        )
    if verdict.n_more_tasks == 0:
        return "the numbers would do in a test of its own"
    return f"about {verdict.n_more_tasks} more tasks would decide"
