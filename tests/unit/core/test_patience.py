import pytest
from hypothesis import given
from hypothesis import strategies as st

from harnesspro.core.patience import (
    FIRST_REST_S,
    LONGEST_BACKOFF_S,
    LONGEST_REST_S,
    MOST_RETRIES,
    Breaker,
    RetryBudget,
    pause_s,
)


@given(st.integers(1, 40), st.floats(0, 0.999))
def test_backoff_is_drawn_up_to_a_doubling_bound(n_tried, level):
    pause = pause_s(n_tried, backoff_s=0.5, told_s=None, level=level, left_s=1e9)
    assert pause is not None
    assert 0 <= pause <= min(0.5 * 2 ** (n_tried - 1), LONGEST_BACKOFF_S)


def test_what_the_provider_says_is_kept_in_full_and_spread():
    assert pause_s(1, backoff_s=0.5, told_s=7.0, level=0.5, left_s=60) == 7.25


@pytest.mark.parametrize("told_s", [None, 20.0])
def test_a_pause_beyond_the_deadline_is_no_pause(told_s):
    assert pause_s(9, backoff_s=10, told_s=told_s, level=0.9, left_s=5) is None


def test_a_budget_of_retries_runs_out_and_fills_up_by_first_tries():
    budget = RetryBudget()
    for _ in range(int(MOST_RETRIES)):
        spent = budget.spent()
        assert spent is not None
        budget = spent
    assert budget.spent() is None
    for _ in range(5):
        budget = budget.asked()
    assert budget.spent() is not None
    for _ in range(1000):
        budget = budget.asked()
    assert budget.left == MOST_RETRIES


def test_a_breaker_rests_twice_as_long_each_time_and_closes_at_an_answer():
    breaker, now = Breaker().failed(0.0), 0.0
    rests = []
    for _ in range(8):
        assert breaker.until is not None
        rests.append(breaker.until - now)
        assert breaker.is_open(now)
        now = breaker.until
        assert not breaker.is_open(now)
        assert breaker.finding_out(now).is_open(now)
        breaker = breaker.failed(now)
    assert rests[0] == FIRST_REST_S
    assert rests[1] == 2 * FIRST_REST_S
    assert rests[-1] == LONGEST_REST_S
    assert breaker.since == 0.0
    assert breaker.answered() == Breaker()
