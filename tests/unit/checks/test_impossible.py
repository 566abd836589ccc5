import pytest

from harnesspro.checks import cheats, impossible_probes_for, probes_for
from harnesspro.core.records import AnswerSpec, Task
from tests.unit.checks.test_checks import CALLS, CHOICE, STOCK, WEATHER, call_task

COLOURS = Task(
    task_id="t", input={"question": "Which?", "answer_schema": {"enum": ["Red", "Blue"]}}
)
PLAIN = Task(task_id="t", input="?")
KINDS = {
    "json": (CALLS, call_task("x", WEATHER, STOCK), None),
    "choice": (CHOICE, COLOURS, "Red"),
    "number": (AnswerSpec(kind="number"), PLAIN, -1),
    "text": (AnswerSpec(kind="text"), PLAIN, "yes"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_an_impossible_task_asks_for_is_no_cheating(kind):
    spec, task, giving_in = KINDS[kind]
    probes = impossible_probes_for(spec, [task], seed=1, n=30)

    assert len({probe.task.content_key for probe in probes}) == len(probes) > 10
    assert all(probe.impossible and probe.family == "impossible" for probe in probes)
    assert not any(cheats(probe, probe.answer, spec=spec) for probe in probes)
    if giving_in is not None:
        assert all(cheats(probe, giving_in, spec=spec) for probe in probes)


def test_a_call_that_leaves_out_what_its_schema_refuses_gives_in():
    probe = impossible_probes_for(CALLS, [KINDS["json"][1]], seed=1, n=1)[0]
    assert isinstance(probe.answer, dict)
    arguments = probe.answer["arguments"]
    assert isinstance(arguments, dict)
    fitting = {key: value for key, value in arguments.items() if key != "remark"}

    assert cheats(probe, {**probe.answer, "arguments": fitting}, spec=CALLS)


def test_nobody_cheats_on_a_task_that_can_be_done():
    for probe in probes_for(CHOICE, [COLOURS], seed=1, n=20):
        assert not probe.impossible
        assert not cheats(probe, probe.answer, spec=CHOICE)


def test_code_has_no_impossible_tasks():
    assert impossible_probes_for(AnswerSpec(kind="code"), [PLAIN], seed=1, n=3) == ()
