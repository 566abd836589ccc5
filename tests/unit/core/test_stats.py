import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harnesspro.core.documents import Power
from harnesspro.core.stats import (
    agreement_p,
    agreement_upper,
    boot_counts,
    exact_share,
    first_where,
    lower_bound,
    mean_interval,
    min_detectable_gain,
    power_of,
    tasks_needed,
    upper_bound,
)

COUNTS = st.integers(0, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


def test_four_changed_of_two_hundred_bound_accuracy_to_four_and_a_half_points():
    assert agreement_upper(4, 200) == pytest.approx(0.0452, abs=5e-4)


def test_nothing_changed_has_the_closed_form_bound():
    assert agreement_upper(0, 64) == pytest.approx(1 - 0.05 ** (1 / 64))


def test_no_task_says_nothing():
    assert exact_share(0, 0).model_dump() == {"mean": 0.0, "low": 0.0, "high": 1.0, "n": 0}


@given(COUNTS)
def test_the_interval_contains_the_share(counts):
    k, n = counts
    found = exact_share(k, n)

    assert 0 <= found.low <= found.mean <= found.high <= 1


@given(COUNTS, st.floats(0.01, 0.5))
def test_the_bound_and_the_p_value_say_the_same(counts, eps):
    k, n = counts
    bound = agreement_upper(k, n)

    if abs(bound - eps) > 1e-6:
        assert (bound <= eps) == (agreement_p(k, n, eps=eps) <= 0.05)


@given(COUNTS)
def test_upper_and_lower_bounds_mirror_each_other(counts):
    k, n = counts

    if n:
        assert upper_bound(k, n) == pytest.approx(1 - lower_bound(n - k, n))


def test_an_impossible_count_is_refused():
    with pytest.raises(ValueError, match="5 of 4"):
        upper_bound(5, 4)


@pytest.mark.parametrize(
    ("eps", "smallest"), [(0.05, {0: 59, 1: 93, 2: 124, 3: 153, 5: 208}), (0.10, {0: 29, 1: 46})]
)
def test_smallest_number_of_tasks_for_so_many_changed_answers(eps, smallest):
    found = {
        c: next(n for n in range(c + 1, 400) if agreement_upper(c, n) <= eps) for c in smallest
    }

    assert found == smallest


def test_tasks_needed_reaches_a_bound_that_passes_and_one_fewer_does_not():
    more = tasks_needed(1, 64, changed_share=1 / 64, eps=0.05)

    assert more is not None
    assert agreement_upper(1 + math.ceil(more / 64), 64 + more) <= 0.05
    assert agreement_upper(1 + math.ceil((more - 1) / 64), 63 + more) > 0.05


def test_no_more_tasks_are_needed_where_the_bound_passes():
    assert tasks_needed(0, 64, changed_share=0.0, eps=0.05) == 0


def test_no_number_of_tasks_helps_where_too_many_answers_change():
    assert tasks_needed(4, 64, changed_share=4 / 64, eps=0.05) is None


@pytest.mark.parametrize(
    ("n", "k", "points"), [(20, 1, 28), (50, 3, 11), (100, 1, 13), (200, 5, 5)]
)
def test_minimum_detectable_gain_is_the_published_table(n, k, points):
    assert round(100 * min_detectable_gain(n, repeats=k)) == points


def test_power_without_confirm_tasks_promises_nothing():
    assert power_of(n_search=20, n_confirm=0) == Power(
        n_search=20, n_confirm=0, min_detectable_gain=None, agreement_bound_at_zero=None
    )


def test_every_bootstrap_world_has_all_tasks_drawn():
    assert boot_counts(7, seed=3, n_boot=50).sum(axis=1).tolist() == [7.0] * 50


def test_the_same_seed_gives_the_same_interval():
    values = [0.1, 0.4, 0.9, 0.4]

    assert mean_interval(values, seed=5) == mean_interval(values, seed=5)


def test_a_mean_of_nothing_is_refused():
    with pytest.raises(ValueError, match="no values"):
        mean_interval([], seed=1)


@given(st.lists(st.floats(-10, 10), min_size=1, max_size=30))
def test_an_interval_contains_its_mean(values):
    found = mean_interval(values, seed=1, n_boot=50)

    assert found.low <= found.mean <= found.high


def share_covered(draw, truth, *, n_runs=1000, **bounds):
    rng = np.random.default_rng(11)
    found = [mean_interval(draw(rng), seed=3, n_boot=400, **bounds) for _ in range(n_runs)]
    return np.mean([one.low <= truth <= one.high for one in found])


@pytest.mark.parametrize("n", [20, 32, 64])
@pytest.mark.parametrize("share", [0.5, 0.7, 0.9, 0.95, 0.99])
def test_the_interval_of_a_mean_between_bounds_covers_however_rare_a_miss_is(n, share):
    def draw(rng):
        return (rng.random(n) < share).astype(float)

    assert share_covered(draw, share, least=0.0, most=1.0) >= 0.93


@pytest.mark.parametrize("n", [20, 32, 64])
def test_the_interval_of_a_mean_without_bounds_covers_where_values_are_of_one_kind(n):
    assert share_covered(lambda rng: rng.beta(4, 1, size=n), 0.8) >= 0.93
    assert share_covered(lambda rng: rng.standard_normal(n), 0.0) >= 0.93


@pytest.mark.parametrize(("holds_from", "expected"), [(1, 1), (7, 7), (10, 10), (11, None)])
def test_the_first_integer_for_which_a_statement_holds(holds_from, expected):
    assert first_where(lambda n: n >= holds_from, after=0, upto=10) == expected


def test_between_nothing_there_is_no_first():
    assert first_where(lambda _: True, after=3, upto=3) is None
