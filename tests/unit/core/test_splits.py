import pytest
from hypothesis import given
from hypothesis import strategies as st

from harnesspro.core.records import Task
from harnesspro.core.splits import default_n_sealed, default_n_search, split

WORDS = ["amber", "birch", "cedar", "dune", "ember", "fjord", "grove", "heath", "inlet", "jetty"]


def ask(text, task_id=None):
    return Task(task_id=task_id or f"id-{text}", input={"request": text})


def many(n):
    return [
        ask(f"{WORDS[i % 10]} {WORDS[i // 10 % 10]} {WORDS[i // 100]} of the sea") for i in range(n)
    ]


def keys(tasks):
    return {task.content_key for task in tasks}


def test_default_sizes_are_a_third_within_20_and_100():
    assert [default_n_search(n) for n in (10, 30, 60, 120, 200, 600)] == [10, 20, 20, 40, 66, 100]


def test_the_rest_is_confirm():
    found = split(many(96), split_key="k", n_search=32)

    assert (len(found.search), len(found.confirm)) == (32, 64)
    assert not keys(found.search) & keys(found.confirm)


def test_neither_file_order_nor_fresh_ids_move_a_task():
    tasks = many(60)
    resealed = [
        task.model_copy(update={"task_id": f"fresh-{i}"}) for i, task in enumerate(reversed(tasks))
    ]

    first, second = split(tasks, split_key="k"), split(resealed, split_key="k")

    assert [t.content_key for t in first.search] == [t.content_key for t in second.search]
    assert [t.content_key for t in first.confirm] == [t.content_key for t in second.confirm]


def test_another_key_splits_otherwise():
    tasks = many(60)

    assert keys(split(tasks, split_key="a").search) != keys(split(tasks, split_key="b").search)


def test_a_larger_search_keeps_what_it_had_and_confirm_loses_from_its_far_end():
    tasks = many(90)
    small = split(tasks, split_key="k", n_search=20, n_confirm=30)
    large = split(tasks, split_key="k", n_search=40, n_confirm=30)

    assert keys(small.search) < keys(large.search)
    assert keys(small.confirm) == keys(large.confirm)


def test_near_duplicates_stand_on_one_side():
    tasks = [*many(60), ask("Pay 30 euros to Ann"), ask("pay  45 euros to ann")]

    for key in map(str, range(20)):
        found = split(tasks, split_key=key, n_search=30)
        sides = [str(side).casefold().count("euros") for side in (found.search, found.confirm)]

        assert 0 in sides


def test_the_same_content_counts_once():
    found = split([*many(30), ask("amber amber amber of the sea", "again")], split_key="k")

    assert len(found.search) + len(found.confirm) == 30


def test_a_family_told_apart_by_digits_alone_is_no_heap_of_duplicates():
    found = split([ask(f"What is {i} plus {i * 7}?") for i in range(60)], split_key="k")

    assert (len(found.search), len(found.confirm)) == (20, 40)


def test_what_a_lineage_has_searched_never_confirms():
    tasks = [*many(60), ask("Pay 30 euros to Ann"), ask("pay 45 euros to ann")]
    seen = frozenset(task.content_key for task in tasks[40:61])

    found = split(tasks, split_key="k", n_search=20, exclude=seen)

    assert not keys(found.confirm) & (seen | {tasks[61].content_key})


@pytest.mark.parametrize(
    ("n", "search", "confirm"), [(30, 20, 10), (60, 20, 40), (200, 66, 134), (600, 100, 500)]
)
def test_the_published_tiers_without_gold(n, search, confirm):
    found = split(many(n), split_key="k")

    assert (len(found.search), len(found.confirm), found.sealed) == (search, confirm, ())


@pytest.mark.parametrize(
    ("n", "search", "confirm", "sealed"),
    [(200, 66, 134, 0), (210, 70, 98, 42), (600, 100, 380, 120)],
)
def test_where_gold_exists_a_fifth_of_many_tasks_is_sealed(n, search, confirm, sealed):
    found = split(many(n), split_key="k", n_sealed=default_n_sealed(n))

    assert (len(found.search), len(found.confirm), len(found.sealed)) == (search, confirm, sealed)
    assert len(keys(found.search) | keys(found.confirm) | keys(found.sealed)) == n


def test_a_larger_search_never_eats_what_is_sealed():
    small, large = (split(many(300), split_key="k", n_search=n, n_sealed=60) for n in (20, 200))

    assert keys(small.sealed) == keys(large.sealed)


def test_near_duplicates_of_confirm_are_never_sealed():
    tasks = [*many(60), ask("Pay 30 euros to Ann"), ask("pay  45 euros to ann")]

    for key in map(str, range(20)):
        found = split(tasks, split_key=key, n_search=20, n_sealed=20)
        counts = [
            str(s).casefold().count("euros") for s in (found.search, found.confirm, found.sealed)
        ]

        assert counts.count(0) >= 2


@given(
    st.integers(0, 120),
    st.integers(0, 60),
    st.integers(0, 60),
    st.integers(0, 60),
    st.integers(0, 9),
)
def test_no_task_is_ever_in_two_sets(n, n_search, n_confirm, n_sealed, key):
    found = split(
        many(n), split_key=str(key), n_search=n_search, n_confirm=n_confirm, n_sealed=n_sealed
    )
    sizes = (len(found.search), len(found.confirm), len(found.sealed))

    assert len(keys(found.search) | keys(found.confirm) | keys(found.sealed)) == sum(sizes)
    assert sizes[0] == min(n, n_search)
    assert sizes[2] == min(n - sizes[0], n_sealed)
    assert sizes[1] == min(n - sizes[0] - sizes[2], n_confirm)
