"""Answers and patches made to break whatever reads them: a run must judge them, never end by them."""

import itertools
from typing import Any

import pytest

from harnesspro.checks import checks_for, passes
from harnesspro.core.answers import cluster
from harnesspro.core.errors import ConfigError
from harnesspro.core.records import AnswerSpec, Patch, SetKey, Task
from harnesspro.formats.native import apply_patch
from tests.unit.builders import a_harness

HUGE = 10**400
SCHEMA = {
    "oneOf": [
        {
            "properties": {
                "name": {"const": "f"},
                "arguments": {"properties": {"a": {"type": "number", "multipleOf": 0.1}}},
            }
        }
    ]
}
TASKS = [
    Task(task_id="t", input={"request": "f of 2 and ² and ٣", "answer_schema": schema})
    for schema in (SCHEMA, {"pattern": "("}, {"multipleOf": 0.5}, {"enum": [1, "²"]})
]


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = {"k": value}
    return value


ANSWERS: list[Any] = [
    HUGE,
    -HUGE,
    "9" * 4000,
    "1" * 99 + "e99999",
    "²",
    "٣²",
    "((((",
    {"name": "f", "arguments": {"a": HUGE}},
    {"name": "f", "arguments": {"a": "²"}},
    {"name": "f", "arguments": {"a": ["[(*+", HUGE, "٣²"]}},
    {"name": ["f"], "arguments": nested(90)},
    {"name": {}, "arguments": {}},
]


@pytest.mark.parametrize("kind", ["json", "choice", "number", "text"])
def test_no_answer_ends_the_run_that_checks_it(kind: Any) -> None:
    spec = AnswerSpec(kind=kind, answer_schema="task")
    for task, check, answer in itertools.product(TASKS, checks_for(spec), ANSWERS):
        assert passes(check, task, spec, answer) in (True, False)
        assert cluster(kind, "answered", answer).startswith("a-")


@pytest.mark.parametrize("value", [[], {}, [[0.5]], None, True, "0.5", HUGE])
def test_no_patch_ends_the_run_that_admits_it(value: Any) -> None:
    base = a_harness(temperature=0.5)
    patch = Patch(
        parent_id=base.harness_id,
        edits=(SetKey(path="budgets.yaml", key="temperature", value=value),),
        direction="cost",
        proposer="planner:cost",
        summary="turn a dial into something else",
    )
    with pytest.raises(ConfigError):
        apply_patch(base, patch)
