"""Right or wrong: an answer against the right one. Pure; values only, no code is run.

`exact` compares typed values. `calls`, for code, is decided by `executable` in a sandbox. `bfcl` is the Berkeley Function Calling Leaderboard's rule for one
call against `possible_answer`, with one leniency: numbers inside lists compare by value alone.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

from pydantic import ValidationError

from harnesspro.core.errors import UsageError
from harnesspro.core.records import AnswerKind
from harnesspro.vault.values import CallTest

Grade = Literal["right", "wrong", "no_gold"]
KINDS_OF_SCHEME: Mapping[str, frozenset[str]] = {
    "exact": frozenset({"text", "number", "choice", "json"}),
    "bfcl": frozenset({"json"}),
    "calls": frozenset({"code", "files"}),
}
RELATIVE_TOLERANCE = 1e-6
ABSOLUTE_TOLERANCE = 1e-9
_LOOSE = re.compile(r"[ ,./\-_*^]")


def check_scheme(scheme: str, kind: str, *, graded: bool = True) -> None:
    """Return where answers of this kind can be graded so; without gold any kind will do.

    Raises:
        UsageError: no such scheme or kind, or the scheme is not for this kind.
    """
    if scheme not in KINDS_OF_SCHEME:
        raise UsageError(
            f"scheme {scheme!r}", "unknown", expected=f"one of {', '.join(KINDS_OF_SCHEME)}"
        )
    if kind not in get_args(AnswerKind):
        raise UsageError(
            f"answer kind {kind!r}", "unknown", expected=f"one of {', '.join(get_args(AnswerKind))}"
        )
    if graded and kind not in KINDS_OF_SCHEME[scheme]:
        raise UsageError(
            f"scheme {scheme!r}",
            f"cannot grade answers of kind {kind!r}",
            expected=f"one of {', '.join(sorted(KINDS_OF_SCHEME[scheme]))}",
            fix="seal these tasks without gold, or as another kind",
        )


def grade(scheme: str, kind: str, answer: Any, gold: Any) -> Grade:
    """The grade of one answer; a missing answer (None) is wrong, gold None is no gold.

    Raises:
        UsageError: the scheme cannot grade this kind, or only by running the answer.
    """
    check_scheme(scheme, kind)
    if scheme == "calls":
        raise UsageError("scheme 'calls'", "no value to compare", expected="a sandbox to run it in")
    if gold is None:
        return "no_gold"
    if answer is None:
        return "wrong"
    right = same_call(answer, gold) if scheme == "bfcl" else same_answer(kind, answer, gold)
    return "right" if right else "wrong"


def gold_problem(scheme: str, kind: str, gold: Any) -> str | None:
    """Why this right answer could match no answer at all; None where it is fine."""
    if scheme == "calls":
        return _call_problem(gold)
    if scheme == "bfcl" and not _is_possible_answer(gold):
        return "not of the form {function: {argument: [allowed values]}}"
    if kind == "number" and _number(gold) is None:
        return "not a number"
    if kind in ("text", "choice") and isinstance(gold, dict | list):
        return f"not a {kind}"
    return None


def _call_problem(gold: Any) -> str | None:
    try:
        test = CallTest.model_validate(gold)
        return None if test.all_checks() else "no case"
    except (ValidationError, ValueError):
        return "not of the form {function, cases: [{args, value}]}"


def _is_possible_answer(gold: Any) -> bool:
    if not isinstance(gold, dict) or len(gold) != 1:
        return False
    (allowed,) = gold.values()
    return isinstance(allowed, dict) and all(isinstance(v, list) for v in allowed.values())


# --- exact ---------------------------------------------------------------------------------------


def same_answer(kind: str, answer: Any, gold: Any) -> bool:
    """Text and choice: without outer space and case. Number: within tolerance. Else as JSON."""
    if kind == "number":
        return _same_number(_number(answer), _number(gold))
    if kind in ("text", "choice") and isinstance(answer, str) and isinstance(gold, str):
        return answer.strip().casefold() == gold.strip().casefold()
    return same_json(answer, gold)


def same_json(left: Any, right: Any) -> bool:
    """Equal as JSON: 1 is 1.0, but true is not 1 and "1" is not 1. NaN equals nothing."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, int | float) and isinstance(right, int | float):
        return left == right
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same_json, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same_json(left[k], right[k]) for k in left)
    return type(left) is type(right) and bool(left == right)


def _number(value: Any) -> float | None:
    """A JSON number, or a text that is one."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value.strip()) if isinstance(value, str) else float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _same_number(left: float | None, right: float | None) -> bool:
    if left is None or right is None:
        return False
    return math.isclose(left, right, rel_tol=RELATIVE_TOLERANCE, abs_tol=ABSOLUTE_TOLERANCE)


# --- bfcl ----------------------------------------------------------------------------------------


def same_call(answer: Any, gold: Any) -> bool:
    """Whether `{"name", "arguments"}` is a call that `{function: {argument: [allowed]}}` allows."""
    if not isinstance(answer, dict) or not isinstance(answer.get("arguments"), dict):
        return False
    return any(
        answer.get("name") == name and _fields_allowed(answer["arguments"], allowed)
        for name, allowed in gold.items()
    )


def _fields_allowed(
    given: Mapping[str, Any], allowed: Mapping[str, Any], *, inner: bool = False
) -> bool:
    """Every given field has an allowed value, and every field left out may be."""
    if not given.keys() <= allowed.keys():
        return False
    return all(
        _value_allowed(given[name], options, inner=inner) if name in given else "" in options
        for name, options in allowed.items()
    )


def _value_allowed(given: Any, options: Sequence[Any], *, inner: bool) -> bool:
    if given == "" and isinstance(given, str):
        # "" says that the argument may be left out; as a value it fits text arguments only.
        others = [option for option in options if option != ""]
        return "" in options and (not others or any(isinstance(other, str) for other in others))
    if given == [] and "" in options:
        return True
    return any(_value_is(given, option, inner=inner) for option in options)


def _value_is(given: Any, option: Any, *, inner: bool) -> bool:
    """One allowed value. An argument is whole where the allowed value is; inner numbers may be 5.0."""
    if isinstance(option, str):
        return isinstance(given, str) and _loose(given) == _loose(option)
    if isinstance(option, list):
        if not isinstance(given, list) or len(given) != len(option):
            return False
        pairs = zip(given, option, strict=True)
        return all(_value_is(value, allowed, inner=True) for value, allowed in pairs)
    if isinstance(option, dict):
        return isinstance(given, dict) and _fields_allowed(given, option, inner=True)
    if isinstance(given, float) and isinstance(option, int) and not inner:
        return False
    return same_json(given, option)


def _loose(text: str) -> str:
    """Without spaces and , . / - _ * ^, in lower case, with one kind of quote."""
    return _LOOSE.sub("", text).lower().replace("'", '"')
