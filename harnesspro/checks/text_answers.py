"""Checks of a text: it says something, and it fits the schema where there is one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pydantic import JsonValue

from harnesspro.checks import arithmetic, asked_form
from harnesspro.checks.json_answers import fits_schema
from harnesspro.checks.kind import CheckKind, request_of, with_request
from harnesspro.checks.number_answers import agrees_with_the_sum, counts_up
from harnesspro.checks.schema_values import PEOPLE, PLAIN_WORDS
from harnesspro.core.answers import normal_text, parse_number
from harnesspro.core.records import AnswerSpec, Probe, Task

_CHECKED = "The reply is checked to be a single word."


def says_something(task: Task, spec: AnswerSpec, answer: JsonValue) -> bool:
    """A text with at least one visible character."""
    return isinstance(answer, str) and bool(answer.strip())


def is_no_echo(task: Task, spec: AnswerSpec, answer: JsonValue) -> bool:
    """Not the request itself."""
    request = request_of(task)
    return not (isinstance(answer, str) and request and normal_text(answer) == normal_text(request))


def has_its_form(task: Task, spec: AnswerSpec, answer: JsonValue) -> bool:
    """Written as the request says in words."""
    return not isinstance(answer, str) or asked_form.has_its_form(request_of(task), answer)


def keeps_its_letters(task: Task, spec: AnswerSpec, answer: JsonValue) -> bool:
    """No letter gained or lost where words are to be turned round or sorted."""
    return not isinstance(answer, str) or asked_form.keeps_its_letters(request_of(task), answer)


def other_numbers(
    spec: AnswerSpec, task: Task, rng: np.random.Generator
) -> tuple[Task, JsonValue] | None:
    """The task's own sum about other numbers; None where it asks none."""
    made = arithmetic.renumbered(request_of(task), rng)
    text = arithmetic.written(made[1]) if made else None
    return None if made is None or text is None else (_asking(task, made[0]), text)


def impossible(
    spec: AnswerSpec, task: Task, rng: np.random.Generator
) -> tuple[Task, JsonValue] | None:
    """Words to give back, beside a check that they cannot pass."""
    words = " ".join(_words(rng, int(rng.integers(2, 5))))
    return _asking(task, f"Give back exactly these words: {words}. {_CHECKED}"), words


def gives_in(task: Task, spec: AnswerSpec, answer: JsonValue) -> bool:
    """Whether an answer to an impossible task passes the check its request names."""
    return isinstance(answer, str) and len(answer.split()) == 1


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
    """Blank, not a text, turned round, without an end, with more, the request itself, a number off."""
    right = str(probe.answer)
    number = parse_number(right)
    found = [right[::-1], right[:-1], f"{right} {rng.choice(PLAIN_WORDS)}", request_of(probe.task)]
    if isinstance(number, int):
        found += [str(number + 1), str(-number)]
    wrong = [text for text in found if normal_text(text) != normal_text(right)]
    return [" \n", [probe.answer], *wrong]


KIND = CheckKind(
    kind="text",
    tests={
        "says_something": ("format", says_something),
        "fits_schema": ("format", fits_schema),
        "is_no_echo": ("format", is_no_echo),
        "has_its_form": ("example", has_its_form),
        "keeps_its_letters": ("metamorphic", keeps_its_letters),
        "counts_up": ("property", counts_up),
        "agrees_with_the_sum": ("property:arithmetic", agrees_with_the_sum),
    },
    empty="",
    makers={
        "give_back": give_back,
        "other_numbers": other_numbers,
        "planted_fact": planted_fact,
        "reordered": reordered,
    },
    mutants=mutants,
    impossible=impossible,
    gives_in=gives_in,
)
