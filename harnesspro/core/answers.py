"""When two answers are the same answer. Rightness is not asked here.

Every kind has one normaliser; answers with the same key form a cluster. The keys are an
equivalence: tolerance comes from rounding, never from comparing pairs. Where the behaviour of code
is on record, it says more than its text.
"""

from __future__ import annotations

import ast
import json
import math
import re
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import JsonValue

from harnesspro.core.hashing import content_id
from harnesspro.core.records import AnswerKind, Outcome, Trial

NO_ANSWER = "none"
"""The cluster of every trial that gave no answer, whatever the reason."""

Behaviours = Mapping[tuple[str, str], str]
"""(task_id, key of the answer's text) -> key of what the answer does; absent where unknown."""

_SIGNIFICANT = 9
_LONGEST_NUMBER = 100
_GROUPED_NUMBER = re.compile(r"[+-]?(\d{1,3}(,\d{3})+|\d+)(\.\d+)?([eE][+-]?\d+)?")


def cluster(kind: AnswerKind, outcome: Outcome, answer: JsonValue) -> str:
    """The key of the cluster an answer belongs to; `NO_ANSWER` where the harness gave none.

    Raises:
        ValueError: the trial is void: the ground gave way, so there is nothing to compare.
    """
    if outcome == "void":
        raise ValueError("a void trial is counted nowhere and has no cluster")
    if outcome != "answered":
        return NO_ANSWER
    return content_id("a", kind, _NORMALISERS[kind](answer))


def cluster_of(trial: Trial, kind: AnswerKind, behaviours: Behaviours | None = None) -> str:
    """The cluster of a trial's answer: by what it does where that is on record, else by its text.

    Raises:
        ValueError: the trial is void.
    """
    key = cluster(kind, trial.outcome, trial.answer)
    return (behaviours or {}).get((trial.task_id, key), key)


def same(kind: AnswerKind, a: JsonValue, b: JsonValue) -> bool:
    """Whether two given answers are the same answer."""
    return cluster(kind, "answered", a) == cluster(kind, "answered", b)


def normal_text(text: str) -> str:
    """Case and runs of whitespace do not matter."""
    return " ".join(text.split()).casefold()


def parse_number(text: str) -> int | float | None:
    """The number a text is, thousands separated by commas or not; None where it is no number."""
    bare = text.strip()
    if len(bare) > _LONGEST_NUMBER or not _GROUPED_NUMBER.fullmatch(bare):
        return None
    digits = bare.replace(",", "")
    return int(digits) if digits.lstrip("+-").isdigit() else float(digits)


def _plain(value: Any) -> Any:
    """JSON with one spelling a value: 1.0 is 1, floats to nine significant digits."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return _plain_float(value) if isinstance(value, float) else value


def _plain_float(value: float) -> int | float | str:
    if not math.isfinite(value):
        return str(value)
    if value.is_integer():
        return int(value)
    rounded = float(f"{value:.{_SIGNIFICANT}g}")
    return int(rounded) if rounded.is_integer() else rounded


def _as_text(answer: JsonValue) -> str:
    return normal_text(answer if isinstance(answer, str) else json.dumps(_plain(answer)))


def _as_number(answer: JsonValue) -> Any:
    if isinstance(answer, str):
        number = parse_number(answer)
        return _as_text(answer) if number is None else _plain(number)
    return _plain(answer)


def _as_code(answer: JsonValue) -> str:
    """Python without comments and layout; other text without trailing and blank space."""
    text = answer if isinstance(answer, str) else json.dumps(_plain(answer))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.unparse(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return "\n".join(line.rstrip() for line in text.splitlines() if line.strip())


_NORMALISERS: dict[AnswerKind, Callable[[JsonValue], Any]] = {
    "text": _as_text,
    "choice": _as_text,
    "number": _as_number,
    "json": _plain,
    "files": _plain,
    "code": _as_code,
}
