"""The library of right functions, the bugs put into them, and the tasks made of both."""

import ast

import pytest

from harnesspro.checks import checks_for, mutants, passes, probes_for
from harnesspro.checks.code_admission import measured_program
from harnesspro.checks.code_examples import examples_of
from harnesspro.checks.code_inputs import inputs_of
from harnesspro.checks.code_library import REFERENCES
from harnesspro.checks.code_mutants import mutants_of
from harnesspro.checks.code_probes import behaviour_of, family_of, made
from harnesspro.checks.code_task import asked_of
from harnesspro.core.records import AnswerSpec, Check, Task

CODE = AnswerSpec(kind="code", language="python")
WRITE = Task(task_id="t", input={"prompt": "def f(x):\n    '''Words.'''", "entry_point": "f"})
MEND = Task(task_id="t", input={"prompt": "Mend it.", "code": "def f(x):\n    return x"})
FORMAT = {check.name: check for check in checks_for(CODE) if check.writer == "schema"}


def ids(reference):
    return reference.name


# --- the library -------------------------------------------------------------------------------


def test_the_library_holds_forty_functions_or_more_of_different_names():
    assert len({reference.name for reference in REFERENCES}) == len(REFERENCES) >= 40


@pytest.mark.parametrize("reference", REFERENCES, ids=ids)
def test_a_function_of_the_library_ends_by_itself_and_has_bugs_to_find(reference):
    for k in reference.constants:
        function = made(reference, reference.name, k)
        tree = ast.parse(function.source)
        calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
        assert not [node for node in ast.walk(tree) if isinstance(node, ast.While)]
        assert reference.name not in {call.id for call in calls if isinstance(call, ast.Name)}
        assert len(function.wrong) >= 2


@pytest.mark.parametrize("reference", REFERENCES, ids=ids)
def test_the_examples_in_a_docstring_are_what_the_function_gives(reference):
    function = made(reference, reference.name, reference.constants[-1])
    asked = asked_of(function.prompt)
    assert asked is not None
    examples = examples_of(asked.name, asked.doc)
    given = behaviour_of(function.source, asked.name, [example.args for example in examples])
    shown = behaviour_of(
        "def echo(value): return value", "echo", [(example.expected,) for example in examples]
    )
    assert len(examples) >= 2
    assert given == shown


@pytest.mark.parametrize("reference", REFERENCES, ids=ids)
def test_a_function_gives_a_value_on_every_input_of_its_kinds(reference):
    function = made(reference, reference.name, reference.constants[0])
    asked = asked_of(function.prompt)
    assert asked is not None
    given = behaviour_of(function.source, asked.name, inputs_of(asked, ()))
    assert [words for words in given if isinstance(words, list) and words[:1] == ["raised"]] == []


# --- mutants -----------------------------------------------------------------------------------


def test_a_mutant_is_one_step_away():
    assert set(mutants_of("def f(x):\n    return x < 2 and not x + 1")) >= {
        "def f(x):\n    return x <= 2 and (not x + 1)",
        "def f(x):\n    return x < 3 and (not x + 1)",
        "def f(x):\n    return x < 2 or not x + 1",
        "def f(x):\n    return x < 2 and (not x - 1)",
        "def f(x):\n    return None",
    }
    assert mutants_of("def f(x:") == ()


# --- probes ------------------------------------------------------------------------------------


def test_probes_have_the_shape_of_the_tasks_and_vary():
    probes = probes_for(CODE, [WRITE], seed=1, n=40)
    inputs = [probe.task.input for probe in probes]
    assert {tuple(sorted(value)) for value in inputs if isinstance(value, dict)} == {
        ("entry_point", "prompt")
    }
    assert len({str(value) for value in inputs}) >= 38
    assert {family_of(probe.task) for probe in probes} == {"injected_bug", "known_program"}


def test_tasks_that_bring_code_to_mend_are_followed_by_such():
    probes = probes_for(CODE, [MEND], seed=2, n=10)
    for probe in probes:
        assert isinstance(probe.task.input, dict)
        asked = asked_of(probe.task.input)
        assert asked is not None
        assert asked.code == probe.task.input["code"] != probe.answer
    assert {family_of(probe.task) for probe in probes} == {"injected_bug"}


def test_a_task_of_words_alone_is_followed_by_words():
    (probe,) = probes_for(CODE, [Task(task_id="t", input="def f(x): ...")], seed=3, n=1)
    assert isinstance(probe.task.input, str)


def test_no_probe_is_made_in_a_language_that_none_is_known_in():
    assert probes_for(AnswerSpec(kind="code", language="c"), [WRITE], seed=1, n=3) == ()


def test_the_right_program_passes_the_format_checks_and_mutants_behave_otherwise():
    for probe in probes_for(CODE, [WRITE], seed=4, n=8):
        assert all(passes(check, probe.task, CODE, probe.answer) for check in FORMAT.values())
        asked = asked_of(probe.task.input)
        assert asked is not None
        inputs = inputs_of(asked, ())
        right = behaviour_of(str(probe.answer), asked.name, inputs)
        wrong = [str(text) for text in mutants(probe, CODE, seed=5)[:-2]]
        assert wrong
        assert all(behaviour_of(text, asked.name, inputs) != right for text in wrong)


# --- form --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "parses", "defines"),
    [
        ("def f(x):\n    return x", True, True),
        ("import os\ndef f(x, extra=1):\n    return x", True, True),
        ("def f(*args):\n    return 1", True, True),
        ("def f():\n    return 1", True, False),
        ("def f(x, y):\n    return x", True, False),
        ("def f(x, *, k):\n    return x", True, False),
        ("def g(x):\n    return x", True, False),
        ("f = 3", True, False),
        ("```python\ndef f(x): pass\n```", False, False),
        ("def f(x:", False, False),
        ("", False, False),
        ("x = '\0'", False, False),
        (3, False, False),
        ({"a": 1}, False, False),
    ],
)
def test_the_form_of_an_answer(answer, parses, defines):
    found = {name: passes(check, WRITE, CODE, answer) for name, check in FORMAT.items()}
    assert found == {"is_python": parses, "defines_the_function": defines}


def test_another_language_has_no_form_that_is_known():
    c = AnswerSpec(kind="code", language="c")
    assert all(passes(check, WRITE, c, "int f(int x);") for check in FORMAT.values())


# --- admission ---------------------------------------------------------------------------------

SOME = Check(check_id="c", family="example", name="examples_hold", writer="program", program="p")


@pytest.mark.parametrize(
    ("right", "wrong", "admitted", "reason"),
    [
        ([1.0] * 20, [0.5, 1.0], True, "stops 1 of 2 wrong answers, refuses 0 of 20 true ones"),
        ([None, *[1.0] * 20], [0.0], True, "stops 1 of 1 wrong answers, refuses 0 of 20 true ones"),
        ([0.9, *[1.0] * 9], [0.0], False, "refuses 1 of 10 true ones; more than 5 % is too many"),
        ([1.0] * 20, [1.0, None], False, "stops none of 2 wrong answers"),
        ([None], [0.0], False, "says nothing of any probe"),
    ],
)
def test_a_program_is_admitted_by_what_it_said_where_the_truth_is_known(
    right, wrong, admitted, reason
):
    found = measured_program(SOME, right, wrong)
    assert (found.admitted, reason in found.reason) == (admitted, True)
