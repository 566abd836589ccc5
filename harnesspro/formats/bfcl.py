"""Berkeley Function Calling Leaderboard (v4) questions -> task inputs, and its types -> JSON Schema.

Pure. Knows the public half of the data only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harnesspro.core.errors import TasksError

_JSON_TYPE = {
    "string": "string",
    "String": "string",
    "char": "string",
    "integer": "integer",
    "int": "integer",
    "long": "integer",
    "short": "integer",
    "byte": "integer",
    "Bigint": "integer",
    "number": "number",
    "float": "number",
    "double": "number",
    "boolean": "boolean",
    "bool": "boolean",
    "Boolean": "boolean",
    "array": "array",
    "Array": "array",
    "list": "array",
    "tuple": "array",
    "ArrayList": "array",
    "Queue": "array",
    "Stack": "array",
    "dict": "object",
    "object": "object",
    "HashMap": "object",
    "Hashtable": "object",
    "any": None,
    "Any": None,
}
_DESCRIBING = frozenset({"description", "default", "enum", "maximum", "minimum", "format"})
_BINDING = frozenset({"enum", "maximum", "minimum"})


def task_input(row: Mapping[str, Any], *, where: str) -> dict[str, Any]:
    """The input of one question: `request`, `functions`, `answer_schema`.

    Raises:
        TasksError: not a single-turn question, or an unknown type.
    """
    turns = row["question"]
    if len(turns) != 1 or len(turns[0]) != 1 or turns[0][0]["role"] != "user":
        raise TasksError(where, "not one user message", expected="a single-turn question")
    functions = [
        {
            "name": function["name"],
            "description": function["description"],
            "parameters": json_schema(function["parameters"], where=where, keep=_DESCRIBING),
        }
        for function in row["function"]
    ]
    schemas = [
        _call_schema(
            function["name"], json_schema(function["parameters"], where=where, keep=_BINDING)
        )
        for function in row["function"]
    ]
    return {
        "request": turns[0][0]["content"],
        "functions": functions,
        "answer_schema": {"oneOf": schemas},
    }


def json_schema(
    described: Mapping[str, Any], *, where: str, keep: frozenset[str]
) -> dict[str, Any]:
    """A BFCL parameter description as JSON Schema, recursively; `keep` names keywords kept as is.

    Raises:
        TasksError: a type that is not in the leaderboard's list.
    """
    named = described.get("type", "any")
    if named not in _JSON_TYPE:
        raise TasksError(where, f"type {named!r}", expected=", ".join(_JSON_TYPE))
    schema: dict[str, Any] = {} if _JSON_TYPE[named] is None else {"type": _JSON_TYPE[named]}
    schema.update({key: described[key] for key in described if key in keep})
    if "properties" in described:
        schema["properties"] = {
            name: json_schema(value, where=where, keep=keep)
            for name, value in described["properties"].items()
        }
    if "required" in described:
        schema["required"] = list(described["required"])
    if "items" in described:
        schema["items"] = json_schema(described["items"], where=where, keep=keep)
    return schema


def _call_schema(name: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """What an answer that calls `name` looks like."""
    return {
        "type": "object",
        "properties": {
            "name": {"const": name},
            "arguments": {**parameters, "additionalProperties": False},
        },
        "required": ["name", "arguments"],
        "additionalProperties": False,
    }
