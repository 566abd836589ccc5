"""New requests whose JSON answer is known: values filled by chance, then told in words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from pydantic import JsonValue

from harnesspro.checks.calls import asked_text, call_schemas, offered_functions, parameters_of
from harnesspro.checks.grounding import words_of
from harnesspro.checks.kind import with_request
from harnesspro.checks.schema_values import (
    PEOPLE,
    PLAIN_WORDS,
    Filled,
    fill,
    parts_of,
    said_name,
    said_together,
)
from harnesspro.core.records import AnswerSpec, Probe, Task

_STRANGE_WORD, _STRANGE_NUMBER = "zyxquorv", 7_331_947
_NUMERAL = re.compile(r"\d+(?:\.\d+)?")


class _Asked(NamedTuple):
    """A function (None: a plain object), what it is for, and the schema of what is passed."""

    name: str | None
    purpose: str
    schema: Mapping[str, Any]

    def answer(self, parts: Mapping[str, Filled]) -> JsonValue:
        """The answer that passes these parts."""
        values = {key: part.value for key, part in parts.items()}
        return values if self.name is None else {"name": self.name, "arguments": values}


# --- makers ------------------------------------------------------------------------------------


def rendered(
    spec: AnswerSpec, task: Task, rng: np.random.Generator
) -> tuple[Task, JsonValue] | None:
    """A call (or object) filled by chance, told as a request; None where no schema says how."""
    told = _told(spec, task, rng)
    return None if told is None else (_asking(task, told[0]), told[1])


def in_a_message(
    spec: AnswerSpec, task: Task, rng: np.random.Generator
) -> tuple[Task, JsonValue] | None:
    """The same inside a message that names other people, places and numbers as well."""
    told = _told(spec, task, rng)
    if told is None:
        return None
    who, other = _people(rng, 2)
    number, days = int(rng.integers(1000, 9999)), int(rng.integers(2, 30))
    message = (
        f"Hello, {who} here. Order {number} came yesterday, {days} days late, which {other} has noted "
        f"already. {told[0]} Nothing else for now."
    )
    return _asking(task, message), told[1]


def amid_others(
    spec: AnswerSpec, task: Task, rng: np.random.Generator
) -> tuple[Task, JsonValue] | None:
    """One record among others of the same form; the request says whose."""
    asked = _drawn(spec, task, rng)
    if asked is None:
        return None
    people = _people(rng, 3)
    records = [parts_of(asked.schema, rng) for _ in people]
    place = int(rng.integers(len(people)))
    lines = [f"- {who}: {said_together(one)}." for who, one in zip(people, records, strict=True)]
    request = "\n".join([f"{asked.purpose}, for {people[place]} and nobody else. Notes:", *lines])
    return _asking(task, request), asked.answer(records[place])


def corrected(
    spec: AnswerSpec, task: Task, rng: np.random.Generator
) -> tuple[Task, JsonValue] | None:
    """A request whose last sentence takes one of its values back and gives another."""
    asked = _drawn(spec, task, rng)
    if asked is None:
        return None
    parts, others = parts_of(asked.schema, rng), parts_of(asked.schema, rng)
    changed = [
        key for key in parts if key in others and parts[key].said != others[key].said and key
    ]
    if not changed:
        return None
    key = changed[int(rng.integers(len(changed)))]
    request = (
        f"{_as_request(asked.purpose, said_together(parts), rng)} Sorry, I was wrong about one thing: "
        f"{said_name(key)} is {others[key].said}, not {parts[key].said}."
    )
    return _asking(task, request), asked.answer({**parts, key: others[key]})


def impossible(
    spec: AnswerSpec, task: Task, rng: np.random.Generator
) -> tuple[Task, JsonValue] | None:
    """A request for one value more than the schema takes; an answer that fits has left it out."""
    asked = _drawn(spec, task, rng)
    if asked is None or asked.schema.get("additionalProperties") is not False:
        return None
    parts = parts_of(asked.schema, rng)
    word = str(rng.choice(PLAIN_WORDS))
    request = (
        f"{_as_request(asked.purpose, said_together(parts), rng)} It must also pass remark {word}."
    )
    return _asking(task, request), asked.answer({**parts, "remark": Filled(word, word)})


def _told(spec: AnswerSpec, task: Task, rng: np.random.Generator) -> tuple[str, JsonValue] | None:
    """A request and what it asks for."""
    schema = task.answer_schema(spec)
    if schema is not None and not call_schemas(schema):
        filled = fill(schema, rng)
        return f"Give back exactly this: {filled.said}.", filled.value
    asked = _drawn(spec, task, rng)
    if asked is None:
        return None
    parts = parts_of(asked.schema, rng)
    return _as_request(asked.purpose, said_together(parts), rng), asked.answer(parts)


def _drawn(spec: AnswerSpec, task: Task, rng: np.random.Generator) -> _Asked | None:
    """One of the functions a task offers, or its object; None where it has no such schema."""
    schema = task.answer_schema(spec)
    calls = call_schemas(schema)
    if calls:
        call = calls[int(rng.integers(len(calls)))]
        name = call["properties"]["name"]["const"]
        return _Asked(name, _purpose(task, name), call["properties"]["arguments"])
    plain = schema is not None and isinstance(schema.get("properties"), dict)
    return _Asked(None, "Give back what was noted", schema or {}) if plain else None


def _asking(task: Task, request: str) -> Task:
    return task.model_copy(update={"input": with_request(task, request)})


def _purpose(task: Task, name: str) -> str:
    """What a function is for, in the words of its description."""
    text = str(offered_functions(task).get(name, {}).get("description") or "")
    return text.partition(". ")[0].rstrip(".") or " ".join(words_of(name))


def _as_request(purpose: str, said: str, rng: np.random.Generator) -> str:
    forms = (
        f"{purpose}: {said}.",
        f"I need this done: {purpose.lower()}. Take {said}.",
        f"With {said}, please {purpose[:1].lower()}{purpose[1:]}.",
    )
    return forms[int(rng.integers(len(forms)))]


def _people(rng: np.random.Generator, n: int) -> list[str]:
    return [str(name) for name in rng.choice(PEOPLE, size=n, replace=False)]


# --- mutants -----------------------------------------------------------------------------------


def mutants(spec: AnswerSpec, probe: Probe, rng: np.random.Generator) -> Sequence[JsonValue]:
    """The answer with one thing wrong: function, or a missing, unknown, mistyped, invented, swapped,
    doubled, nearly right or elsewhere told value.
    """
    if not isinstance(probe.answer, dict):
        return [[], {"unknown": 1}]
    answer = probe.answer
    if not (isinstance(answer.get("arguments"), dict) and "name" in answer):
        return _bodies(answer, probe.task, rng)
    bodies = _bodies(answer["arguments"], probe.task, rng)
    bodies += _other_options(spec, probe)
    found: list[JsonValue] = [{**answer, "name": f"{answer['name']}_{_STRANGE_WORD}"}]
    others = sorted(offered_functions(probe.task).keys() - {answer["name"]})
    if others:
        found.append({**answer, "name": others[int(rng.integers(len(others)))]})
    return [
        *found,
        *({**answer, "arguments": body} for body in bodies),
    ]


def _bodies(body: Any, task: Task, rng: np.random.Generator) -> list[JsonValue]:
    """Objects one step away from `body`."""
    found: list[JsonValue] = [{**body, _STRANGE_WORD: 1}]
    if not body:
        return found
    key = sorted(body)[int(rng.integers(len(body)))]
    value = body[key]
    found.append({name: item for name, item in body.items() if name != key})
    near = [{"value": value}, _invented(value), _beside(value), _elsewhere(value, task, rng)]
    found += [{**body, key: other} for other in near if other is not None and other != value]
    twins = [k for k in body if k != key and type(body[k]) is type(value) and body[k] != value]
    if twins:
        found.append({**body, key: body[twins[0]], twins[0]: value})
        found.append({**body, key: body[twins[0]]})
    return found


def _other_options(spec: AnswerSpec, probe: Probe) -> list[JsonValue]:
    """The arguments with the next option of one that has options."""
    schema = parameters_of(probe.task.answer_schema(spec), probe.answer)
    assert isinstance(probe.answer, dict)
    arguments, known = probe.answer["arguments"], (schema or {}).get("properties")
    assert isinstance(arguments, dict)
    found: list[JsonValue] = []
    for key, value in arguments.items():
        inner = known.get(key) if isinstance(known, dict) else None
        options = inner.get("enum") if isinstance(inner, dict) else None
        if isinstance(options, list) and value in options and len(options) > 1:
            other = options[(options.index(value) + 1) % len(options)]
            found += [{**arguments, key: other}] if other != value else []
    return found[:1]


def _invented(value: Any) -> JsonValue:
    """A value of the same type that nobody asked for; None where the type has too few."""
    if isinstance(value, str):
        return _STRANGE_WORD
    return type(value)(_STRANGE_NUMBER) if _is_number(value) else None


def _beside(value: Any) -> JsonValue:
    """The next number, the other truth, or the list without its last item."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, list) and len(value) > 1:
        return value[:-1]
    return value + 1 if _is_number(value) else None


def _elsewhere(value: Any, task: Task, rng: np.random.Generator) -> JsonValue:
    """Another number or plain word of the request; None where it has none."""
    text = asked_text(task)
    if isinstance(value, str):
        words = set(words_of(text))
        others: list[Any] = [word for word in PLAIN_WORDS if word in words and word not in value]
    else:
        others = (
            [type(value)(float(x)) for x in _NUMERAL.findall(text)] if _is_number(value) else []
        )
    others = [other for other in others if other != value]
    return others[int(rng.integers(len(others)))] if others else None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
