import math

import pytest

from harnesspro.checks import checks_for
from harnesspro.core.answers import NO_ANSWER, cluster
from harnesspro.core.records import AnswerSpec, Check
from harnesspro.core.referee import NULL_MASS, freeze
from harnesspro.core.table import Changed, Row
from harnesspro.stages.score import own_disagreement, table_of
from tests.unit.stages.trials import a_task, a_trial

CHOICE = AnswerSpec(kind="choice", answer_schema="task")
TASKS = {
    name: a_task(name, input={"request": name, "answer_schema": {"enum": ["red", "blue"]}})
    for name in ("t1", "t2")
}
IN_OPTIONS = checks_for(CHOICE)[0].model_copy(update={"admitted": True})
OWNERS = Check(check_id="c-own", family="user", name="mine", writer="user", admitted=True)
SILENT = freeze(())


def key(answer):
    return cluster("choice", "answered", answer)


def table(*trials, referee=SILENT, owner_results=None):
    return table_of(trials, TASKS, spec=CHOICE, referee=referee, owner_results=owner_results or {})


def merits(*trials, **judged):
    rows = table(*trials, **judged)
    return {name: by_task["t1"].merit for name, by_task in rows.items()}


UNMEASURED, OWNED = math.log(0.7 / 0.3), math.log(0.95 / 0.05)


def share(passed, *, of, weight=UNMEASURED):
    """The formula of the referee: a cluster that passed this much, beside the others' shares."""
    mass = [math.exp(weight * (x - 1)) for x in of]
    return pytest.approx(math.exp(weight * (passed - 1)) / (sum(mass) + NULL_MASS))


def test_a_trial_is_a_row_with_its_cluster_its_cost_and_its_latency():
    found = table(a_trial(answer="red"), a_trial("t2", outcome="limit", cost_nanos=9))
    merit = found["h"]["t1"].merit

    assert merit == share(1, of=(1,))
    assert found == {
        "h": {
            "t1": Row("t1", key("red"), True, merit, 1e-6, 2.0),
            "t2": Row("t2", NO_ANSWER, False, 0.0, 9e-9, 2.0),
        }
    }


def test_void_trials_are_absent_and_never_zero():
    void = a_trial("t2", outcome="void")
    assert table(a_trial(answer="red"), void) == table(a_trial(answer="red"))
    assert table(void) == {}


def test_the_same_answer_written_otherwise_is_one_cluster():
    rows = table(a_trial(answer="Red "), a_trial(answer="red", harness_id="v"))
    assert rows["h"]["t1"].cluster == rows["v"]["t1"].cluster
    assert rows["h"]["t1"].merit == rows["v"]["t1"].merit


def test_a_silent_referee_prefers_no_answer_over_another():
    found = merits(a_trial(answer="red"), a_trial(answer="green", harness_id="v"))
    assert found["h"] == found["v"] == share(1, of=(1, 1))


def test_an_answer_that_fails_an_admitted_check_is_worth_less():
    checked = IN_OPTIONS.model_copy(update={"kill_rate": 1.0})
    found = merits(
        a_trial(answer="red"),
        a_trial(answer="green", harness_id="v"),
        referee=freeze((checked,)),
    )
    assert found == {"h": share(1, of=(1, 0)), "v": share(0, of=(1, 0))}


def test_a_check_that_was_not_admitted_is_not_asked():
    unknown = OWNERS.model_copy(update={"admitted": False})
    referee = freeze((IN_OPTIONS,)).model_copy(update={"checks": (IN_OPTIONS, unknown)})
    assert merits(a_trial(answer="red"), referee=referee) == {"h": share(1, of=(1,))}


def test_the_owners_checks_are_read_from_the_record_by_task_and_answer():
    results = {
        ("c-own", "t1", key("red")): False,
        ("c-own", "t1", key("blue")): True,
        ("c-own", "t2", key("red")): True,
    }
    found = merits(
        a_trial(answer="red"),
        a_trial(answer="blue", harness_id="v"),
        referee=freeze((OWNERS,)),
        owner_results=results,
    )
    assert found == {
        "h": share(0, of=(0, 1), weight=OWNED),
        "v": share(1, of=(0, 1), weight=OWNED),
    }


def opinion(name):
    return Check(check_id=f"c-{name}", family=name, name=name, writer="program", admitted=True)


def test_fractions_count_as_fractions_and_a_check_that_is_silent_counts_nowhere():
    results = {
        ("c-half", "t1", key("red")): 0.5,
        ("c-half", "t1", key("blue")): 1.0,
        ("c-mute", "t2", key("red")): 1.0,
    }
    found = merits(
        a_trial(answer="red"),
        a_trial(answer="blue", harness_id="v"),
        referee=freeze((opinion("half"), opinion("mute"))),
        owner_results=results,
    )
    assert found == {"h": share(0.5, of=(0.5, 1)), "v": share(1, of=(0.5, 1))}


def test_the_panels_votes_move_merit_towards_its_answer():
    rows = table_of(
        [a_trial(answer="red"), a_trial(answer="blue", harness_id="v")],
        TASKS,
        spec=CHOICE,
        referee=freeze((), ("panel:m",)),
        owner_results={},
        votes={"t1": {key("blue"): 1.0}},
    )
    assert rows["v"]["t1"].merit > 2 * rows["h"]["t1"].merit


def test_answers_that_behave_alike_are_one_cluster_with_one_merit():
    alike = {("t1", key("red")): "b-1", ("t1", key("blue")): "b-1"}
    rows = table_of(
        [a_trial(answer="red"), a_trial(answer="blue", harness_id="v")],
        TASKS,
        spec=CHOICE,
        referee=SILENT,
        owner_results={},
        behaviours=alike,
    )
    assert rows["h"]["t1"].cluster == rows["v"]["t1"].cluster == "b-1"


# --- how much a harness disagrees with itself --------------------------------------------------


def draws(*answers):
    """Draw k of task t_i answered so; None is no trial."""
    return [
        a_trial(f"t{i}", answer, draw=f"search/{k}")
        for k, row in enumerate(answers)
        for i, answer in enumerate(row)
        if answer is not None
    ]


def test_disagreement_is_counted_over_the_tasks_drawn_twice():
    two = draws(["a", "b", "c", "d"], ["a", "x", "C", None])
    assert own_disagreement(two, CHOICE) == Changed(changed=1, n=3)


def test_draws_that_behave_alike_agree():
    two = draws(["a"], ["b"])
    alike = {("t0", key("a")): "b-1", ("t0", key("b")): "b-1"}
    assert own_disagreement(two, CHOICE, behaviours=alike) == Changed(changed=0, n=1)


def test_a_third_draw_does_not_count():
    three = draws(["a", "b"], ["a", "b"], ["x", "x"])
    assert own_disagreement(three, CHOICE) == Changed(changed=0, n=2)


def test_one_draw_disagrees_with_nothing():
    assert own_disagreement(draws(["a", "b"]), CHOICE) == Changed(changed=0, n=0)
    assert own_disagreement([], CHOICE).share is None


def test_two_failures_agree_and_a_void_is_not_counted():
    def pair(first, second):
        return [
            a_trial("t1", outcome=first, draw="search/0"),
            a_trial("t1", outcome=second, draw="search/1"),
        ]

    assert own_disagreement(pair("crashed", "limit"), CHOICE) == Changed(changed=0, n=1)
    assert own_disagreement(pair("answered", "limit"), CHOICE) == Changed(changed=1, n=1)
    assert own_disagreement(pair("answered", "void"), CHOICE) == Changed(changed=0, n=0)
