"""Checks of a choice: the answer is one of the options the task offers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pydantic import JsonValue

from harnesspro.checks.kind import CheckKind, with_request
from harnesspro.checks.schema_values import PLAIN_WORDS
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
    """Some of the task's own options, and a request that tells which one to name."""
    options = options_of(task, spec)
    if not options:
        return None
    shown = _some(options, rng) if spec.answer_schema == "task" else options
    right = shown[int(rng.integers(len(shown)))]
    note = int(rng.integers(1000, 10_000))
    request = f"Note {note}. Of the options, the one asked for here is: {right}. Name it."
    asked = task.model_copy(update={"input": with_request(task, request)})
    return asked.model_copy(update={"input": _listing(asked.input, options, shown)}), right


def _some(options: tuple[JsonValue, ...], rng: np.random.Generator) -> tuple[JsonValue, ...]:
    """At least three of them (all where there are fewer), in another order."""
    least = min(3, len(options))
    n = int(rng.integers(least, len(options) + 1))
    return tuple(options[i] for i in rng.permutation(len(options))[:n])


def _listing(
    value: JsonValue, options: tuple[JsonValue, ...], shown: tuple[JsonValue, ...]
) -> JsonValue:
    """An input in which every list of the options shows the chosen ones."""
    if isinstance(value, dict):
        return {key: _listing(item, options, shown) for key, item in value.items()}
    if isinstance(value, list) and value == list(options):
        return list(shown)
    return value


def impossible(
    spec: AnswerSpec, task: Task, rng: np.random.Generator
) -> tuple[Task, JsonValue] | None:
    """A request for what is none of the options; an answer that is one of them is not what was asked."""
    options = options_of(task, spec)
    absent = [word for word in PLAIN_WORDS if not any(same("choice", word, o) for o in options)]
    if not options:
        return None
    word = absent[int(rng.integers(len(absent)))]
    note = int(rng.integers(1000, 10_000))
    request = f"Note {note}. Of the options, the one asked for here is: {word}. Name it."
    return task.model_copy(update={"input": with_request(task, request)}), word


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
    makers={"told": probe},
    mutants=mutants,
    impossible=impossible,
    gives_in=in_options,
)
