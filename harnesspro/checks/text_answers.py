"""Checks of a text: it says something, and it fits the schema where there is one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pydantic import JsonValue

from harnesspro.checks.json_answers import fits_schema
from harnesspro.checks.kind import CheckKind, with_request
from harnesspro.checks.schema_values import fill
from harnesspro.core.records import AnswerSpec, Probe, Task


def says_something(task: Task, spec: AnswerSpec, answer: JsonValue) -> bool:
    """A text with at least one visible character."""
    return isinstance(answer, str) and bool(answer.strip())


def probe(spec: AnswerSpec, task: Task, rng: np.random.Generator) -> tuple[Task, JsonValue] | None:
    """Words to give back."""
    words = str(fill({"type": "string"}, rng).value)
    request = f"Give back exactly these words: {words}"
    return task.model_copy(update={"input": with_request(task, request)}), words


def mutants(spec: AnswerSpec, probe: Probe, rng: np.random.Generator) -> Sequence[JsonValue]:
    """Blank, not a text, and the words the other way round."""
    return [" \n", [probe.answer], str(probe.answer)[::-1]]


KIND = CheckKind(
    kind="text",
    tests={"says_something": ("format", says_something), "fits_schema": ("format", fits_schema)},
    empty="",
    probe=probe,
    mutants=mutants,
)
