from typing import Any

import jsonschema
import pytest

from harnesspro.core.errors import TasksError
from harnesspro.formats.bfcl import json_schema, task_input

KEEP = frozenset({"description", "enum"})


def schema(described: dict[str, Any]) -> dict[str, Any]:
    return json_schema(described, where="here", keep=KEEP)


@pytest.mark.parametrize(
    ("named", "mapped"),
    [
        ("string", {"type": "string"}),
        ("integer", {"type": "integer"}),
        ("float", {"type": "number"}),
        ("double", {"type": "number"}),
        ("boolean", {"type": "boolean"}),
        ("dict", {"type": "object"}),
        ("HashMap", {"type": "object"}),
        ("tuple", {"type": "array"}),
        ("ArrayList", {"type": "array"}),
        ("any", {}),
    ],
)
def test_each_type_name_has_its_json_schema(named, mapped):
    assert schema({"type": named}) == mapped


def test_mapping_goes_all_the_way_down():
    described = {
        "type": "dict",
        "optional": True,
        "required": ["rows"],
        "properties": {
            "rows": {"type": "tuple", "items": {"type": "array", "items": {"type": "float"}}},
            "type": {"type": "dict", "properties": {"enum": {"type": "any", "enum": ["a"]}}},
        },
    }
    assert schema(described) == {
        "type": "object",
        "required": ["rows"],
        "properties": {
            "rows": {"type": "array", "items": {"type": "array", "items": {"type": "number"}}},
            "type": {"type": "object", "properties": {"enum": {"enum": ["a"]}}},
        },
    }


def test_an_unknown_type_is_named():
    with pytest.raises(TasksError, match="type 'quaternion'"):
        schema({"type": "dict", "properties": {"a": {"type": "quaternion"}}})


def row(**changes: Any) -> dict[str, Any]:
    parameters = {
        "type": "dict",
        "properties": {
            "city": {"type": "string", "description": "Where.", "enum": ["Rome", "Oslo"]},
            "days": {"type": "integer", "description": "How long.", "default": 3},
        },
        "required": ["city"],
    }
    function = {"name": "trip.plan", "description": "Plans.", "parameters": parameters}
    asked = [[{"role": "user", "content": "A trip to Rome"}]]
    return {"id": "multiple_0", "question": asked, "function": [function]} | changes


def test_a_question_becomes_the_input_of_a_task():
    assert task_input(row(), where="here") == {
        "request": "A trip to Rome",
        "functions": [
            {
                "name": "trip.plan",
                "description": "Plans.",
                "parameters": {
                    "type": "object",
                    "properties": {
                        "city": {
                            "type": "string",
                            "description": "Where.",
                            "enum": ["Rome", "Oslo"],
                        },
                        "days": {"type": "integer", "description": "How long.", "default": 3},
                    },
                    "required": ["city"],
                },
            }
        ],
        "answer_schema": {
            "oneOf": [
                {
                    "type": "object",
                    "properties": {
                        "name": {"const": "trip.plan"},
                        "arguments": {
                            "type": "object",
                            "properties": {
                                "city": {"type": "string", "enum": ["Rome", "Oslo"]},
                                "days": {"type": "integer"},
                            },
                            "required": ["city"],
                            "additionalProperties": False,
                        },
                    },
                    "required": ["name", "arguments"],
                    "additionalProperties": False,
                }
            ]
        },
    }


@pytest.mark.parametrize(
    ("answer", "fits"),
    [
        ({"name": "trip.plan", "arguments": {"city": "Rome"}}, True),
        ({"name": "trip.plan", "arguments": {"city": "Rome", "days": 2}}, True),
        ({"name": "trip.plan", "arguments": {"city": "Rome", "days": "2"}}, False),
        ({"name": "trip.plan", "arguments": {"city": "Lima"}}, False),
        ({"name": "trip.plan", "arguments": {"city": "Rome", "hat": 1}}, False),
        ({"name": "trip.plan", "arguments": {}}, False),
        ({"name": "trip", "arguments": {"city": "Rome"}}, False),
        ({"name": "trip.plan", "arguments": {"city": "Rome"}, "why": "sun"}, False),
    ],
)
def test_the_answer_schema_admits_calls_of_the_functions_alone(answer, fits):
    made = task_input(row(), where="here")["answer_schema"]
    assert jsonschema.Draft202012Validator(made).is_valid(answer) is fits


@pytest.mark.parametrize(
    "asked",
    [
        [[{"role": "user", "content": "a"}], [{"role": "user", "content": "b"}]],
        [[{"role": "system", "content": "a"}]],
        [[{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]],
    ],
)
def test_a_question_of_several_messages_is_refused(asked):
    with pytest.raises(TasksError, match="single-turn"):
        task_input(row(question=asked), where="here")
