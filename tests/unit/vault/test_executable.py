"""What goes into the sandbox and what is made of its end; the sandbox is one that keeps what it got."""

import json
from typing import Any

import pytest

from harnesspro.checks.code_values import encode
from harnesspro.core.errors import HarnessProError
from harnesspro.core.ports import SandboxResult, SandboxSpec
from harnesspro.vault.executable import CodeGrader

EXPECTED = "an-expected-value-found-nowhere-else"
GOLD = {
    "function": "f",
    "preamble": "import math",
    "cases": [{"args": ["one"], "value": EXPECTED}, {"args": ["two"], "value": [EXPECTED]}],
}
RIGHT = {"case0": {"value": encode(EXPECTED)}, "case1": {"value": encode([EXPECTED])}}


class Keeping:
    """Implements `Sandbox`: ends each start as told and keeps its spec."""

    level = "S3"

    def __init__(self, *ends: SandboxResult) -> None:
        self.ends, self.specs = list(ends), list[SandboxSpec]()

    def run(self, spec: SandboxSpec) -> SandboxResult:
        self.specs.append(spec)
        return self.ends.pop(0)


def ended(value: Any = None, **changes: Any) -> SandboxResult:
    data = None if value is None else json.dumps(value).encode()
    fields: dict[str, Any] = {
        "ended": "exited",
        "exit_code": 0,
        "result": data,
        "stderr": "",
        "wall_s": 0.1,
    }
    return SandboxResult(**(fields | changes))


def grader(*ends: SandboxResult) -> tuple[CodeGrader, Keeping]:
    sandbox = Keeping(*ends)
    return CodeGrader(lambda: sandbox, empty_dir="/empty"), sandbox


def test_arguments_go_in_and_no_expected_value_does():
    code, sandbox = grader(ended(RIGHT))
    assert code.is_right("def f(x): ...", GOLD)
    (spec,) = sandbox.specs
    task = json.loads(spec.payload)
    assert task["files"] == {"answer.py": "def f(x): ..."}
    assert (task["function"], task["preamble"], spec.broker) == ("f", "import math", False)
    assert task["calls"] == {
        "case0": {"args": encode(["one"]), "kwargs": encode({})},
        "case1": {"args": encode(["two"]), "kwargs": encode({})},
    }
    assert EXPECTED not in spec.payload + "".join(spec.files.values()) + "".join(spec.argv or ())


def test_the_interpreter_takes_nothing_from_its_surroundings():
    code, sandbox = grader(ended(RIGHT))
    code.is_right("x", GOLD)
    assert sandbox.specs[0].argv is not None
    assert sandbox.specs[0].argv[1:] == ("-I", "-S", "-B", "runner.py")
    assert sandbox.specs[0].code_dir == "/empty"


@pytest.mark.parametrize(
    "end",
    [
        ended({}),
        ended({"case0": RIGHT["case0"]}),
        ended(None),
        ended(RIGHT, exit_code=1),
        ended(RIGHT, ended="wall", exit_code=None),
        ended(RIGHT, ended="output", exit_code=None),
        ended(RIGHT, ended="killed", exit_code=None),
        ended("right"),
        ended({**RIGHT, "case2": {"value": None}}),
        ended(result=b"[" * 100_000),
        ended(result=b"\xff"),
    ],
)
def test_only_a_whole_result_of_a_start_that_ended_by_itself_is_right(end):
    assert not grader(end)[0].is_right("def f(x): ...", GOLD)


def test_a_start_that_never_began_is_no_grade():
    refused = ended(ended="refused", exit_code=None)
    code, sandbox = grader(refused, refused, ended(RIGHT))
    assert code.is_right("def f(x): ...", GOLD)
    assert len(sandbox.specs) == 3
    with pytest.raises(HarnessProError, match="could not be started"):
        grader(refused, refused, refused)[0].is_right("def f(x): ...", GOLD)


def test_one_answer_is_run_once_whoever_gave_it():
    code, sandbox = grader(ended(RIGHT), ended({}))
    assert [code.is_right("a", GOLD), code.is_right("a", GOLD), code.is_right("b", GOLD)] == [
        True,
        True,
        False,
    ]
    assert len(sandbox.specs) == 2


@pytest.mark.parametrize(
    "answer",
    [
        None,
        1,
        [],
        {},
        {"other.py": "x"},
        {"answer.py": 1},
        {"answer.py": "x", "../up.py": "x"},
        {"answer.py": "x", "/etc/x": "x"},
        {"answer.py": "x" * 3_000_000},
    ],
)
def test_what_is_no_tree_of_texts_is_wrong_and_not_run(answer):
    code, sandbox = grader()
    assert not code.is_right(answer, GOLD)
    assert sandbox.specs == []
