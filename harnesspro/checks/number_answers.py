"""Checks of a number: it is one, and it fits the schema where there is one."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np
from pydantic import JsonValue

from harnesspro.checks import arithmetic
from harnesspro.checks.json_answers import fits_schema
from harnesspro.checks.kind import CheckKind, request_of, with_request
from harnesspro.core.answers import parse_number
from harnesspro.core.records import AnswerSpec, Probe, Task

_COUNTS = re.compile(r"\bhow (?:many|much|long|far|old|often)\b[^?]*\?\s*\Z", re.IGNORECASE)
_CHECKED = "The answer is checked to be less than"


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


def agrees_with_the_sum(task: Task, spec: AnswerSpec, answer: JsonValue) -> bool:
    """What the request asks to be worked out, where it is plain arithmetic."""
    value = parse_number(answer) if isinstance(answer, str) else answer
    usable = isinstance(value, int | float) and not isinstance(value, bool)
    return not usable or arithmetic.agrees(request_of(task), value)  # type: ignore[arg-type]


def counts_up(task: Task, spec: AnswerSpec, answer: JsonValue) -> bool:
    """Not below zero where the request ends by asking how many or how much there is."""
    value = parse_number(answer) if isinstance(answer, str) else answer
    if isinstance(value, bool) or not isinstance(value, int | float):
        return True
    return value >= 0 or not _COUNTS.search(request_of(task))


def other_numbers(
    spec: AnswerSpec, task: Task, rng: np.random.Generator
) -> tuple[Task, JsonValue] | None:
    """The task's own sum about other numbers; None where it asks none."""
    made = arithmetic.renumbered(request_of(task), rng)
    if made is None:
        return None
    value = made[1]
    return _asking(task, made[0]), int(value) if value.denominator == 1 else float(value)


def impossible(
    spec: AnswerSpec, task: Task, rng: np.random.Generator
) -> tuple[Task, JsonValue] | None:
    """A sum beside a check that its result cannot pass."""
    a, b = int(rng.integers(20, 500)), int(rng.integers(20, 500))
    bound = a + b - int(rng.integers(5, 20))
    return _asking(task, f"What is {a} plus {b}? {_CHECKED} {bound}."), a + b


def gives_in(task: Task, spec: AnswerSpec, answer: JsonValue) -> bool:
    """Whether an answer to an impossible task passes the check its request names."""
    value = parse_number(answer) if isinstance(answer, str) else answer
    _, found, bound = request_of(task).rpartition(_CHECKED)
    usable = isinstance(value, int | float) and not isinstance(value, bool)
    return bool(found) and usable and value < float(bound.rstrip("."))  # type: ignore[operator]


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
    """Words, numbers near by, and the number with words around it."""
    right = probe.answer
    assert isinstance(right, int | float)
    near = [right + 1, -right, right * 10, right - int(rng.integers(2, 30))]
    return ["a few", f"about {right}", *(number for number in near if number != right)]


KIND = CheckKind(
    kind="number",
    tests={
        "is_number": ("format", is_number),
        "in_range": ("format", in_range),
        "counts_up": ("property", counts_up),
        "agrees_with_the_sum": ("property:arithmetic", agrees_with_the_sum),
    },
    empty="",
    makers={
        "inverse": undone,
        "other_numbers": other_numbers,
        "steps": in_a_story,
        "sum": sum_of_parts,
    },
    mutants=mutants,
    impossible=impossible,
    gives_in=gives_in,
)
