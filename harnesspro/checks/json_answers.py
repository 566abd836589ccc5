"""Checks of JSON answers: an answer fits its schema, and a call's values come from the request."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from pydantic import JsonValue

from harnesspro.checks.calls import asked_text, leaves_of, parameters_of
from harnesspro.checks.grounding import source_of, words_of
from harnesspro.core.hashing import canonical_json
from harnesspro.core.records import AnswerSpec, Task


def fits_schema(task: Task, spec: AnswerSpec, answer: JsonValue) -> bool:
    """Required present, nothing unknown, every type right; silent where there is no schema."""
    schema = task.answer_schema(spec)
    return schema is None or _fits(canonical_json(schema), answer)


def grounded(task: Task, spec: AnswerSpec, answer: JsonValue) -> bool:
    """Every string and number a call passes is told in the request or offered by its schema."""
    parameters = parameters_of(task.answer_schema(spec), answer)
    if parameters is None:
        return True
    assert isinstance(answer, dict)
    told = source_of(asked_text(task))
    return all(
        told.has(value) or _offered(schema, value)
        for value, schema in leaves_of(answer["arguments"], parameters)
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


def _offered(schema: Mapping[str, Any], value: Any) -> bool:
    """A value the schema itself puts forward: an enum, a constant, a default, or said to be one."""
    if value in schema.get("enum", ()) or value in (schema.get("const"), schema.get("default")):
        return True
    description = str(schema.get("description", ""))
    _, found, after = description.casefold().partition("default")
    return bool(found) and source_of(after).has(value) and words_of(str(value)) != []
