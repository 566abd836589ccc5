import pytest

from harnesspro.core.race import (
    RaceBatch,
    RacePlan,
    RaceResult,
    champions,
    choose_parents,
    next_step,
)
from harnesspro.core.table import Row

TASKS = tuple(f"t{i:02d}" for i in range(32))


def plan(*candidates, **changes):
    return RacePlan(
        baseline_id="base", candidate_ids=candidates, task_ids=TASKS, first_block=12, **changes
    )


def rows(cost, changed=0, merit=1.0, tasks=TASKS):
    return {
        task: Row(
            task,
            f"x{cost}" if i < changed else "same",
            True,
            merit if i < changed else 1.0,
            cost,
            1.0,
        )
        for i, task in enumerate(tasks)
    }


def run(race, world, lost=frozenset()):
    """Play the race against a world that knows every row; the batches asked for and the result."""
    table: dict[str, dict[str, Row]] = {}
    batches: list[RaceBatch] = []
    for _ in range(10):
        step = next_step(race, table, lost=lost)
        if isinstance(step, RaceResult):
            return batches, step
        batches.append(step)
        for key in step.candidate_ids:
            for task in step.task_ids:
                if task in world[key] and (key, task) not in lost:
                    table.setdefault(key, {})[task] = world[key][task]
    raise AssertionError("the race does not end")


def test_steps_grow_by_the_reduction_up_to_all_tasks():
    assert plan("a").rungs == (12, 32)
    assert plan("a", reduction=2).rungs == (12, 24, 32)
    assert RacePlan("base", ("a",), TASKS[:5], first_block=12).rungs == (5,)


def test_first_everyone_runs_the_first_block():
    assert next_step(plan("a", "b"), {}) == RaceBatch(TASKS[:12], ("base", "a", "b"))


def test_a_loser_is_dropped_after_the_first_block_and_a_survivor_sees_all_tasks():
    world = {"base": rows(1.0), "cheap": rows(0.4), "dear": rows(1.6, changed=6, merit=0.1)}

    batches, result = run(plan("cheap", "dear"), world)

    assert batches == [
        RaceBatch(TASKS[:12], ("base", "cheap", "dear")),
        RaceBatch(TASKS[12:], ("base", "cheap")),
    ]
    assert (result.promoted, result.open, list(result.dropped)) == (("cheap",), (), ["dear"])


def test_what_keeps_every_answer_is_never_dropped_for_a_cheaper_one():
    world = {"base": rows(1.0), "exact": rows(0.77), "lucky": rows(0.66)}

    _, dropped = run(plan("exact", "lucky"), world)
    _, kept = run(plan("exact", "lucky", keeping=frozenset({"exact"})), world)

    assert list(dropped.dropped) == ["exact"]
    assert set(kept.promoted) | set(kept.open) == {"exact", "lucky"}


def test_the_careful_saving_survives_beside_a_cheaper_trap():
    world = {
        "base": rows(1.0),
        "careful": rows(0.33, changed=4),
        "trap": rows(0.2, changed=14),
    }

    _, result = run(plan("careful", "trap"), world)

    assert set(result.promoted) == {"careful", "trap"}


def test_no_saving_buys_a_collapse():
    world = {"base": rows(1.0), "mute": rows(0.01, changed=30, merit=0.0)}

    _, result = run(plan("mute"), world)

    assert result.dropped == {"mute": "loses more than 25 points of score"}


def test_what_stayed_void_is_not_asked_for_again():
    world = {"base": rows(1.0), "a": rows(0.5)}
    lost = frozenset({("a", "t03"), ("base", "t20")})

    _, result = run(plan("a"), world, lost=lost)

    assert result.promoted == ("a",)


def test_a_candidate_that_could_never_be_measured_is_dropped():
    lost = frozenset(("a", task) for task in TASKS)

    _, result = run(plan("a"), {"base": rows(1.0), "a": {}}, lost=lost)

    assert list(result.dropped) == ["a"]


def test_without_a_measured_baseline_everyone_stays_open():
    lost = frozenset(("base", task) for task in TASKS)

    _, result = run(plan("a"), {"base": {}, "a": rows(0.5)}, lost=lost)

    assert result == RaceResult(promoted=(), open=("a",), dropped={})


def test_alone_the_baseline_is_measured_on_all_tasks():
    batches, result = run(plan(), {"base": rows(1.0)})

    assert sum(len(batch.task_ids) for batch in batches) == 32
    assert result == RaceResult(promoted=(), open=(), dropped={})


def test_the_next_step_depends_on_plan_and_table_alone():
    table = {"base": rows(1.0), "a": rows(0.9, changed=5, merit=0.4), "b": rows(0.95)}

    assert next_step(plan("a", "b"), table) == next_step(plan("a", "b"), table)


@pytest.mark.parametrize(
    "changes", [{"task_ids": ()}, {"first_block": 1}, {"candidate_ids": ("base",)}]
)
def test_a_race_that_is_none_is_refused(changes):
    values = {"baseline_id": "base", "candidate_ids": ("a",), "task_ids": TASKS, "first_block": 12}

    with pytest.raises(ValueError, match="race"):
        RacePlan(**{**values, **changes})


def test_who_is_alone_at_the_top_of_a_task_is_a_champion():
    table = {
        "base": rows(1.0),
        "twin": rows(1.0),
        "right_once": rows(1.5, changed=1, merit=1.2),
        "cheap_once": rows(1.3),
    }
    table["cheap_once"]["t05"] = Row("t05", "same", True, 1.0, 0.9, 1.0)

    assert champions(table, tuple(table), TASKS) == {"right_once", "cheap_once"}
    assert champions(table, ("base",), TASKS) == frozenset()


def test_what_wins_one_task_stays_alive_though_it_loses_on_the_whole():
    dear = rows(1.6, changed=6, merit=0.9)
    good_once = {**dear, "t00": Row("t00", "new", True, 1.1, 1.6, 1.0)}
    world = {"base": rows(1.0), "cheap": rows(0.4), "dear": dear, "once": good_once}

    _, result = run(plan("cheap", "dear", "once"), world)

    assert "dear" in result.dropped
    assert "once" not in result.dropped


def test_parents_are_the_ends_by_turns_and_the_least_tried():
    def parents(round_index, **times_tried):
        return choose_parents(
            ("cheap", "knee", "best"),
            alive=("cheap", "knee", "best", "new"),
            times_tried=times_tried,
            round_index=round_index,
        )

    assert [parents(i, cheap=2, knee=1, best=1)[0] for i in range(4)] == [
        "cheap",
        "knee",
        "best",
        "cheap",
    ]
    assert parents(0, cheap=2, knee=1, best=1) == ("cheap", "new")
    assert parents(1, cheap=2, knee=0, best=3, new=1) == ("knee", "new")


def test_alone_the_initial_harness_is_its_own_only_parent():
    assert choose_parents(("base", "base"), alive=("base",), times_tried={}, round_index=3) == (
        "base",
    )
