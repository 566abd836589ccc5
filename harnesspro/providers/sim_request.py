"""What a simulated worker reads in a request: the case, its options, and how it is told to answer.

Knows nothing of what is right.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from harnesspro.core.ports import ChatRequest
from harnesspro.providers.sim_tasks import names_case

_OPTIONS_LINE = re.compile(r"^\s*options:\s*(.+)$", re.IGNORECASE | re.MULTILINE)
_GO_THROUGH = re.compile(
    r"\b(check|compare|weigh|consider|test)\b[^.\n]*\b(each|every|all|the)\b[^.\n]*\boptions?\b",
    re.IGNORECASE,
)
_AT_LENGTH = re.compile(
    r"step[ -]by[ -]step|at length|in detail|explain your|show your (work|reasoning)|think aloud",
    re.IGNORECASE,
)
_ANSWER_ONLY = re.compile(
    r"\b(only|just|nothing but)\b[^.\n]*\b(answer|options?|word|json|value)\b"
    r"|\b(answer|options?|word|json|value)\b[^.\n]*\b(only|alone|nothing else)\b"
    r"|\b(no|without|do not give|don't give)( any)? (explanation|reasoning|preamble|prose)"
    r"|\bdo not explain\b",
    re.IGNORECASE,
)
_STRICT_FORM = re.compile(
    r"\b(exactly|must|always)\b[^.\n]*\b(answers?|options?|reply|words?|line|json|form|format)\b"
    r"|`?answer: ?[`<{A-Z]",
    re.IGNORECASE,
)
_PURPOSE = re.compile(
    r"\b(cases?|questions?|options?|answers?|repl(y|ies)|words?|json|examples?|choose|explain"
    r"|think|reason|format)\b",
    re.IGNORECASE,
)
_SHORTCUT = re.compile(
    r"\b(shares?|has|have) (the )?most letters\b|\bgo by (the |their )?(letters|looks|length|spelling)\b",
    re.IGNORECASE,
)
_EXAMPLE = re.compile(r"^\s*(#+ *)?example\b", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Features:
    """What the law reads in a request."""

    goes_through_options: bool = False
    at_length: bool = False
    answer_only: bool = False
    strict_form: bool = False
    n_examples: int = 0
    n_junk: int = 0
    shortcut: bool = False
    """Told to go by how the options are spelt."""
    bound: bool = False
    """A schema binds the reply and leaves no free text in it."""
    low_effort: bool = False
    temperature: float = 1.0

    @property
    def thinks(self) -> bool:
        """Whether there is room to think."""
        return not self.answer_only and not self.bound


def features_of(request: ChatRequest) -> Features:
    """Read the request; instructions are all text but the case itself."""
    told = _told("\n\n".join(instructions_of(request)))
    schema = schema_of(request)
    return replace(
        told,
        bound=schema is not None and not has_free_text(schema),
        low_effort=request.effort in ("minimal", "low", "none"),
        temperature=1.0 if request.temperature is None else request.temperature,
    )


@lru_cache(maxsize=256)
def _told(told: str) -> Features:
    """What instructions alone say."""
    return Features(
        goes_through_options=bool(_GO_THROUGH.search(told)),
        at_length=bool(_AT_LENGTH.search(told)),
        answer_only=bool(_ANSWER_ONLY.search(told)),
        strict_form=bool(_STRICT_FORM.search(told)),
        n_examples=len(_EXAMPLE.findall(told)),
        n_junk=sum(_is_junk(paragraph) for paragraph in re.split(r"\n\s*\n", told)),
        shortcut=bool(_SHORTCUT.search(told)),
    )


def options_of(request: ChatRequest) -> list[str]:
    """The options the request names: in its text, else in the schema's enum."""
    found = _OPTIONS_LINE.findall(all_text(request))
    if found:
        return [word.strip(" .`'\"") for word in found[-1].split(",")]
    return [str(value) for value in _enum_in(schema_of(request) or {})]


def schema_of(request: ChatRequest) -> Mapping[str, Any] | None:
    """The JSON Schema that binds the reply, or None."""
    form = request.response_format
    if not form or form.get("type") != "json_schema":
        return None
    wrapped = form.get("json_schema")
    schema = wrapped.get("schema") if isinstance(wrapped, dict) else None
    return schema if isinstance(schema, dict) else None


def instructions_of(request: ChatRequest) -> Iterator[str]:
    """All text but the case itself, paragraph by paragraph where they stand together."""
    for message in request.messages:
        text = content_text(message)
        if message.get("role") == "system" or not names_case(text):
            yield text
        else:
            case = re.split(r"\n\s*\n", text)
            yield from (part for part in case if not names_case(part) and "ptions:" not in part)


def _is_junk(paragraph: str) -> bool:
    """Twelve words or more, none of which has to do with the job."""
    return len(paragraph.split()) >= 12 and not _PURPOSE.search(paragraph)


def all_text(request: ChatRequest) -> str:
    """The text of all messages, a line break between them."""
    return "\n".join(content_text(message) for message in request.messages)


def content_text(message: Mapping[str, Any]) -> str:
    """A message's text, whether one string or a list of content parts."""
    content = message.get("content")
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def _enum_in(schema: Mapping[str, Any]) -> list[Any]:
    if isinstance(schema.get("enum"), list):
        return list(schema["enum"])
    for inner in properties(schema).values():
        found = _enum_in(inner)
        if found:
            return found
    return []


def properties(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema's properties that are schemas; a harness may send anything for one."""
    found = schema.get("properties")
    inner = found.items() if isinstance(found, dict) else ()
    return {key: value for key, value in inner if isinstance(value, dict)}


def has_free_text(schema: Mapping[str, Any]) -> bool:
    """Whether some text in a value of the schema is free."""
    if schema.get("type") == "string" and "enum" not in schema:
        return True
    return any(has_free_text(value) for value in properties(schema).values())


def question_in(text: str, *keys: str) -> dict[str, Any] | None:
    """The first JSON object in a text that has all these keys, or None."""
    for found in list(re.finditer(r"\{", text))[:50]:
        try:
            value, _ = json.JSONDecoder().raw_decode(text, found.start())
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict) and all(key in value for key in keys):
            return value
    return None
