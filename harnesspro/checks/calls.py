"""How a call is written in an answer, in its schema and in the task that offers its function."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import JsonValue

from harnesspro.core.records import Task

_SCHEMA_FIELDS = frozenset({"answer_schema", "functions", "tools"})
"""Fields of an input that describe answers instead of asking for one."""


def asked_text(task: Task) -> str:
    """Everything a task says but its schemas, its files included."""
    return "\n".join([*texts_of(task.input), *task.files.values()])


def texts_of(value: JsonValue) -> Iterator[str]:
    """Every text and number of an input but its schemas."""
    if isinstance(value, dict):
        for key, item in value.items():
            if key not in _SCHEMA_FIELDS:
                yield from texts_of(item)
    elif isinstance(value, list):
        for item in value:
            yield from texts_of(item)
    elif value is not None:
        yield str(value)


def parameters_of(schema: Mapping[str, Any] | None, answer: JsonValue) -> Mapping[str, Any] | None:
    """The schema of the arguments of the call that `answer` makes; None where it is no call."""
    if not isinstance(answer, dict) or not isinstance(answer.get("arguments"), dict):
        return None
    for call in call_schemas(schema):
        if call["properties"]["name"].get("const") == answer.get("name"):
            arguments: Mapping[str, Any] = call["properties"]["arguments"]
            return arguments
    return None


def offered_functions(task: Task) -> dict[str, Mapping[str, Any]]:
    """Name -> function, of those in the field `functions` of the input."""
    offered = task.input.get("functions") if isinstance(task.input, dict) else None
    found: dict[str, Mapping[str, Any]] = {}
    for function in offered if isinstance(offered, list) else ():
        name = function.get("name") if isinstance(function, dict) else None
        if isinstance(function, dict) and isinstance(name, str):
            found[name] = function
    return found


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


def leaves_of(value: Any, schema: Any) -> Iterator[tuple[Any, Mapping[str, Any]]]:
    """Every scalar of an argument with the schema nearest to it."""
    here: Mapping[str, Any] = schema if isinstance(schema, dict) else {}
    if isinstance(value, dict):
        known = here.get("properties", {})
        for key, item in value.items():
            yield from leaves_of(item, known.get(key, here))
    elif isinstance(value, list):
        for item in value:
            yield from leaves_of(item, here.get("items", here))
    else:
        yield value, here
