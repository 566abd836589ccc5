"""Checks of a text: it says something, and it fits the schema where there is one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pydantic import JsonValue

from harnesspro.checks.json_answers import fits_schema
from harnesspro.checks.kind import CheckKind, with_request
from harnesspro.checks.schema_values import PEOPLE, PLAIN_WORDS
from harnesspro.core.records import AnswerSpec, Probe, Task


def says_something(task: Task, spec: AnswerSpec, answer: JsonValue) -> bool:
    """A text with at least one visible character."""
    return isinstance(answer, str) and bool(answer.strip())


def give_back(
    spec: AnswerSpec, task: Task, rng: np.random.Generator
) -> tuple[Task, JsonValue] | None:
    """Words to give back."""
    words = " ".join(_words(rng, int(rng.integers(2, 5))))
    return _asking(task, f"Give back exactly these words: {words}"), words


def planted_fact(
    spec: AnswerSpec, task: Task, rng: np.random.Generator
) -> tuple[Task, JsonValue] | None:
    """One fact among others like it in a short report."""
    people, things = _names(rng, 4), _words(rng, 4)
    facts = [f"{who} brought the {what}." for who, what in zip(people, things, strict=True)]
    asked = int(rng.integers(len(people)))
    request = f"{' '.join(facts)} What did {people[asked]} bring? Answer with that one word and nothing else."
    return _asking(task, request), things[asked]


def reordered(
    spec: AnswerSpec, task: Task, rng: np.random.Generator
) -> tuple[Task, JsonValue] | None:
    """Words to put in another order that has one result; None where they stand in it."""
    words = _words(rng, int(rng.integers(3, 7)))
    if words == sorted(words):
        return None
    if rng.random() < 0.5:
        request = f"Write these words in reverse order, with spaces between: {' '.join(words)}"
        return _asking(task, request), " ".join(reversed(words))
    request = f"Write these words in alphabetical order, with spaces between: {' '.join(words)}"
    return _asking(task, request), " ".join(sorted(words))


def _words(rng: np.random.Generator, n: int) -> list[str]:
    return [str(word) for word in rng.choice(PLAIN_WORDS, size=n, replace=False)]


def _names(rng: np.random.Generator, n: int) -> list[str]:
    return [str(name) for name in rng.choice(PEOPLE, size=n, replace=False)]


def _asking(task: Task, request: str) -> Task:
    return task.model_copy(update={"input": with_request(task, request)})


def mutants(spec: AnswerSpec, probe: Probe, rng: np.random.Generator) -> Sequence[JsonValue]:
    """Blank, not a text, and the words the other way round."""
    return [" \n", [probe.answer], str(probe.answer)[::-1]]


KIND = CheckKind(
    kind="text",
    tests={"says_something": ("format", says_something), "fits_schema": ("format", fits_schema)},
    empty="",
    makers={"give_back": give_back, "planted_fact": planted_fact, "reordered": reordered},
    mutants=mutants,
)
