"""Checks of a choice: the answer is one of the options the task offers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pydantic import JsonValue

from harnesspro.checks.kind import CheckKind, with_request
from harnesspro.core.answers import same
from harnesspro.core.records import AnswerSpec, Probe, Task


def in_options(task: Task, spec: AnswerSpec, answer: JsonValue) -> bool:
    """One of the options, case and spaces apart; silent where the task names none."""
    options = options_of(task, spec)
    return not options or any(same("choice", answer, option) for option in options)


def options_of(task: Task, spec: AnswerSpec) -> tuple[JsonValue, ...]:
    """The options of a task by its schema's `enum`."""
    schema = task.answer_schema(spec) or {}
    options = schema.get("enum")
    return tuple(options) if isinstance(options, list) else ()


def probe(spec: AnswerSpec, task: Task, rng: np.random.Generator) -> tuple[Task, JsonValue] | None:
    """The task's own options, and a request that tells which one to name."""
    options = options_of(task, spec)
    if not options:
        return None
    right = options[int(rng.integers(len(options)))]
    request = f"Of the options, the one asked for here is: {right}. Name it."
    return task.model_copy(update={"input": with_request(task, request)}), right


def mutants(spec: AnswerSpec, probe: Probe, rng: np.random.Generator) -> Sequence[JsonValue]:
    """Another option, something that is none, and two at once."""
    others = [
        option
        for option in options_of(probe.task, spec)
        if not same("choice", option, probe.answer)
    ]
    found: list[JsonValue] = [f"not {probe.answer}"]
    if others:
        other = others[int(rng.integers(len(others)))]
        found += [other, f"{probe.answer} or {other}"]
    return found


KIND = CheckKind(
    kind="choice",
    tests={"in_options": ("format", in_options)},
    empty="",
    probe=probe,
    mutants=mutants,
)
