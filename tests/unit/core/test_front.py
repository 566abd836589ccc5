import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harnesspro.core.front import (
    Place,
    best,
    estimates,
    front_ids,
    hypervolume,
    knee,
    law,
    p_cheaper,
    p_on_front,
)
from harnesspro.core.stats import exact_share
from harnesspro.core.table import Row

N = 60
TASKS = [f"t{i:03d}" for i in range(N)]
POINTS = st.lists(st.builds(Place, score=st.floats(0, 1), cost_usd=st.floats(0, 1)), max_size=6)


def rows(cost=1.0, changed=0, merit=1.0, tasks=TASKS, answered=True):
    """The first `changed` answers differ and have this merit; the rest are the baseline's."""
    return {
        task: Row(
            task_id=task,
            cluster=f"new-{cost}" if i < changed else "same",
            answered=answered or i >= changed,
            merit=merit if i < changed else 1.0,
            cost_usd=cost * (1 + 0.1 * (i % 5)),
            latency_s=cost,
        )
        for i, task in enumerate(tasks)
    }


def joint(trusted=False, **candidates):
    return law({"base": rows(), **candidates}, "base", seed=1, n_boot=400, trusted=trusted)


def test_a_changed_answer_counts_its_gain_and_an_equal_one_nothing():
    table = {"base": rows(merit=0.0), "v": rows(changed=6, merit=0.5)}
    table["v"]["t059"] = Row("t059", "same", True, 0.2, 1.0, 1.0)

    place = law(table, "base", seed=1, n_boot=50).place("v")

    assert place.score == pytest.approx(1 - 6 * 0.5 / N)


def test_where_tasks_are_missing_cost_is_a_ratio_on_the_shared_ones():
    found = joint(v=rows(cost=0.5, tasks=TASKS[:10]))

    assert found.place("v").cost_usd == pytest.approx(0.5 * found.place("base").cost_usd)
    assert found.counts[1].n == 10


def test_a_candidate_without_a_shared_task_is_not_on_the_map():
    assert joint(v=rows(tasks=["elsewhere"])).ids == ("base",)


def test_a_law_needs_the_initial_harness():
    with pytest.raises(ValueError, match="initial harness"):
        law({"v": rows()}, "base", seed=1)


def test_the_law_depends_on_the_seed_alone():
    table = {"base": rows(), "v": rows(cost=0.5, changed=5, merit=0.2)}
    first, second = (law(table, "base", seed=9, n_boot=50) for _ in range(2))

    assert np.array_equal(first.score, second.score)
    assert np.array_equal(first.cost, second.cost)


def test_changed_answers_are_exact_and_corrected_for_all_compared():
    found = joint(a=rows(cost=0.5, changed=3), b=rows(cost=0.6))

    assert estimates(found, "a").answers_changed == exact_share(3, N, alpha=0.05 / 2)
    assert estimates(found, "base").answers_changed is None


def test_while_the_referee_is_not_trusted_changed_answers_are_drawn_as_unknown():
    unknown = estimates(joint(v=rows(cost=0.5, changed=24)), "v").score
    known = estimates(joint(trusted=True, v=rows(cost=0.5, changed=24)), "v").score

    assert unknown.low < 0.5
    assert known.mean == known.high == 1.0
    assert known.low > 0.9


def test_a_mean_cost_leaves_room_for_a_dear_task_that_was_not_seen():
    found = estimates(joint(v=rows(cost=0.5)), "v").cost_usd_per_task

    assert found.mean - found.low < 0.03 < found.high - found.mean


def test_answers_that_vanished_can_only_have_lost():
    score = estimates(joint(v=rows(cost=0.5, changed=30, merit=0.0, answered=False)), "v").score

    assert score.low < 0.4
    assert score.high < 1.0 + 1e-9
    assert score.mean == pytest.approx(0.5)


def test_a_cheaper_harness_with_the_same_answers_takes_the_place_of_the_initial_one():
    assert front_ids(joint(v=rows(cost=0.5))) == ("v",)


def test_a_cheaper_harness_with_other_answers_stands_beside_it_while_nobody_can_judge():
    assert front_ids(joint(v=rows(cost=0.5, changed=20))) == ("v", "base")
    assert front_ids(joint(trusted=True, v=rows(cost=0.5, changed=20))) == ("v",)


def test_the_trap_does_not_push_the_careful_saving_off_the_front():
    found = joint(careful=rows(cost=0.33, changed=4), trap=rows(cost=0.2, changed=25))

    assert front_ids(found) == ("trap", "careful", "base")


def test_a_dearer_and_worse_harness_is_off_the_front():
    found = joint(v=rows(cost=1.5, changed=20, merit=0.0))

    assert p_on_front(found) == {"base": 1.0, "v": 0.0}


def test_of_twins_the_simplest_stays():
    found = joint(a=rows(cost=0.500), b=rows(cost=0.501))

    assert front_ids(found, complexity={"a": 3, "b": 1}) == ("b",)
    assert front_ids(found, complexity={"a": 1, "b": 3}) == ("a",)


def test_cheaper_by_a_share_is_a_probability():
    found = joint(v=rows(cost=0.9))

    assert (p_cheaper(found, "v"), p_cheaper(found, "v", by=0.2)) == (1.0, 0.0)


def test_named_points():
    found = joint(v=rows(cost=0.33, changed=4), trap=rows(cost=0.2, changed=25, merit=0.1))
    front = ("trap", "v", "base")

    assert (knee(found, front), best(found, front)) == ("v", "v")
    assert (knee(found, ()), best(found, ())) == (None, None)


def test_hypervolume_of_two_steps():
    points = [Place(0.5, 1.0), Place(0.8, 3.0), Place(0.4, 2.0)]

    assert hypervolume(points, reference=Place(0.0, 4.0)) == pytest.approx(0.5 * 3 + 0.3 * 1)


@given(POINTS, st.builds(Place, score=st.floats(0, 1), cost_usd=st.floats(0, 1)))
def test_one_more_point_never_shrinks_the_hypervolume(points, extra):
    reference = Place(0.0, 1.0)
    before = hypervolume(points, reference=reference)

    assert before <= hypervolume([*points, extra], reference=reference) + 1e-12 <= 1 + 1e-9


@given(POINTS)
def test_hypervolume_is_the_share_of_points_someone_dominates(points):
    grid = (np.arange(40) + 0.5) / 40
    covered = [any(p.score >= s and p.cost_usd <= c for p in points) for s in grid for c in grid]

    assert hypervolume(points, reference=Place(0.0, 1.0)) == pytest.approx(
        float(np.mean(covered)), abs=0.06
    )
