from dataclasses import replace

import numpy as np
import pytest

from harnesspro.core.documents import Picks, Point
from harnesspro.core.front import Counts, JointLaw, estimates, law, p_on_front
from harnesspro.core.records import Estimate
from harnesspro.core.report import (
    beats,
    front_points,
    lineage,
    named_picks,
    point,
    whole_summary,
)
from tests.unit.core.charts import (
    BASE_COST,
    N,
    a_candidate,
    a_chart,
    a_law,
    a_verdict,
    rows,
)


def ids(points):
    return [one.candidate_id for one in points]


# --- what beats --------------------------------------------------------------------------------


def test_the_harness_as_it_came_beats_nothing():
    assert not beats(a_chart(a_law(half=rows(0.5)), "half"), "base")


@pytest.mark.parametrize(
    ("verdict", "beaten"),
    [
        (a_verdict("half", "accept"), True),
        (a_verdict("half", "accept", claim="success", cheaper=False), True),
        (a_verdict("half", "reject"), False),
        (a_verdict("half", "inconclusive"), True),
        (a_verdict("half", "inconclusive", cheaper=False), False),
        (a_verdict("half", "inconclusive", claim="success"), False),
    ],
)
def test_what_was_judged_counts_as_the_verdict_says(verdict, beaten):
    assert beats(a_chart(a_law(half=rows(0.5)), "half", verdicts=(verdict,)), "half") is beaten


def test_what_was_not_judged_must_be_surely_cheaper_and_no_worse_than_chance_makes_it():
    good = a_law(v=rows(0.5, changed=2, merit=1.0))
    bad = a_law(v=rows(0.5, changed=20, merit=0.0))
    same = a_law(v=rows(1.0))

    assert beats(a_chart(good, "v"), "v")
    assert not beats(a_chart(bad, "v"), "v")
    assert not beats(a_chart(same, "v"), "v")


def test_how_sure_is_sure_grows_with_how_many_were_compared():
    assert beats(a_chart(_cheaper_in(97, n_compared=1), "v"), "v")
    assert not beats(a_chart(_cheaper_in(97, n_compared=3), "v"), "v")
    assert beats(a_chart(_cheaper_in(99, n_compared=3), "v"), "v")


def _cheaper_in(n, *, n_compared):
    """A law of 100 worlds in which `v` is the cheaper one in n."""
    ones = np.ones((101, 2))
    cost = ones.copy()
    cost[:, 1] = [0.9, *[0.9] * n, *[1.1] * (100 - n)]
    counts = (Counts(N, 0, 0, 0),) * 2
    return JointLaw(
        ("base", "v"), "base", ones, cost, ones, ones, counts, n_compared=n_compared, trusted=False
    )


# --- the front ---------------------------------------------------------------------------------


def test_the_front_stands_cheapest_first():
    chart = a_chart(a_law(half=rows(0.5), third=rows(1 / 3, changed=6)), "half", "third")
    assert ids(front_points(chart)) == ["third", "half"]


def test_a_rejected_point_leaves_the_front_and_an_accepted_one_stays():
    # `half` beats `slow` on every axis, so the race alone would not keep `slow`.
    search = a_law(half=rows(0.5), slow=rows(0.7, changed=1))
    chart = a_chart(search, "half", "slow")
    judged = replace(chart, verdicts=(a_verdict("half", "reject"), a_verdict("slow")))
    unclear = replace(chart, verdicts=(a_verdict("half", "inconclusive"), a_verdict("slow")))

    assert ids(front_points(chart)) == ["half"]
    assert ids(front_points(judged)) == ["slow"]
    assert ids(front_points(unclear)) == ["half", "slow"]


def test_where_every_point_is_rejected_the_harness_as_it_came_is_the_front():
    chart = a_chart(a_law(half=rows(0.5)), "half", verdicts=(a_verdict("half", "reject"),))
    assert ids(front_points(chart)) == ["base"]


def test_of_equals_the_simplest_stands():
    search = a_law(plain=rows(0.5), odd=rows(0.5))
    simple = a_chart(search, "plain", "odd", complexity={"plain": 1, "odd": 4})
    other = a_chart(search, "plain", "odd", complexity={"plain": 4, "odd": 1})

    assert ids(front_points(simple)) == ["plain"]
    assert ids(front_points(other)) == ["odd"]


def test_the_safe_pick_is_the_cheapest_accepted_and_else_the_harness_as_it_came():
    search = a_law(half=rows(0.5), third=rows(1 / 3, changed=1), fifth=rows(0.2, changed=9))
    chart = a_chart(search, "half", "third", "fifth")
    accepted = replace(chart, verdicts=(a_verdict("half"), a_verdict("third")))
    front = front_points(accepted)

    assert named_picks(chart, front_points(chart)).cheapest_safe == "base"
    assert named_picks(accepted, front) == Picks(knee="fifth", cheapest_safe="third", best="fifth")


# --- a point -----------------------------------------------------------------------------------


def test_a_point_shows_confirm_numbers_where_there_are_any():
    search, confirm = a_law(half=rows(0.5)), a_law(n=40, half=rows(0.6, n=40))
    chart = a_chart(search, "half", confirm=confirm, verdicts=(a_verdict("half"),))
    found = estimates(confirm, "half")

    assert point(chart, "half") == Point(
        candidate_id="half",
        parent_id="base",
        generation=1,
        summary="ask once",
        proposer="operator:x",
        verdict="accept",
        stamp="confirmed",
        score=found.score,
        answers_changed=found.answers_changed,
        cost_usd_per_task=found.cost_usd_per_task,
        cost_ratio=confirm.place("half").cost_usd / confirm.place("base").cost_usd,
        latency_s=found.latency_s,
        accuracy=None,
        p_on_front=p_on_front(search)["half"],
        isolation="S3",
    )
    assert point(chart, "half").cost_usd_per_task.mean == pytest.approx(0.6 * BASE_COST)


def test_a_point_is_stamped_by_how_it_was_measured():
    accuracy = Estimate(mean=0.8, low=0.7, high=0.9, n=64)
    search = a_law(a=rows(0.5), b=rows(0.6), c=rows(0.7))
    chart = a_chart(
        search, "a", "b", "c", confirm=a_law(a=rows(0.5), b=rows(0.6)), accuracy={"a": accuracy}
    )

    assert [point(chart, name).stamp for name in "abc"] == ["sealed", "confirmed", "observed"]
    assert point(chart, "a").accuracy == accuracy
    assert point(chart, "base").answers_changed is None


def test_a_summary_tells_the_whole_way_from_the_harness_as_it_came():
    first = a_candidate("a", summary="ask once.")
    second = a_candidate("b", parent="a", summary="ask less")
    chart = a_chart(a_law(b=rows(0.5)), first, second)

    assert lineage(chart.known, "b") == (first, second)
    assert lineage(chart.known, "base") == ()
    assert whole_summary(chart.known, "b") == "ask once; then ask less"
    assert whole_summary(chart.known, "base") == "the harness as it came"


def test_a_point_is_compared_with_the_original_on_the_very_tasks_it_ran_on():
    dearer = law({"base": rows(2.0), "a": rows(1.0)}, "base", seed=1, n_boot=200)
    chart = a_chart(a_law(a=rows(0.5), b=rows(0.75)), "a", "b", confirm=dearer)
    ratios = [point(chart, key).cost_ratio for key in ("base", "a", "b")]
    assert ratios == [None, pytest.approx(0.5), pytest.approx(0.75)]
