"""What a user with so many tasks is told: the product's own sentences on simulated runs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from harnesspro.core.advice import advice
from harnesspro.core.confirm import Pick, judge
from harnesspro.core.evidence import Route
from harnesspro.core.power import what_n_can_show
from harnesspro.core.records import Referee, Task, Verdict
from harnesspro.core.splits import split
from harnesspro.core.stats import power_of
from tests.sim.sheets import Sheet
from tests.sim.worlds import EPS, NOBODY, Change, Eye, Variant, answer_table, referee_of

USER_HAS = (30, 60, 200, 600)
EYE = Eye(0.85)
GOOD = referee_of(100, 5, 5, n_losses=50)
"""Right on 90 of 100 pairs."""
PICKS = {
    "changes nothing, 40 % cheaper": Variant(Change(), 0.6),
    "changes 1 %, half the cost": Variant(Change(0.005, 0.005), 0.5),
    "loses 2 %, gains 6 %, 60 % of the cost": Variant(Change(0.02, 0.06), 0.6),
    "20 points worse, a fifth of the cost": Variant(Change(0.20), 0.2),
}


def told_sheet() -> Sheet:
    """One row a sentence."""
    rows = [row for n in USER_HAS for row in told(n)]
    return Sheet(
        "What a user is told",
        "Real output of the splits, the power, the verdicts' reasons and the advice, eps 5; each pick is "
        "judged in a test of its own on simulated confirm tasks (seed: number of tasks), without a referee "
        "and with one that was right on 90 of 100 probe pairs and is right on 85 % of the tasks.",
        ("tasks", "what", "words"),
        tuple(rows),
    )


def told(n: int) -> Iterator[tuple[str, str, str]]:
    """All that so many tasks lead to."""
    tasks = [Task(task_id=f"t{k}", input=f"question {_word(k)}") for k in range(n)]
    sides = split(tasks, split_key="told")
    n_confirm = len(sides.confirm)
    yield str(n), "split", f"{len(sides.search)} search, {n_confirm} confirm"
    yield str(n), "power", _power(len(sides.search), n_confirm)
    for kind, referee, eye in (("no referee", NOBODY, None), ("good referee", GOOD, EYE)):
        for name, variant in PICKS.items():
            verdict = _verdict(n, n_confirm, variant, referee, eye)
            yield str(n), f"{kind}; {name}", f"**{verdict.kind}** {verdict.reason}"
    verdict = _verdict(n, n_confirm, PICKS["loses 2 %, gains 6 %, 60 % of the cost"], NOBODY, None)
    lines = advice(NOBODY, n_confirm, has_user_checks=False, channels=(), verdicts=[verdict])
    yield from ((str(n), "advice", line) for line in lines)


def _word(k: int) -> str:
    """Letters, since tasks that differ in digits alone are near-duplicates."""
    return "".join(chr(97 + k // 26**i % 26) for i in range(3))


def _power(n_search: int, n_confirm: int) -> str:
    power, reach = (
        power_of(n_search=n_search, n_confirm=n_confirm),
        what_n_can_show(n_confirm, eps=EPS),
    )
    gain = 100 * (power.min_detectable_gain or 0)
    bound = 100 * (power.agreement_bound_at_zero or 0)
    most = "none" if reach.most_changed is None else f"{reach.most_changed}"
    return (
        f"minimum detectable gain {gain:.1f} points; bound at no change {bound:.1f} points; most changed "
        f"answers that agreement lets pass: {most}; chance of a harmless 5 % change by a good referee "
        f"{reach.chance_by_referee:.2f}"
    )


def _verdict(
    seed: int, n_confirm: int, variant: Variant, referee: Referee, eye: Eye | None
) -> Verdict:
    table = answer_table(np.random.default_rng(seed), n_confirm, {"v": variant}, eye=eye)
    pick = Pick("v", "cost", "knee", route=_route(variant, referee))
    (verdict,) = judge([pick], table, "base", eps=EPS, referee=referee, base_disagreement=None)
    return verdict


def _route(variant: Variant, referee: Referee) -> Route:
    """What changes few answers needs no judge; the rest takes the referee where it is trusted."""
    few = variant.change.changed <= 0.02
    return "agreement" if few or not referee.trusted else "referee"
