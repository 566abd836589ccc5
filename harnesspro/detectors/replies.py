"""Replies read as answers: which part is the answer, which replies say the same, what form they have.

Shared by the detectors; decides nothing, and hands on no text of a task.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from pydantic import JsonValue

from harnesspro.core.records import AnswerKind, Step

_NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?")
_FENCE = re.compile(r"```\w*[ \t]*\n(.*?)(?:```|\Z)", re.DOTALL)
_OPENING = re.compile(r"[{\[]")
_DECODER = json.JSONDecoder()
_MAX_TRIES = 200
_MAX_OUTLINE = 120


def answer_span(reply: str, answer: JsonValue) -> tuple[int, int] | None:
    """Where in the reply the answer stands, or something in its place; None where it does not.

    A JSON value counts when it equals the answer, holds it, or has its keys (another sample's
    answer of the same form). Else the last whole occurrence of the answer's own text.
    """
    for start, end, value in _json_values(reply):
        if _stands_for(value, answer):
            return start, end
    if isinstance(answer, bool) or not isinstance(answer, str | int | float) or answer == "":
        return None
    words = re.escape(str(answer).strip())
    found = list(re.finditer(rf"(?<!\w){words}(?!\w)", reply, re.IGNORECASE))
    return found[-1].span() if found else None


def _json_values(text: str) -> Iterator[tuple[int, int, JsonValue]]:
    """The objects and arrays in the text, outermost only; gives up after 200 openings."""
    position = 0
    for _ in range(_MAX_TRIES):
        match = _OPENING.search(text, position)
        if match is None:
            return
        try:
            value, position = _DECODER.raw_decode(text, match.start())
        except (ValueError, RecursionError):
            position = match.start() + 1
            continue
        yield match.start(), position, value


def _stands_for(value: JsonValue, answer: JsonValue) -> bool:
    if value == answer:
        return True
    if not isinstance(value, dict):
        return False
    return value.keys() == answer.keys() if isinstance(answer, dict) else answer in value.values()


def answer_key(reply: str, kind: AnswerKind) -> str | None:
    """Replies with the same key give the same answer; None where no answer can be read.

    JSON by its value whatever stands around it; a number by the last one; a choice by the last
    line without its label; code by its longest block, spacing aside; everything else by its text
    without case and spacing.
    """
    if kind == "code":
        block = max(_FENCE.findall(reply) or [reply], key=len)
        return " ".join(block.split()) or None
    for _, _, value in _json_values(reply):
        return json.dumps(value, sort_keys=True)
    if kind == "json" or not reply.strip():
        return None
    if kind == "number":
        numbers = _NUMBER.findall(reply)
        return str(float(numbers[-1].replace(",", ""))) if numbers else None
    text = reply.strip().splitlines()[-1].rpartition(":")[2] if kind == "choice" else reply
    return " ".join(text.split()).strip("`*_.\"' ").casefold() or None


def form_of(step: Step, kind: AnswerKind) -> str:
    """The form of a reply in a few words, from a closed list."""
    text = step.reply.strip()
    if step.finish_reason == "length":
        return "cut off"
    if not text:
        return "empty"
    if kind == "json":
        spans = list(_json_values(text))
        if not spans:
            return "no JSON"
        start, end, _ = spans[0]
        return "JSON that does not fit" if (start, end) == (0, len(text)) else "JSON inside text"
    return "more than one line" if "\n" in text else "one line that is no answer"


def outline(reply: str) -> str:
    """The reply's punctuation with every word and number blanked, at most 120 characters."""
    return re.sub(r"\w+(?:\s+\w+)*", "w", reply.strip())[:_MAX_OUTLINE]
