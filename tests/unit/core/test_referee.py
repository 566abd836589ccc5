import math

import pytest

from harnesspro.core.answers import NO_ANSWER
from harnesspro.core.records import Calibration, Check, Estimate, Referee
from harnesspro.core.referee import (
    Votes,
    family_weight,
    freeze,
    may_tell,
    merit,
    merits,
    p_better,
    p_loss_beyond,
    p_loss_within,
    smallest_margin,
    tango_z,
)

NEVER = Estimate(mean=0.0, low=0.0, high=0.04, n=100)


def a_check(name, family="format", kill=0.5, rejects=NEVER, admitted=True, writer="schema"):
    return Check(
        check_id=name,
        family=family,
        name=name,
        writer=writer,
        false_reject_rate=rejects,
        kill_rate=kill,
        admitted=admitted,
    )


def hit_rate(low=0.85, n=100):
    return Estimate(mean=0.9, low=low, high=0.95, n=n)


def trusted(tilt=0.1):
    return freeze([a_check("a")], ("other",), calibration=measured(hit_rate(), tilt))


def measured(rate, tilt=0.1):
    leaning = None if tilt is None else Estimate(mean=0.0, low=-tilt, high=tilt, n=rate.n)
    return Calibration(n_probes=400, n_discordant=rate.n, hit_rate=rate, tilt=leaning, n_ties=0)


def test_a_family_weighs_by_validity_and_by_what_it_stops():
    validity = (7 + 25) / (10 + 25)

    assert family_weight([a_check("a")]) == pytest.approx(0.5 * math.log(validity / (1 - validity)))


def test_a_family_more_often_wrong_than_right_weighs_nothing():
    wrong = Estimate(mean=0.9, low=0.8, high=0.95, n=100)

    assert family_weight([a_check("a", rejects=wrong)]) == 0.0


def test_one_family_has_one_voice_however_many_checks_it_has():
    one = freeze([a_check("a")]).weights
    two = freeze([a_check("a"), a_check("b")]).weights

    assert sum(two.values()) == pytest.approx(sum(one.values()))


def test_a_second_check_that_stops_little_does_not_thin_out_the_first():
    both = family_weight([a_check("a", kill=0.5), a_check("b", kill=0.01)])

    assert both == pytest.approx(family_weight([a_check("a", kill=0.5)]))


def test_checks_tell_by_what_their_family_stops_together():
    halves = [
        a_check(name, family="property", kill=0.15).model_copy(update={"family_kill_rate": rate})
        for name, rate in (("a", 0.3), ("b", 0.3))
    ]

    assert may_tell(halves)
    assert not may_tell([a_check("a", family="property", kill=0.15)])


def test_only_admitted_checks_are_frozen():
    assert freeze([a_check("a", admitted=False)]).checks == ()


def test_the_hash_moves_with_what_decides():
    assert freeze([a_check("a")]).referee_hash != freeze([a_check("a", kill=0.6)]).referee_hash


def test_without_a_measured_hit_rate_the_referee_is_not_trusted_and_says_why():
    referee = freeze([a_check("a")])

    assert (referee.trusted, referee.reason) == (
        False,
        "how often it is right where two answers differ is not known",
    )


@pytest.mark.parametrize(
    ("low", "n", "expected"), [(0.75, 100, True), (0.74, 100, False), (0.9, 99, False)]
)
def test_trust_needs_a_lower_bound_and_enough_pairs(low, n, expected):
    assert freeze([a_check("a")], calibration=measured(hit_rate(low, n))).trusted is expected


def test_merit_is_the_weighted_share_of_checks_passed():
    referee = Referee(checks=(), weights={"a": 3.0, "b": 1.0})

    assert merit(referee, {"a": True, "b": False}) == 0.75


def test_no_answer_has_no_merit_and_a_referee_without_checks_objects_to_nothing():
    empty = Referee(checks=(), weights={})

    assert (merit(empty, None), merit(empty, {})) == (0.0, 1.0)


def test_clusters_share_what_the_checks_give_and_a_null_keeps_its_part():
    referee = Referee(checks=(), weights={"a": 1.0})
    found = merits(referee, {"x": {"a": True}, "y": {"a": False}, NO_ANSWER: None})
    total = 1 + math.exp(-1) + 0.05

    assert found == pytest.approx({"x": 1 / total, "y": math.exp(-1) / total, NO_ANSWER: 0.0})


@pytest.mark.parametrize("word", [True, False])
def test_checks_that_say_the_same_of_all_are_silent(word):
    referee = Referee(checks=(), weights={"a": 1.0})
    found = merits(referee, {"x": {"a": word}, "y": {"a": word}})

    assert found == pytest.approx(dict.fromkeys("xy", 1 / 2.05))


def test_a_member_of_the_panel_weighs_as_one_family_of_unmeasured_checks():
    by_vote = merits(
        Referee(checks=(), weights={}, panel=("panel:m",)), {"x": {}, "y": {}}, votes={"x": 1.0}
    )
    prior = math.log(0.7 / 0.3)
    by_check = merits(Referee(checks=(), weights={"a": prior}), {"x": {"a": 1.0}, "y": {"a": 0.0}})

    assert by_vote == pytest.approx(by_check)


def test_one_vote_does_not_outweigh_four_families_of_checks():
    referee = Referee(
        checks=(), weights=dict.fromkeys("abcd", math.log(0.7 / 0.3)), panel=("panel:m",)
    )
    passed = {"x": dict.fromkeys("abcd", 1.0), "y": dict.fromkeys("abcd", 0.35)}
    found = merits(referee, passed, votes={"y": 1.0})

    assert found["x"] > found["y"]


def test_tango_score_is_zero_at_the_surplus_seen_and_finite_without_any_difference():
    assert tango_z(Votes(n=200, changed=30, worse=20, better=10), margin=0.05) == pytest.approx(0.0)
    assert tango_z(Votes(n=200, changed=0, worse=0, better=0), margin=0.05) == pytest.approx(
        -math.sqrt(200 * 0.05 / 0.95)
    )


def test_an_untrusted_referee_claims_nothing_however_clear_it_looks():
    referee, votes = freeze([a_check("a")]), Votes(n=300, changed=60, worse=0, better=60)

    assert [
        p_loss_within(referee, votes, eps=0.05),
        p_loss_beyond(referee, votes, eps=0.05),
        p_better(referee, votes),
        smallest_margin(referee, votes, alpha=0.05),
    ] == [1.0] * 4


def test_a_trusted_referee_is_silent_where_more_changed_than_its_tilt_allows():
    few, many = (Votes(n=300, changed=c, worse=0, better=0) for c in (3, 100))

    assert p_loss_within(trusted(), few, eps=0.05) < 0.05
    assert p_loss_within(trusted(), many, eps=0.05) == 1.0


def test_an_unmeasured_tilt_is_the_worst_tilt():
    votes = Votes(n=300, changed=15, worse=0, better=15)

    assert p_loss_within(trusted(tilt=None), votes, eps=0.05) == 1.0
    assert p_better(trusted(tilt=None), votes) == 1.0


def test_a_large_surplus_of_worse_answers_shows_a_loss():
    votes = Votes(n=300, changed=80, worse=70, better=10)

    assert p_loss_beyond(trusted(), votes, eps=0.05) < 0.001
    assert p_loss_beyond(trusted(), Votes(n=300, changed=80, worse=40, better=40), eps=0.05) > 0.5


def test_the_smallest_margin_is_where_the_test_turns():
    votes = Votes(n=500, changed=5, worse=2, better=3)
    margin = smallest_margin(trusted(), votes, alpha=0.05)

    assert p_loss_within(trusted(), votes, eps=margin) <= 0.05
    assert p_loss_within(trusted(), votes, eps=margin - 0.005) > 0.05


def test_checks_may_tell_where_they_look_at_more_than_form_or_are_the_owners():
    form, weak = a_check("a", kill=0.9), a_check("b", family="property", kill=0.2)
    telling = a_check("c", family="property", kill=0.3)

    assert not may_tell([form, weak])
    assert may_tell([form, telling])
    assert may_tell([a_check("u", family="user", kill=None, writer="user")])
    assert not may_tell([a_check("c", family="property", kill=0.9, admitted=False)])
