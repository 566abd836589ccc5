import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harnesspro.core.costs import Guarded, compare_costs
from harnesspro.core.stats import REACH, upper_bound

PRICES = st.lists(st.tuples(st.floats(0.01, 1), st.floats(0.01, 1)), min_size=1, max_size=40)


def compared(pairs, **options):
    own, base = np.array(pairs).T
    return compare_costs(own, base, **options)


def alike(n, value, *, unseen):
    return Guarded(values=np.full(n, value), unseen=unseen)


def lognormal(rng, n, sigma):
    return np.exp(sigma * rng.standard_normal(n) - sigma**2 / 2)


def share(draw, passes, *, n_runs=600):
    rng = np.random.default_rng(5)
    return np.mean([passes(compare_costs(*draw(rng))) for _ in range(n_runs)])


@pytest.mark.parametrize("n", [20, 59, 134])
def test_where_all_values_are_equal_the_bound_is_that_of_an_event_never_seen(n):
    high = alike(n, 0.0, unseen=1.0).bounds(0.05).high

    assert high == pytest.approx(upper_bound(0, n), rel=0.05)


def test_without_tasks_there_is_nothing_to_compare():
    with pytest.raises(ValueError, match="no task"):
        compare_costs(np.array([]), np.array([]))


def test_the_unseen_task_costs_more_than_the_dearest_seen_but_never_more_than_the_cap():
    pairs = [(1.0, 1.0), (1.0, 5.0)]

    assert compared(pairs).unseen_usd == REACH * 5.0
    assert compared(pairs, cap_usd=7.0).unseen_usd == 7.0
    assert compared(pairs, cap_usd=3.0).base.tolist() == [1.0, 3.0]


@given(PRICES, st.sampled_from([0.05, 0.0167]))
def test_a_bound_excludes_equal_costs_exactly_where_its_test_passes(pairs, alpha):
    costs = compared(pairs)
    found, p = costs.ratio(alpha), costs.bill.p_below_zero()

    assert found.low <= found.mean <= found.high
    if abs(p - alpha) > 0.001:
        assert (p <= alpha) == (found.high < 1) == (costs.holds_to_usd(alpha) > costs.unseen_usd)
    if abs(costs.typical.p_below_zero() - alpha) > 0.001:
        assert (costs.typical.p_below_zero() <= alpha) == (costs.typical.bounds(alpha).high < 0)


def test_the_saving_of_an_early_stop_is_shown_with_sixty_tasks():
    """A third saved on seven tasks in ten, no task dearer, the dearest twice the mean."""
    rng = np.random.default_rng(0)
    base = rng.uniform(0.4, 1.6, size=60)
    base[0] = 2.0
    own = base * np.where(np.arange(60) % 10 < 7, 0.66, 1.0)

    found = compare_costs(own, base)

    assert found.p_cheaper() <= 0.05
    assert found.holds_to_usd(0.05) >= 4.0


def test_a_few_tasks_show_no_saving_however_equal_they_look():
    assert compared([(0.5, 1.0)] * 8).p_cheaper() > 0.05


@pytest.mark.parametrize("n", [40, 64, 134])
@pytest.mark.parametrize("sigma", [1.0, 1.5])
def test_a_heavy_tail_of_equal_mean_is_no_saving(n, sigma):
    def draw(rng):
        return lognormal(rng, n, sigma), lognormal(rng, n, 0.2)

    assert share(draw, lambda costs: costs.p_cheaper() <= 0.05) <= 0.05


@pytest.mark.parametrize(("n", "often", "dear"), [(40, 0.03, 17.0), (64, 0.02, 20.0)])
def test_a_saving_eaten_by_rare_dear_tasks_is_never_shown_up_to_their_cost(n, often, dear):
    """Most samples hold no such task, so no test on them sees it: the limit that is printed does."""
    usual = (1 - often * dear) / (1 - often)

    def draw(rng):
        own = np.where(rng.random(n) < often, dear, usual * lognormal(rng, n, 0.2))
        return own, lognormal(rng, n, 0.2)

    assert share(draw, lambda costs: costs.holds_to_usd(0.05) >= dear) <= 0.05


def test_more_tasks_show_a_small_saving_and_never_a_loss():
    base = 1 + 0.5 * np.sin(np.arange(40))

    assert compare_costs(0.3 * base, base).tasks_needed(0.05) == 0
    assert compare_costs(1.1 * base, base).tasks_needed(0.05) is None


@pytest.mark.parametrize("saved", [0.1, 0.2, 0.4])
def test_the_tasks_asked_for_are_about_those_that_do(saved):
    base = 1 + 0.5 * np.sin(np.arange(20.0))
    more = compare_costs((1 - saved) * base, base).tasks_needed(0.05)
    wave = 1 + 0.5 * np.sin(np.arange(20.0 + (more or 0)))

    assert more
    assert compare_costs((1 - saved) * wave, wave).p_cheaper() == pytest.approx(0.05, abs=0.02)
