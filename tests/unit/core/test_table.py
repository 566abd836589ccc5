from harnesspro.core.answers import NO_ANSWER
from harnesspro.core.records import Referee, Trial
from harnesspro.core.referee import judge_answers
from harnesspro.core.table import Changed, Row, answers_of, build_table, changed, restrict


def trial(harness, task, answer, draw="search/0", outcome="answered", cost=1_000_000):
    return Trial(
        trial_id=f"{harness}-{task}-{draw}",
        harness_id=harness,
        task_id=task,
        draw=draw,
        outcome=outcome,
        answer=answer,
        cost_nanos=cost,
        latency_s=2.0,
    )


def row(task, key, merit=1.0):
    return Row(task, key, answered=key != NO_ANSWER, merit=merit, cost_usd=0.001, latency_s=2.0)


def test_voids_are_absent_and_no_answer_is_a_row():
    found = answers_of(
        [trial("v", "t1", None, outcome="void"), trial("v", "t2", None, outcome="crashed")], "text"
    )

    assert {task: answer.cluster for task, answer in found["v"].items()} == {"t2": NO_ANSWER}


def test_of_several_draws_the_first_answers_and_cost_is_their_mean():
    trials = [
        trial("v", "t", "late", draw="search/1", cost=3_000_000),
        trial("v", "t", "early", draw="search/0", cost=1_000_000),
    ]
    found, first = answers_of(trials, "text")["v"]["t"], answers_of(trials[1:], "text")["v"]["t"]

    assert (found.cluster, found.cost_usd) == (first.cluster, 0.002)


def test_a_table_carries_the_merit_of_each_cluster():
    answers = answers_of([trial("a", "t", "x"), trial("b", "t", None, outcome="limit")], "text")
    key = answers["a"]["t"].cluster
    merits = judge_answers(Referee(checks=(), weights={}), answers, {("t", key): {}})

    assert build_table(answers, merits) == {
        "a": {"t": row("t", key, merit=merits["t"][key])},
        "b": {"t": row("t", NO_ANSWER, merit=0.0)},
    }
    assert merits["t"][key] > 0.9


def test_changed_counts_shared_tasks_only_and_two_missing_answers_agree():
    a = {key: row(key, cluster) for key, cluster in (("1", "x"), ("2", NO_ANSWER), ("3", "y"))}
    b = {key: row(key, cluster) for key, cluster in (("1", "z"), ("2", NO_ANSWER), ("4", "y"))}

    assert changed(a, b) == Changed(changed=1, n=2)
    assert changed(a, {}).share is None


def test_restricting_leaves_absent_rows_absent():
    table = {"a": {"1": row("1", "x")}, "b": {"2": row("2", "x")}}

    assert restrict(table, candidate_ids=("a", "c"), task_ids=("1", "2")) == {
        "a": {"1": row("1", "x")}
    }
