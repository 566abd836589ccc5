from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from harnesspro.core.front import Counts, JointLaw, estimates, law, p_on_front
from harnesspro.core.records import (
    Candidate,
    Estimate,
    Patch,
    Picks,
    Point,
    Refusal,
    Spend,
    Verdict,
)
from harnesspro.core.report import (
    Map,
    Story,
    beats,
    front_points,
    lineage,
    named_picks,
    point,
    whole_summary,
    words,
)
from harnesspro.core.table import Row
from tests.unit.builders import a_finding

N = 60
BASE_COST = 0.002


def rows(cost=1.0, *, changed=0, merit=1.0, n=N):
    """So many times the original's cost; the first `changed` answers differ and have this merit."""
    return {
        f"t{i:02d}": Row(
            task_id=f"t{i:02d}",
            cluster=f"new-{cost}" if i < changed else "same",
            answered=True,
            merit=merit if i < changed else 1.0,
            cost_usd=BASE_COST * cost,
            latency_s=cost,
        )
        for i in range(n)
    }


def a_law(*, n_compared=None, trusted=False, n=N, **candidates):
    table = {"base": rows(n=n), **candidates}
    return law(table, "base", seed=1, n_boot=200, n_compared=n_compared, trusted=trusted)


def a_candidate(name, *, parent="base", summary="ask once"):
    patch = Patch(
        parent_id=parent,
        knobs={"samples": 1},
        direction="cost",
        proposer="operator:x",
        summary=summary,
    )
    return Candidate(
        candidate_id=name,
        parent_id=parent,
        generation=1,
        round_index=0,
        patch=patch,
        summary=summary,
        proposer="operator:x",
    )


BASELINE = Candidate(
    candidate_id="base",
    parent_id=None,
    generation=0,
    round_index=-1,
    patch=None,
    summary="the harness as it came",
    proposer="user",
)


def a_chart(search, *others, **changes):
    """A map of these candidates; names alone make plain candidates."""
    made = [one if isinstance(one, Candidate) else a_candidate(one) for one in others]
    base: dict[str, Any] = {
        "known": {one.candidate_id: one for one in (BASELINE, *made)},
        "search": search,
        "confirm": None,
        "verdicts": (),
        "accuracy": {},
        "isolation": "S3",
        "complexity": {},
    }
    return Map(**(base | changes))


def a_verdict(name, kind="accept", **changes):
    base = {
        "candidate_id": name,
        "kind": kind,
        "claim": "cost",
        "route": "agreement",
        "n": 64,
        "n_changed": 0,
        "changed_upper": 0.0457,
        "base_disagreement": 0.1,
        "cost_ratio": Estimate(mean=0.5, low=0.482, high=0.519, n=64),
        "log_cost_ratio": None,
        "cheaper": True,
        "not_worse": True,
        "smallest_margin": 0.0457,
        "n_more_tasks": 0,
        "reason": "0 of 64 answers changed; not worse by more than 5 points, and it is cheaper",
    }
    return Verdict.model_validate(base | changes)


def a_story(**changes):
    base: dict[str, Any] = {
        "findings": (),
        "n_diagnosed_trials": 60,
        "diagnosed_usd": 0.12,
        "refusals": (),
        "dropped_ids": frozenset(),
        "spend": Spend(improver_usd=0.05, target_usd=0.45, paid_usd=0.0),
        "referee_reason": "no independent model votes.",
        "referee_trusted": False,
    }
    return Story(**(base | changes))


def said(chart, **changes):
    return words(chart, front_points(chart), a_story(**changes))


def ids(points):
    return [one.candidate_id for one in points]


# --- words -------------------------------------------------------------------------------------

NO_WASTE = "The detectors found no waste and no loss they could price."
NOT_TRUSTED = (
    "The referee is not trusted (no independent model votes), so this run claims cost and "
    "agreement only."
)
SPENT = "Spent $0.4500 on measuring and $0.0500 on thinking at list prices; $0 will be billed."


def test_a_run_that_found_nothing_says_so():
    assert said(a_chart(a_law())) == (
        "No change beat the harness as it came.",
        NO_WASTE,
        NOT_TRUSTED,
        SPENT,
    )


def test_a_run_with_an_accepted_pick_says_what_it_saves_and_when_it_has_paid_for_itself():
    half, third = rows(0.5), rows(1 / 3, changed=6)
    chart = a_chart(
        a_law(half=half, third=third),
        a_candidate("half"),
        a_candidate("third", summary="ask less."),
        confirm=a_law(n=64, half=rows(0.5, n=64)),
        verdicts=(a_verdict("half"),),
    )

    assert said(chart) == (
        "Accepted: 50 % cheaper; 0 of 64 answers changed, so no more than 4.6 points of accuracy "
        "can be lost.",
        "Accept: ask once: cost 0.50 times the original's [0.48, 0.52]. 0 of 64 answers changed; "
        "not worse by more than 5 points, and it is cheaper. The original disagrees with itself "
        "on 10%.",
        "Observed, best of 2: ask less: 67 % cheaper, 10% of answers changed on 60 search tasks.",
        NO_WASTE,
        NOT_TRUSTED,
        SPENT + " It has paid for itself after 500 tasks.",
    )


def test_a_run_that_only_observed_a_saving_does_not_call_it_accepted():
    verdict = a_verdict(
        "third",
        "inconclusive",
        n_changed=7,
        changed_upper=0.196,
        not_worse=False,
        route="none",
        base_disagreement=None,
        cost_ratio=Estimate(mean=0.333, low=0.32, high=0.35, n=64),
        n_more_tasks=180,
        reason="7 of 64 answers changed; the margin is 5 points; about 180 more tasks would decide",
    )
    confirm = a_law(n=64, third=rows(1 / 3, changed=7, n=64))
    chart = a_chart(
        a_law(third=rows(1 / 3, changed=6)), "third", confirm=confirm, verdicts=(verdict,)
    )

    assert said(chart) == (
        "Nothing was accepted. Observed: 67 % cheaper with 11% of answers changed; whether those "
        "answers are as good needs your checks, an independent model, or more tasks.",
        "Inconclusive: ask once: cost 0.33 times the original's [0.32, 0.35]. 7 of 64 answers "
        "changed; the margin is 5 points; about 180 more tasks would decide.",
        NO_WASTE,
        NOT_TRUSTED,
        SPENT,
    )


def test_the_headline_speaks_of_the_accepted_pick_that_saves_most():
    chart = a_chart(
        a_law(half=rows(0.5), fifth=rows(0.2, changed=1)),
        "half",
        "fifth",
        verdicts=(a_verdict("half"), a_verdict("fifth", n_changed=1, changed_upper=0.072)),
    )
    assert said(chart)[0] == (
        "Accepted: 80 % cheaper; 1 of 64 answers changed, so no more than 7.2 points of accuracy "
        "can be lost."
    )


def test_an_accepted_pick_that_only_the_referee_vouches_for_is_told_apart():
    verdict = a_verdict("half", route="referee", n_changed=9, changed_upper=0.23)
    chart = a_chart(a_law(half=rows(0.5, changed=9)), "half", verdicts=(verdict,))
    assert said(chart)[0] == (
        "Accepted: 50 % cheaper; 9 of 64 answers changed, so judged not worse by the referee."
    )


def test_a_point_that_costs_more_is_called_dearer():
    joint = a_law(trusted=True, dear=rows(1.2, changed=20, merit=1.0))
    joint.score[:, 1] += 0.3
    chart = a_chart(joint, "dear")

    assert ids(front_points(chart)) == ["base", "dear"]
    assert (
        "Observed, best of 1: ask once: 20 % dearer, 33% of answers changed on 60 search "
        in (said(chart)[1])
    )


def test_findings_are_priced_for_a_thousand_tasks_and_end_as_sentences():
    wasteful = a_finding("retry_waste", wasted=30_000_000).model_copy(
        update={"pattern": "retries seldom help...", "advice": "retry once."}
    )
    lost = a_finding("form_loss").model_copy(
        update={"advice": "constrain the reply", "lost_success": 0.25}
    )

    assert said(a_chart(a_law()), findings=(wasteful, lost))[1:3] == (
        "Found: retries seldom help ($0.5000 per 1,000 tasks, 25% of the spend). retry once.",
        "Found: pattern of form_loss. constrain the reply. It lost 25% of trials.",
    )


def test_at_most_five_findings_are_told():
    findings = tuple(a_finding(f"d{i}", wasted=1) for i in range(7))
    told = [line for line in said(a_chart(a_law()), findings=findings) if line[:5] == "Found"]
    assert [line.split()[3] for line in told] == ["d0", "d1", "d2", "d3", "d4"]


def test_only_what_a_race_dropped_was_tried_in_vain():
    never_raced = a_candidate("late", summary="never came to it")
    dropped = a_candidate("bad", summary="shout at the model.")
    chart = a_chart(a_law(half=rows(0.5)), "half", dropped, never_raced)

    told = [line for line in said(chart, dropped_ids=frozenset({"bad"})) if "vain" in line]
    assert told == ["Tried in vain: shout at the model."]


def test_refusals_are_counted_and_the_first_is_told():
    first = Refusal(patch=_patch(a_candidate("a", summary="quote a task.")), reason="it quotes")
    chart = a_chart(a_law())

    assert said(chart, refusals=(first,))[2] == (
        "One patch was refused before it cost anything (quote a task: it quotes)."
    )
    assert said(chart, refusals=(first, first))[2] == (
        "2 patches were refused before they cost anything (the first: quote a task: it quotes)."
    )


def test_a_trusted_referee_is_said_to_be_trusted():
    lines = said(a_chart(a_law()), referee_trusted=True, referee_reason="it was right often")
    assert lines[2] == "The referee is trusted: it was right often."


def _patch(candidate):
    assert candidate.patch is not None
    return candidate.patch


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
