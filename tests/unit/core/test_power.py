import pytest

from harnesspro.core.power import chance_by_referee, referee_route_possible, what_n_can_show
from harnesspro.core.stats import agreement_upper


@pytest.mark.parametrize(("eps", "fewest"), [(0.03, 99), (0.05, 59), (0.10, 29)])
def test_agreement_passes_from_the_published_number_of_tasks_on(eps, fewest):
    found = what_n_can_show(fewest, eps=eps)

    assert (found.fewest_by_agreement, found.most_changed) == (fewest, 0)
    assert what_n_can_show(fewest - 1, eps=eps).most_changed is None


@pytest.mark.parametrize(("n", "most"), [(40, None), (80, 0), (134, 2), (300, 8), (500, 16)])
def test_most_changed_answers_are_the_published_table(n, most):
    assert what_n_can_show(n, eps=0.05).most_changed == most


@pytest.mark.parametrize(
    ("n", "published"), [(40, 0.05), (80, 0.20), (134, 0.31), (300, 0.58), (500, 0.77)]
)
def test_the_chance_of_a_pick_that_is_no_worse_is_near_the_published_one(n, published):
    """Three percent of the answers changed, a referee right on 90 of 100 pairs."""
    assert chance_by_referee(n, eps=0.05, changed=0.03) == pytest.approx(published, abs=0.06)


def test_one_in_two_passes_from_the_number_of_tasks_that_is_named():
    found = what_n_can_show(134, eps=0.05)

    assert found.fewest_by_referee is not None
    assert chance_by_referee(found.fewest_by_referee, eps=0.05) >= 0.5
    assert chance_by_referee(found.fewest_by_referee // 2, eps=0.05) < 0.5


def test_measuring_a_referee_pays_from_some_number_of_tasks_on():
    paying = [n for n in range(10, 200, 10) if referee_route_possible(n, 0.05)]

    assert paying == list(range(paying[0], 200, 10))
    assert paying[0] in (60, 70, 80)
    assert referee_route_possible(40, 0.10)
    assert not referee_route_possible(200, 0.03)


def test_no_task_shows_anything():
    found = what_n_can_show(0, eps=0.05)

    assert (found.most_changed, found.chance_by_referee) == (None, 0.0)
    assert agreement_upper(0, 0) == 1.0
