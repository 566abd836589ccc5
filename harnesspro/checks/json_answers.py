"""Checks of JSON answers: an answer fits its schema, and a call's values come from the request."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from pydantic import JsonValue

from harnesspro.checks.grounding import source_of, words_of
from harnesspro.checks.kind import CheckKind, with_request
from harnesspro.checks.schema_values import PEOPLE, Filled, fill
from harnesspro.core.hashing import canonical_json
from harnesspro.core.records import AnswerSpec, Probe, Task

_SCHEMA_FIELDS = frozenset({"answer_schema", "functions", "tools"})
"""Fields of an input that describe answers instead of asking for one."""
_STRANGE_WORD, _STRANGE_NUMBER = "zyxquorv", 7_331_947


# --- the tests ---------------------------------------------------------------------------------


def fits_schema(task: Task, spec: AnswerSpec, answer: JsonValue) -> bool:
    """Required present, nothing unknown, every type right; silent where there is no schema."""
    schema = task.answer_schema(spec)
    return schema is None or _fits(canonical_json(schema), answer)


def grounded(task: Task, spec: AnswerSpec, answer: JsonValue) -> bool:
    """Every string and number a call passes is told in the request or offered by its schema."""
    parameters = _parameters(task.answer_schema(spec), answer)
    if parameters is None:
        return True
    assert isinstance(answer, dict)
    told = source_of("\n".join(_asked(task.input)) + "\n" + "\n".join(task.files.values()))
    return all(
        told.has(value) or _offered(schema, value)
        for value, schema in _leaves(answer["arguments"], parameters)
    )


def _fits(schema_text: str, answer: JsonValue) -> bool:
    from referencing.exceptions import Unresolvable

    validator = _validator(schema_text)
    try:
        return validator is None or bool(validator.is_valid(answer))
    except (Unresolvable, RecursionError, re.error):
        return True
    except OverflowError:  # a number that no float holds, divided by one
        return False


@lru_cache(maxsize=512)
def _validator(schema_text: str) -> Any:
    """A validator that fetches nothing, or None where the schema is itself not valid."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError
    from referencing import Registry

    schema = json.loads(schema_text)
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError:
        return None
    return Draft202012Validator(schema, registry=Registry())


def _asked(value: JsonValue) -> Iterator[str]:
    """Every text and number of an input but its schemas."""
    if isinstance(value, dict):
        for key, item in value.items():
            if key not in _SCHEMA_FIELDS:
                yield from _asked(item)
    elif isinstance(value, list):
        for item in value:
            yield from _asked(item)
    elif value is not None:
        yield str(value)


def _parameters(schema: Mapping[str, Any] | None, answer: JsonValue) -> Mapping[str, Any] | None:
    """The schema of the arguments of the call that `answer` makes; None where it is no call."""
    if not isinstance(answer, dict) or not isinstance(answer.get("arguments"), dict):
        return None
    for call in call_schemas(schema):
        if call["properties"]["name"].get("const") == answer.get("name"):
            arguments: Mapping[str, Any] = call["properties"]["arguments"]
            return arguments
    return None


def call_schemas(schema: Mapping[str, Any] | None) -> tuple[Mapping[str, Any], ...]:
    """The branches of a schema that are calls: an object of a constant name and its arguments."""
    branches = (schema or {}).get("oneOf", [schema])
    return tuple(filter(_is_call, branches if isinstance(branches, list) else ()))


def _is_call(branch: Any) -> bool:
    properties = branch.get("properties") if isinstance(branch, dict) else None
    if not isinstance(properties, dict):
        return False
    name, arguments = properties.get("name"), properties.get("arguments")
    return isinstance(name, dict) and "const" in name and isinstance(arguments, dict)


def _leaves(value: Any, schema: Any) -> Iterator[tuple[Any, Mapping[str, Any]]]:
    """Every scalar of an argument with the schema nearest to it."""
    here: Mapping[str, Any] = schema if isinstance(schema, dict) else {}
    if isinstance(value, dict):
        known = here.get("properties", {})
        for key, item in value.items():
            yield from _leaves(item, known.get(key, here))
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item, here.get("items", here))
    else:
        yield value, here


def _offered(schema: Mapping[str, Any], value: Any) -> bool:
    """A value the schema itself puts forward: an enum, a constant, a default, or said to be one."""
    if value in schema.get("enum", ()) or value in (schema.get("const"), schema.get("default")):
        return True
    description = str(schema.get("description", ""))
    _, found, after = description.casefold().partition("default")
    return bool(found) and source_of(after).has(value) and words_of(str(value)) != []


# --- probes and mutants ------------------------------------------------------------------------


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
    who, other = (str(name) for name in rng.choice(PEOPLE, size=2, replace=False))
    number, days = int(rng.integers(1000, 9999)), int(rng.integers(2, 30))
    message = (
        f"Hello, {who} here. Order {number} came yesterday, {days} days late, which {other} has noted "
        f"already. {told[0]} Nothing else for now."
    )
    return _asking(task, message), told[1]


def _told(spec: AnswerSpec, task: Task, rng: np.random.Generator) -> tuple[str, JsonValue] | None:
    """A request and what it asks for."""
    schema = task.answer_schema(spec)
    if schema is None:
        return None
    calls = call_schemas(schema)
    if not calls:
        filled = fill(schema, rng)
        return f"Give back exactly this: {filled.said}.", filled.value
    call = calls[int(rng.integers(len(calls)))]
    name = call["properties"]["name"]["const"]
    filled = fill(call["properties"]["arguments"], rng)
    request = _as_request(_purpose(task, name), filled, rng)
    return request, {"name": name, "arguments": filled.value}


def _asking(task: Task, request: str) -> Task:
    return task.model_copy(update={"input": with_request(task, request)})


def _purpose(task: Task, name: str) -> str:
    """What a function is for, in the words of its description."""
    functions = task.input.get("functions") if isinstance(task.input, dict) else None
    for function in functions if isinstance(functions, list) else ():
        if isinstance(function, dict) and function.get("name") == name:
            text = str(function.get("description") or "")
            return text.partition(". ")[0].rstrip(".") or name
    return " ".join(words_of(name))


def _as_request(purpose: str, filled: Filled, rng: np.random.Generator) -> str:
    forms = (
        f"{purpose}: {filled.said}.",
        f"I need this done: {purpose.lower()}. Take {filled.said}.",
        f"With {filled.said}, please {purpose[:1].lower()}{purpose[1:]}.",
    )
    return forms[int(rng.integers(len(forms)))]


def mutants(spec: AnswerSpec, probe: Probe, rng: np.random.Generator) -> Sequence[JsonValue]:
    """The answer with one thing wrong: name, a missing, unknown, mistyped, invented or swapped value."""
    if not isinstance(probe.answer, dict):
        return [[], {"unknown": 1}]
    answer = probe.answer
    found: list[JsonValue] = []
    if isinstance(answer.get("arguments"), dict) and "name" in answer:
        found.append({**answer, "name": f"{answer['name']}_{_STRANGE_WORD}"})
        found += [{**answer, "arguments": body} for body in _bodies(answer["arguments"], rng)]
    else:
        found += _bodies(answer, rng)
    return found


def _bodies(body: Any, rng: np.random.Generator) -> list[JsonValue]:
    """Objects one step away from `body`."""
    found: list[JsonValue] = [{**body, _STRANGE_WORD: 1}]
    if not body:
        return found
    key = sorted(body)[int(rng.integers(len(body)))]
    value = body[key]
    found.append({name: item for name, item in body.items() if name != key})
    found.append({**body, key: {"value": value}})
    invented = _invented(value)
    if invented is not None:
        found.append({**body, key: invented})
    twins = [k for k in body if k != key and type(body[k]) is type(value) and body[k] != value]
    if twins:
        found.append({**body, key: body[twins[0]], twins[0]: value})
    return found


def _invented(value: Any) -> JsonValue:
    """A value of the same type that nobody asked for; None where the type has too few."""
    if isinstance(value, str):
        return _STRANGE_WORD
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return type(value)(_STRANGE_NUMBER)


KIND = CheckKind(
    kind="json",
    tests={"fits_schema": ("format", fits_schema), "grounded": ("property", grounded)},
    empty={},
    makers={"in_a_message": in_a_message, "rendered_call": rendered},
    mutants=mutants,
)
