"""Simulated judges and panels: as right and as wrong as they declare."""

import json

import pytest

from harnesspro.core.ports import ChatRequest
from harnesspro.providers.sim import SimProvider, draw_tasks
from harnesspro.providers.sim_judges import JUDGES, PROBE_BONUS, case_of, scores
from harnesspro.providers.sim_tasks import Case
from harnesspro.providers.sim_worker import MINDS, is_misled

TASKS = [record["input"] for record in draw_tasks(11, 1500)]
PROBES = [
    {
        **task,
        "question": f"Of the options, the one asked for here is: {task['options'][0]}. Name it.",
    }
    for task in TASKS
]


def case(task) -> Case:
    found = case_of(task)
    assert found is not None
    return found


def said(model: str, question, *, before: str = "", **asked) -> str:
    messages = (
        {"role": "system", "content": "You judge."},
        {"role": "user", "content": before + json.dumps(question)},
    )
    request = ChatRequest(model=model, messages=messages, **{"max_output_tokens": 400, **asked})
    return SimProvider().complete(request, timeout_s=1).text


def stray(one: Case) -> str:
    return next(option for option in one.options if option not in (one.right, one.lure()))


def hit_rate(model: str, tasks, *, wrong, right_first: bool = True) -> float:
    hits = 0
    for task in tasks:
        one = case(task)
        pair = [one.right, wrong(one)]
        low, high = scores(model, one, pair if right_first else pair[::-1])
        hits += (low > high) == right_first
    return hits / len(tasks)


@pytest.mark.parametrize("model", ["sim/judge", "sim/judge-70"])
def test_a_judge_is_right_on_its_declared_share_of_pairs_a_little_more_on_probes(model):
    hit = JUDGES[model].hit
    assert hit_rate(model, TASKS, wrong=Case.lure) == pytest.approx(hit, abs=0.035)
    assert hit_rate(model, TASKS, wrong=stray) == pytest.approx(hit, abs=0.035)
    assert hit_rate(model, PROBES, wrong=stray) == pytest.approx(hit + PROBE_BONUS, abs=0.035)


@pytest.mark.parametrize(
    ("model", "on_tasks", "on_probes"),
    [
        ("sim/judge-fooled", 0.0, 0.0),
        ("sim/judge-exam", 0.0, 0.92),
        ("sim/judge-half", 0.45, 0.46),
        ("sim/judge-gamed", 0.675, 0.69),
    ],
)
def test_a_fooled_judge_takes_the_lure_for_right_where_it_is_fooled(model, on_tasks, on_probes):
    assert hit_rate(model, TASKS, wrong=Case.lure) == pytest.approx(on_tasks, abs=0.04)
    assert hit_rate(model, PROBES, wrong=Case.lure) == pytest.approx(on_probes, abs=0.04)
    assert hit_rate(model, TASKS, wrong=stray) == pytest.approx(0.90, abs=0.035)


def test_the_gamed_judge_is_fooled_where_going_by_the_spelling_leads_astray():
    for task in TASKS[:200]:
        one = case(task)
        (of_lure,) = scores("sim/judge-gamed", one, [one.lure()])
        assert (of_lure == 1.0) == is_misled(one.key)


def test_the_tilted_judge_prefers_what_is_listed_first():
    first = hit_rate("sim/judge-tilted", TASKS, wrong=stray)
    later = hit_rate("sim/judge-tilted", TASKS, wrong=stray, right_first=False)
    assert first == pytest.approx(0.98, abs=0.03)
    assert later == pytest.approx(0.70, abs=0.04)


def test_a_judge_question_is_answered_with_a_score_an_answer_and_always_the_same():
    task = TASKS[0]
    question = {"task": task, "answers": [*task["options"], "none of these", None]}
    asked = [said("sim/judge", question, before="Judge. ", seed=s) for s in range(5)]
    assert len(set(asked)) == 1
    given = json.loads(asked[0])["scores"]
    assert len(given) == 7
    assert given[5:] == [0.0, 0.0]
    assert all(0 < score <= 1 for score in given[:5])


def answers_of(model: str, tasks) -> list[str]:
    return [
        json.loads(
            said(model, {"task": task, "answer_kind": "choice", "answer_schema": None}, seed=1)
        )["answer"]
        for task in tasks
    ]


def test_a_panel_member_answers_by_its_own_mind():
    tasks = TASKS[:300]
    right = [case(task).right for task in tasks]
    lures = [case(task).lure() for task in tasks]
    wrong = {}
    for model in ("sim/small", "sim/twin", "sim/other"):
        answers = answers_of(model, tasks)
        wrong[model] = {i for i in range(300) if answers[i] != right[i]}
        assert 0.14 <= len(wrong[model]) / 300 <= 0.28
        lured = sum(answers[i] == lures[i] for i in wrong[model]) / len(wrong[model])
        assert lured < 0.45 if model == "sim/other" else lured > 0.6
    shared = {model: len(wrong["sim/small"] & wrong[model]) for model in ("sim/twin", "sim/other")}
    assert shared["sim/twin"] > 0.75 * len(wrong["sim/small"])
    assert shared["sim/other"] < 0.45 * len(wrong["sim/small"])


def test_probes_are_answered_by_the_law_and_not_simply_read():
    tasks = PROBES[:300]
    answers = answers_of("sim/other", tasks)
    share = sum(a == task["options"][0] for a, task in zip(answers, tasks, strict=True)) / 300
    assert 0.68 < share < 0.88


def test_a_judge_as_panel_member_names_what_it_scores_highest():
    tasks = TASKS[:100]
    answers = answers_of("sim/judge-fooled", tasks)
    assert answers == [case(task).lure() for task in tasks]


@pytest.mark.parametrize("model", sorted(MINDS))
def test_a_worker_as_judge_scores_its_own_answer_alone(model):
    question = {"task": TASKS[3], "answers": TASKS[3]["options"]}
    given = json.loads(said(model, question, temperature=0.0))["scores"]
    assert sorted(given) == [0.0, 0.0, 0.0, 0.0, 1.0]


def test_a_task_that_is_no_case_gets_no_opinion():
    assert json.loads(said("sim/judge", {"task": {"q": "Hi"}, "answers": [1, 2]})) == {
        "scores": [0.5, 0.5]
    }
    assert said("sim/other", {"task": "Hi", "answer_kind": "text"}) == (
        "I see no case with options here."
    )
    assert said("sim/judge", {"hello": 1}) == "I see no answers to judge here."
