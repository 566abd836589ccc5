import math
from dataclasses import replace

import pytest

from harnesspro.core.confirm import Pick, freeze_picks, judge
from harnesspro.core.front import front_ids, law
from harnesspro.core.margins import p_within
from harnesspro.core.money import format_usd
from harnesspro.core.records import Calibration, Check, Estimate, Referee
from harnesspro.core.referee import Votes, freeze
from harnesspro.core.stats import agreement_upper
from harnesspro.core.table import Row

NOBODY = freeze([])
TRUSTED = Referee(
    checks=(Check(check_id="c", family="property", name="c", writer="schema", admitted=True),),
    weights={"c": 1.0},
    calibration=Calibration(
        n_probes=400,
        n_discordant=160,
        hit_rate=Estimate(mean=0.95, low=0.9, high=0.98, n=150),
        tilt=Estimate(mean=0.0, low=-0.05, high=0.05, n=150),
        n_ties=0,
    ),
    trusted=True,
)


def rows(n, cost=1.0, changed=0, merit=1.0, start=0):
    return {
        f"t{i:04d}": Row(
            task_id=f"t{i:04d}",
            cluster=f"new-{cost}" if i < start + changed else "same",
            answered=True,
            merit=merit if i < start + changed else 0.5,
            cost_usd=cost * (1 + 0.05 * (i % 7)),
            latency_s=1.0,
        )
        for i in range(start, start + n)
    }


def pick(key, claim="cost", route="agreement"):
    return Pick(candidate_id=key, claim=claim, why="knee", route=route)


def verdicts(
    n,
    referee=NOBODY,
    claim="cost",
    base_disagreement=0.1,
    vetoed=frozenset(),
    route=None,
    **candidates,
):
    table = {"base": rows(n), **{key: rows(n, **value) for key, value in candidates.items()}}
    return judge(
        [
            pick(key, claim, route or ("referee" if referee.trusted else "agreement"))
            for key in candidates
        ],
        table,
        "base",
        eps=0.05,
        referee=referee,
        base_disagreement=base_disagreement,
        vetoed=vetoed,
    )


@pytest.mark.parametrize(
    ("n", "most"), [(40, None), (64, 0), (80, 0), (134, 2), (300, 8), (500, 16)]
)
def test_most_changed_answers_that_still_pass(n, most):
    accepted = [
        changed
        for changed in range(20)
        if verdicts(n, v={"cost": 0.5, "changed": changed})[0].kind == "accept"
    ]

    assert (max(accepted) if accepted else None) == most


def test_an_accepted_saving_carries_all_its_numbers():
    (found,) = verdicts(100, v={"cost": 0.5, "changed": 1})

    assert found.model_dump(exclude={"cost_ratio", "log_cost_ratio", "cheaper_up_to_usd"}) == {
        "candidate_id": "v",
        "kind": "accept",
        "claim": "cost",
        "route": "agreement",
        "declared_route": "agreement",
        "n": 100,
        "n_changed": 1,
        "changed_upper": agreement_upper(1, 100),
        "base_disagreement": 0.1,
        "cheaper": True,
        "not_worse": True,
        "smallest_margin": agreement_upper(1, 100),
        "n_more_tasks": 0,
        "vetoed": False,
        "n_worse": 0,
        "n_better": 1,
        "loss_upper": agreement_upper(1, 100),
        "tipping_hit_rate": None,
        "reason": "1 of 100 answers changed, so accuracy cannot have moved by more than 4.7 points; "
        f"not worse by more than 5 points, and it is cheaper as long as no trial costs more than "
        f"{format_usd(found.cheaper_up_to_usd)}",
    }
    assert found.cheaper_up_to_usd > 2 * 1.3
    assert found.cost_ratio is not None
    assert found.log_cost_ratio is not None
    assert found.cost_ratio.mean == pytest.approx(0.5)
    assert found.log_cost_ratio.mean == pytest.approx(math.log(0.5))
    assert found.cost_ratio.high < 1


def test_too_few_tasks_are_inconclusive_and_say_how_many_more():
    (found,) = verdicts(40, v={"cost": 0.5})

    assert (found.kind, found.n_more_tasks) == ("inconclusive", 19)
    assert found.reason == (
        "0 of 40 answers changed, so accuracy cannot have moved by more than 7.2 points; the margin "
        "is 5 points; the referee is not trusted (no check was admitted and no independent model "
        "votes, so it can say nothing); about 19 more tasks would decide"
    )


def test_too_many_changed_answers_are_no_rejection_without_a_trusted_referee():
    (found,) = verdicts(100, v={"cost": 0.2, "changed": 40, "merit": 0.0})

    assert (found.kind, found.n_more_tasks) == ("inconclusive", None)
    assert found.reason.endswith("no number of tasks decides without a trusted referee")


def test_no_worse_but_not_cheaper_is_not_accepted():
    (found,) = verdicts(100, v={"cost": 1.0})

    assert (found.kind, found.not_worse, found.cheaper) == ("inconclusive", True, False)


def test_cheap_in_the_typical_task_but_dear_on_the_bill_is_not_cheaper():
    table = {"base": rows(100), "v": rows(100, cost=0.4)}
    for i in range(0, 100, 12):
        key = f"t{i:04d}"
        table["v"][key] = Row(key, "same", True, 0.5, 9.0, 1.0)

    def judged(cap):
        return judge(
            [pick("v")],
            table,
            "base",
            eps=0.05,
            referee=NOBODY,
            base_disagreement=None,
            cap_usd=cap,
        )[0]

    free, capped = judged(None), judged(1.5)

    assert free.log_cost_ratio is not None
    assert free.log_cost_ratio.high < 0
    assert (free.cheaper, capped.cheaper) == (False, True)


def test_under_200_tasks_the_first_that_fails_ends_the_testing():
    found = verdicts(100, a={"cost": 0.5, "changed": 9}, b={"cost": 0.4})

    assert [verdict.kind for verdict in found] == ["inconclusive", "inconclusive"]
    assert found[1].not_worse
    assert found[1].cheaper
    assert found[1].reason.endswith(
        "an earlier pick was not accepted, which ends the testing; "
        "the numbers would do in a test of its own"
    )


def test_from_200_tasks_on_order_does_not_matter_but_the_number_of_picks_does():
    found = verdicts(300, a={"cost": 0.5, "changed": 60}, b={"cost": 0.4, "changed": 6})
    alone = verdicts(300, b={"cost": 0.4, "changed": 8})
    among = verdicts(300, a={"cost": 0.5, "changed": 60}, b={"cost": 0.4, "changed": 8})

    assert [verdict.kind for verdict in found] == ["inconclusive", "accept"]
    assert [alone[0].kind, among[1].kind] == ["accept", "inconclusive"]


def a_mixed_pick(n, worse, better, cost=0.5):
    """So many tasks, of which the first answers are worse and the next are better."""
    found = rows(n, cost=cost, changed=worse + better, merit=0.9)
    for i in range(worse):
        key = f"t{i:04d}"
        found[key] = replace(found[key], merit=0.1)
    return found


def judged(n, claim="cost", **of_pick):
    table = {"base": rows(n), "v": a_mixed_pick(n, **of_pick)}
    (found,) = judge(
        [pick("v", claim, "referee")],
        table,
        "base",
        eps=0.05,
        referee=TRUSTED,
        base_disagreement=None,
    )
    return found


@pytest.mark.parametrize(
    ("claim", "n", "worse", "better", "kind"),
    [
        ("cost", 100, 4, 5, "accept"),
        ("cost", 60, 7, 1, "reject"),
        ("success", 100, 3, 6, "accept"),
    ],
)
def test_as_many_more_tasks_as_are_said_do_decide(claim, n, worse, better, kind):
    now = judged(n, claim, worse=worse, better=better)
    times = math.ceil((n + now.n_more_tasks) / n)
    then = judged(times * n, claim, worse=times * worse, better=times * better)

    assert (now.kind, then.kind) == ("inconclusive", kind)
    assert now.n_more_tasks > 0


def test_what_a_referee_leaves_open_is_said_with_its_verdicts():
    found = judged(100, worse=5, better=6)

    assert "the referee does not exclude such a loss (5 answers worse, 6 better)" in found.reason
    assert found.reason.endswith(f"about {found.n_more_tasks} more tasks would decide")


def test_a_cap_on_trials_that_the_saving_reaches_needs_no_saying():
    def said(cap):
        table = {"base": rows(100), "v": rows(100, cost=0.2)}
        return judge(
            [pick("v")],
            table,
            "base",
            eps=0.05,
            referee=NOBODY,
            base_disagreement=None,
            cap_usd=cap,
        )[0].reason.rpartition(", ")[2]

    assert said(3.0) == "and it is cheaper"
    assert said(1000.0).startswith("and it is cheaper as long as no trial costs more than $")


def test_absent_rows_are_left_out_in_pairs():
    table = {"base": rows(90), "v": rows(90, cost=0.5, start=10)}
    (found,) = judge([pick("v")], table, "base", eps=0.05, referee=NOBODY, base_disagreement=None)

    assert (found.n, found.n_changed, found.kind) == (80, 0, "accept")


def test_nothing_measured_is_inconclusive():
    (found,) = judge([pick("v")], {}, "base", eps=0.05, referee=NOBODY, base_disagreement=None)

    assert (found.kind, found.n, found.changed_upper, found.cost_ratio) == (
        "inconclusive",
        0,
        1.0,
        None,
    )


def test_no_picks_no_verdicts():
    assert verdicts(100) == ()


def test_a_trusted_referee_can_carry_what_agreement_cannot():
    (found,) = verdicts(500, TRUSTED, v={"cost": 0.5, "changed": 30, "merit": 1.0})

    assert (found.kind, found.route) == ("accept", "referee")
    assert (found.n_worse, found.n_better) == (0, 30)
    assert found.loss_upper - 1e-6 <= found.smallest_margin < found.changed_upper
    assert found.reason.startswith(
        "30 of 500 answers changed; by the referee (0 answers worse, 30 better) at most "
        f"{100 * found.loss_upper:.1f} points of accuracy are lost, as long as it is right on "
        f"{100 * found.tipping_hit_rate:.0f} % of them; not worse by more than 5 points, and it is cheaper"
    )


def test_the_tipping_hit_rate_is_where_the_verdict_falls():
    (found,) = verdicts(500, TRUSTED, v={"cost": 0.5, "changed": 30, "merit": 1.0})
    votes = Votes(n=500, changed=30, worse=0, better=30)

    def holds(hit_rate):
        return p_within(votes, hit_rate=hit_rate, tilt=0.10, eps=0.05) <= 0.05

    assert 0.5 < found.tipping_hit_rate < 0.9 - 0.10
    assert holds(found.tipping_hit_rate + 1e-6)
    assert not holds(found.tipping_hit_rate - 1e-6)


def test_a_trusted_referee_can_reject():
    (found,) = verdicts(300, TRUSTED, v={"cost": 0.5, "changed": 90, "merit": 0.0})

    assert (found.kind, found.reason.partition("; ")[2]) == (
        "reject",
        "the referee sees a loss of more than 5 points (90 answers worse, 0 better)",
    )


def test_for_a_vetoed_pick_the_referee_claims_nothing_and_agreement_still_may():
    many, few = {"cost": 0.5, "changed": 30, "merit": 1.0}, {"cost": 0.5, "changed": 2}
    veto = frozenset({"v"})

    (found,) = verdicts(500, TRUSTED, vetoed=veto, v=many)
    (better,) = verdicts(500, TRUSTED, claim="success", vetoed=veto, v=many)
    (agreed,) = verdicts(500, TRUSTED, vetoed=veto, route="agreement", v=few)

    assert (found.kind, found.route, found.vetoed) == ("inconclusive", "none", True)
    assert "the referee claims nothing for it: on probes it loses" in found.reason
    assert better.kind == "inconclusive"
    assert (agreed.kind, agreed.route) == ("accept", "agreement")


def test_better_is_claimed_by_a_trusted_referee_only():
    gained = {"cost": 1.2, "changed": 40, "merit": 1.0}

    assert verdicts(500, TRUSTED, claim="success", v=gained)[0].kind == "accept"
    assert verdicts(500, NOBODY, claim="success", v=gained)[0].kind == "inconclusive"


# --- the picks ---------------------------------------------------------------------------------


def frozen(
    trusted=False, max_picks=3, keeping=frozenset(), measured=None, n_confirm=134, **candidates
):
    table = {"base": rows(60), **{key: rows(60, **value) for key, value in candidates.items()}}
    joint = law(table, "base", seed=1, n_boot=300, trusted=trusted)
    return freeze_picks(
        joint,
        candidate_ids=tuple(candidates),
        front=front_ids(joint),
        max_picks=max_picks,
        keeping=keeping,
        measured=frozenset(candidates) if measured is None else measured,
        n_confirm=n_confirm,
    )


def test_the_most_careful_saving_goes_first_and_none_is_picked_twice():
    found = frozen(
        careful={"cost": 0.33, "changed": 3}, trap={"cost": 0.2, "changed": 25, "merit": 0.45}
    )

    assert [(one.candidate_id, one.claim, one.why) for one in found] == [
        ("careful", "cost", "fewest changed"),
        ("trap", "cost", "knee"),
    ] or [one.candidate_id for one in found] == ["careful"]
    assert found[0].why == "fewest changed"


def test_what_is_not_cheaper_is_no_pick_while_the_referee_is_not_trusted():
    assert frozen(v={"cost": 1.1, "changed": 20, "merit": 1.0}) == ()


def test_a_trusted_gain_is_picked_for_success():
    assert frozen(trusted=True, v={"cost": 1.1, "changed": 20, "merit": 1.0}) == (
        Pick("v", "success", "knee", "referee"),
    )


def test_one_route_is_declared_by_how_many_answers_were_seen_to_change():
    def route(trusted=True, **told):
        return frozen(trusted=trusted, v={"cost": 0.5, "changed": told.pop("changed")}, **told)[
            0
        ].route

    assert route(changed=0) == "agreement"
    assert route(changed=9) == "referee"
    assert route(changed=9, trusted=False) == "agreement"
    assert route(changed=9, measured=frozenset()) == "agreement"
    assert route(changed=9, keeping=frozenset({"v"})) == "agreement"


def test_a_route_that_was_not_declared_decides_nothing():
    many, few = {"cost": 0.5, "changed": 30, "merit": 1.0}, {"cost": 0.5, "changed": 0}

    (missed,) = verdicts(500, TRUSTED, route="agreement", v=many)
    assert (missed.kind, missed.route, missed.declared_route) == (
        "inconclusive",
        "none",
        "agreement",
    )
    assert "it was to be shown by agreement, since few answers had changed" in missed.reason
    assert verdicts(134, TRUSTED, route="agreement", v=few)[0].kind == "accept"


def test_no_more_picks_than_allowed():
    many = {f"v{i}": {"cost": 0.3 + 0.1 * i, "changed": 12 - 4 * i} for i in range(3)}

    assert len(frozen(max_picks=1, **many)) == 1


def test_of_savings_with_equally_few_changes_the_one_that_cannot_change_any_goes_first():
    both = {"exact": {"cost": 0.7, "changed": 0}, "lucky": {"cost": 0.6, "changed": 0}}

    assert frozen(**both)[0].candidate_id == "lucky"
    assert frozen(**both, keeping=frozenset({"exact"}))[0].candidate_id == "exact"


def test_who_is_not_among_the_candidates_is_no_pick_though_it_stands_on_the_front():
    table = {"base": rows(60), "v": rows(60, cost=0.3), "w": rows(60, cost=0.5)}
    joint = law(table, "base", seed=1, n_boot=300)
    found = freeze_picks(joint, candidate_ids=("w",), front=("v", "w"), max_picks=3)

    assert [one.candidate_id for one in found] == ["w"]
