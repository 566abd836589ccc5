"""After the opening: what the label-free score was worth, on answers whose truth is now known."""

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau

from harnesspro.core.answers import NO_ANSWER
from harnesspro.core.documents import SealedReport
from harnesspro.core.records import Estimate
from harnesspro.core.sealed import kendall_tau, merit_auc, sealed_report
from harnesspro.core.stats import exact_share
from harnesspro.core.table import Row


def row(task, cluster, merit):
    return Row(task, cluster, cluster != NO_ANSWER, merit, cost_usd=0.001, latency_s=1.0)


def a_table(**answers):
    """name -> one (cluster, merit) a task."""
    return {
        name: {f"t{i}": row(f"t{i}", *answer) for i, answer in enumerate(given)}
        for name, given in answers.items()
    }


def graded(table, right):
    """A cluster that begins with `right` is right."""
    return {
        (name, task): one.cluster.startswith(right)
        for name, rows in table.items()
        for task, one in rows.items()
    }


SAME, GOOD, BAD = ("good", 0.6), ("good", 0.6), ("bad", 0.3)


def test_a_referee_that_always_prefers_the_right_answer_is_right_in_every_pair():
    table = a_table(base=[GOOD] * 10 + [BAD] * 10, v=[BAD] * 10 + [GOOD] * 10)
    sealed = sealed_report(table, graded(table, "good"), "base")

    assert sealed == SealedReport(
        n_tasks=20,
        n_harnesses=2,
        rank_correlation=None,
        discordant_hit_rate=exact_share(20, 20, alpha=0.10),
        auc=exact_share(20, 20, alpha=0.10),
    )


def test_a_referee_that_always_prefers_the_wrong_answer_is_never_right():
    table = a_table(base=[("bad", 0.9)] * 12, v=[("good", 0.1)] * 12)
    sealed = sealed_report(table, graded(table, "good"), "base")

    assert sealed is not None
    assert sealed.discordant_hit_rate == exact_share(0, 12, alpha=0.10)
    assert sealed.auc == exact_share(0, 12, alpha=0.10)


def test_a_tie_is_half_a_hit():
    table = a_table(base=[("bad", 0.5)] * 9, v=[("good", 0.5)] * 9)
    sealed = sealed_report(table, graded(table, "good"), "base")

    assert sealed is not None
    bounds = exact_share(4, 9, alpha=0.10)
    assert sealed.discordant_hit_rate == bounds.model_copy(update={"mean": 0.5})
    assert sealed.auc == Estimate(
        mean=0.5, low=bounds.low, high=exact_share(5, 9, alpha=0.10).high, n=9
    )


def test_equal_answers_and_answers_of_equal_worth_give_no_pair():
    both_wrong = [("bad", 0.4)], [("bad too", 0.2)]
    table = a_table(base=[SAME, *both_wrong[0]], v=[SAME, *both_wrong[1]])
    sealed = sealed_report(table, graded(table, "good"), "base")

    assert sealed == SealedReport(
        n_tasks=2, n_harnesses=2, rank_correlation=None, discordant_hit_rate=None, auc=None
    )


def test_a_task_gives_one_pair_however_many_variants_differ_on_it():
    table = a_table(base=[BAD] * 6, a=[GOOD] * 6, b=[GOOD] * 6, c=[GOOD] * 6)
    sealed = sealed_report(table, graded(table, "good"), "base")

    assert sealed is not None
    assert sealed.discordant_hit_rate == exact_share(6, 6, alpha=0.10)


def test_which_variant_a_task_gives_is_drawn_by_the_seed_and_the_task():
    wrong = ("bad", 0.9)
    n = 40
    table = a_table(base=[("base bad", 0.5)] * n, a=[GOOD] * n, b=[("good b", 0.1)] * n)
    table["c"] = {task: row(task, *wrong) for task in table["base"]}
    rates = {
        seed: sealed_report(table, graded(table, "good"), "base", seed=seed) for seed in (1, 1, 2)
    }
    hits = [one.discordant_hit_rate for one in rates.values() if one is not None]
    assert all(one is not None and one.n == n and 0.2 < one.mean < 0.8 for one in hits)
    assert hits[0] != hits[1]
    assert rates[1] == sealed_report(table, graded(table, "good"), "base", seed=1)


def test_only_tasks_graded_for_every_harness_count():
    table = a_table(base=[BAD, BAD, BAD], v=[GOOD, GOOD, GOOD])
    grades = graded(table, "good")
    del grades["v", "t1"], table["v"]["t2"]
    sealed = sealed_report(table, grades, "base")

    assert sealed is not None
    assert (sealed.n_tasks, sealed.discordant_hit_rate) == (1, exact_share(1, 1, alpha=0.10))


def test_without_a_grade_in_common_there_is_nothing_to_say():
    table = a_table(base=[BAD], v=[GOOD])
    assert sealed_report(table, {}, "base") is None
    assert sealed_report({"v": table["v"]}, graded(table, "good"), "base") is None
    one = sealed_report({"base": table["base"]}, graded(table, "good"), "base")
    assert one is not None
    assert (one.n_harnesses, one.discordant_hit_rate, one.auc) == (1, None, None)


def test_a_harness_without_a_grade_is_not_compared():
    table = a_table(base=[BAD], v=[GOOD], w=[GOOD])
    grades = {key: value for key, value in graded(table, "good").items() if key[0] != "w"}
    sealed = sealed_report(table, grades, "base")
    assert sealed is not None
    assert (sealed.n_harnesses, sealed.n_tasks) == (2, 1)


def test_a_missing_answer_teaches_nothing_of_the_score():
    table = a_table(base=[(NO_ANSWER, 0.0)] * 3, v=[GOOD] * 3)
    sealed = sealed_report(table, graded(table, "good"), "base")
    assert sealed is not None
    assert (sealed.discordant_hit_rate, sealed.auc) == (None, None)


def test_a_cluster_graded_both_ways_is_no_contrast():
    table = a_table(base=[("x", 0.5)], v=[("x", 0.5)], w=[("y", 0.2)])
    grades = {("base", "t0"): True, ("v", "t0"): False, ("w", "t0"): False}
    sealed = sealed_report(table, grades, "base")
    assert sealed is not None
    assert sealed.auc is None


def test_the_rank_is_of_the_scores_against_the_accuracies():
    table = a_table(
        base=[("good", 0.6), ("bad", 0.2), ("bad", 0.2)],
        v=[("good", 0.6), ("good", 0.7), ("bad", 0.2)],
        w=[("good", 0.6), ("good", 0.7), ("good", 0.7)],
    )
    sealed = sealed_report(table, graded(table, "good"), "base")
    turned = sealed_report(table, graded(table, "bad"), "base")
    assert sealed is not None
    assert turned is not None
    assert (sealed.rank_correlation, turned.rank_correlation) == (1.0, -1.0)


# --- the parts ---------------------------------------------------------------------------------


def test_tau_counts_pairs_in_order_against_pairs_out_of_order():
    assert kendall_tau([1, 2, 3, 4], [1, 2, 4, 3]) == pytest.approx(4 / 6)
    assert kendall_tau([1, 1, 2], [1, 2, 3]) == pytest.approx(2 / (2 * 3) ** 0.5)
    assert kendall_tau([1, 1, 1], [1, 2, 3]) is None
    assert kendall_tau([0.1 + 0.2, 0.3, 0.3], [1, 2, 3]) is None


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=8))
def test_tau_is_that_of_the_textbook(pairs):
    a, b = [x for x, _ in pairs], [y for _, y in pairs]
    if len(set(a)) > 1 and len(set(b)) > 1:
        assert kendall_tau(a, b) == pytest.approx(kendalltau(a, b).statistic)
    else:
        assert kendall_tau(a, b) is None


def test_the_auc_of_a_task_is_over_its_right_and_wrong_clusters():
    merits = {"t": {"a": 0.5, "b": 0.3, "c": 0.4}}
    right = {"a": True, "b": True, "c": False}
    found = merit_auc(merits, {"t": right})
    assert found is not None
    assert (found.mean, found.low, found.high, found.n) == (0.5, 0.0, 1.0, 1)
    every = [merit_auc(merits, {"t": dict(order)}) for order in permutations(right.items())]
    assert every == [found] * 6
