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


def sum_of_parts(
    spec: AnswerSpec, task: Task, rng: np.random.Generator
) -> tuple[Task, JsonValue] | None:
    """A sum whose parts are drawn after it, within the schema's bounds."""
    total = _target(spec, task, rng)
    part = int(rng.integers(-500, 500))
    return _asking(task, f"What is {part} plus {total - part}?"), total


def undone(spec: AnswerSpec, task: Task, rng: np.random.Generator) -> tuple[Task, JsonValue] | None:
    """The number something was done to, from what came of it."""
    start = _target(spec, task, rng)
    factor, more = int(rng.integers(2, 13)), int(rng.integers(-60, 60))
    result = start * factor + more
    request = (
        f"I thought of a number, multiplied it by {factor} and added {more}. The result was {result}. "
        "Which number did I think of?"
    )
    return _asking(task, request), start


def in_a_story(
    spec: AnswerSpec, task: Task, rng: np.random.Generator
) -> tuple[Task, JsonValue] | None:
    """A few steps told in words, with a number that does not matter; None for fewer than no lamps."""
    left = _target(spec, task, rng)
    if left < 0:
        return None
    boxes, each = int(rng.integers(3, 30)), int(rng.integers(4, 40))
    aside = int(rng.integers(2, 90))
    gone = boxes * each - left
    moved = f"{gone} are sold" if gone >= 0 else f"{-gone} more are delivered"
    request = (
        f"A shop {aside} metres from the station gets {boxes} boxes of {each} lamps. By evening {moved}. "
        "How many lamps does it have now?"
    )
    return _asking(task, request), left


def _target(spec: AnswerSpec, task: Task, rng: np.random.Generator) -> int:
    """A whole number within the schema's bounds."""
    schema = task.answer_schema(spec) or {}
    low = float(schema.get("minimum", 0))
    high = float(schema.get("maximum", low + 998))
    return int(rng.integers(math.ceil(low), math.floor(max(high, math.ceil(low))) + 1))


def _asking(task: Task, request: str) -> Task:
    return task.model_copy(update={"input": with_request(task, request)})


def mutants(spec: AnswerSpec, probe: Probe, rng: np.random.Generator) -> Sequence[JsonValue]:
    """Words, a wrong number, and the number with words around it."""
    assert isinstance(probe.answer, int | float)
    return ["a few", probe.answer + 1, f"about {probe.answer}"]


KIND = CheckKind(
    kind="number",
    tests={"is_number": ("format", is_number), "in_range": ("format", in_range)},
    empty="",
    makers={"inverse": undone, "steps": in_a_story, "sum": sum_of_parts},
    mutants=mutants,
)
