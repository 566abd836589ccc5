from hypothesis import given
from hypothesis import strategies as st

from harnesspro.core.plan import Plan

SIZES = st.integers(0, 100)
COUNTS = st.integers(1, 10)
PLANS = st.builds(
    Plan,
    n_search=SIZES,
    n_confirm=SIZES,
    n_rounds=COUNTS,
    max_candidates=COUNTS,
    max_picks=COUNTS,
    first_block=st.integers(2, 100),
    n_repeats=COUNTS,
)


def plan(**changes):
    base = {
        "n_search": 24,
        "n_confirm": 64,
        "n_rounds": 2,
        "max_candidates": 6,
        "max_picks": 2,
        "first_block": 12,
        "n_repeats": 1,
    }
    return Plan(**(base | changes))


def counts(one):
    return one.baseline_trials, one.confirm_trials, one.low, one.high


def test_the_baseline_runs_twice_on_the_first_block_and_once_on_the_rest():
    low, high = 36 + 6 * 12 + 64, 36 + 6 * 24 + 3 * 64
    assert counts(plan()) == (36, 192, low, high)


def test_with_repeats_the_baseline_needs_no_second_look():
    low, high = 48 + 6 * 12 * 2 + 64, 48 + 6 * 24 * 2 + 3 * 64
    assert counts(plan(n_repeats=2)) == (48, 192, low, high)


def test_a_first_block_larger_than_the_search_tasks_is_all_of_them():
    low, high = 16 + 6 * 8 + 64, 16 + 6 * 8 + 3 * 64
    assert counts(plan(n_search=8)) == (16, 192, low, high)


def test_without_confirm_tasks_nothing_is_confirmed():
    assert counts(plan(n_confirm=0)) == (36, 0, 108, 180)


@given(PLANS)
def test_a_run_never_takes_fewer_than_low_nor_more_than_high(one):
    assert one.baseline_trials <= one.low <= one.high
    assert one.expected <= one.high
