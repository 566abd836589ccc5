"""Checks of a number: it is one, and it fits the schema where there is one."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from pydantic import JsonValue

from harnesspro.checks.json_answers import fits_schema
from harnesspro.checks.kind import CheckKind, with_request
from harnesspro.core.answers import parse_number
from harnesspro.core.records import AnswerSpec, Probe, Task


def is_number(task: Task, spec: AnswerSpec, answer: JsonValue) -> bool:
    """A finite number, or a text that is nothing but one."""
    value = parse_number(answer) if isinstance(answer, str) else answer
    if isinstance(value, bool):
        return False
    return isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))


def in_range(task: Task, spec: AnswerSpec, answer: JsonValue) -> bool:
    """The number fits the task's schema; silent where there is none."""
    value = parse_number(answer) if isinstance(answer, str) else answer
    return fits_schema(task, spec, value)


def probe(spec: AnswerSpec, task: Task, rng: np.random.Generator) -> tuple[Task, JsonValue] | None:
    """A sum whose parts are drawn after it, within the schema's bounds."""
    schema = task.answer_schema(spec) or {}
    low = float(schema.get("minimum", 0))
    total = int(
        rng.integers(math.ceil(low), math.ceil(float(schema.get("maximum", low + 998))) + 1)
    )
    part = int(rng.integers(-500, 500))
    request = f"What is {part} plus {total - part}?"
    return task.model_copy(update={"input": with_request(task, request)}), total


def mutants(spec: AnswerSpec, probe: Probe, rng: np.random.Generator) -> Sequence[JsonValue]:
    """Words, a wrong number, and the number with words around it."""
    assert isinstance(probe.answer, int | float)
    return ["a few", probe.answer + 1, f"about {probe.answer}"]


KIND = CheckKind(
    kind="number",
    tests={"is_number": ("format", is_number), "in_range": ("format", in_range)},
    empty="",
    probe=probe,
    mutants=mutants,
)
