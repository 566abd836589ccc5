import pytest

from harnesspro.core.purses import (
    candidate_cap_nanos,
    candidate_purse,
    improver_cap_nanos,
    round_cap_nanos,
    round_purse,
)


def test_purses_are_named_by_the_path_of_those_they_lie_in():
    outer = round_purse(0, 5)
    inner = candidate_purse(outer, "h-1", 3)

    assert (outer.path, outer.kind, outer.cap_nanos) == ("run/target/round 1", "round", 5)
    assert (inner.path, inner.kind) == ("run/target/round 1/h-1", "candidate")


@pytest.mark.parametrize(
    ("cap", "spent", "confirm", "left"),
    [
        (None, 1.0, 1.0, None),
        (2.0, 0.5, 1.0, 5 * 10**8),
        (2.0, 0.9, 1.0, 11 * 10**8),  # 0.1 would not do for a round of 0.4: both cannot be had
        (2.0, 2.5, 1.0, 0),
    ],
)
def test_a_round_may_spend_what_the_final_measurement_does_not_need(cap, spent, confirm, left):
    found = round_cap_nanos(cap, spent_usd=spent, confirm_usd=confirm, search_usd=0.4)
    assert found == left


def test_a_candidate_may_cost_four_times_the_original_and_is_unbound_where_that_is_unknown():
    assert candidate_cap_nanos(1e-6, n_trials=10) == 40_000
    assert candidate_cap_nanos(0.0, n_trials=10) is None


def test_thinking_may_take_two_fifths_of_a_cap_and_without_one_is_not_bound():
    assert (improver_cap_nanos(1000), improver_cap_nanos(None)) == (400, None)
