"""Whether what a call gave is what the test asks for. Pure; on plain values, never on the answer's own.

Stricter than Python's `==` in two ways only: true is not 1, and nothing but a plain value (null,
truth, number, text, bytes, list, tuple, set, dictionary of these) equals anything. NaN equals
nothing. A whole number equals the float of the same value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, JsonValue

from harnesspro.checks.code_values import Opaque, decode, encode
from harnesspro.core.records import Record

Relation = Literal["equal", "items", "near", "true", "false"]
"""Of what came back to `value`: equal; equal whether list or tuple; nearer than `tolerance`; or, on
its own, true or false as Python takes it."""


class CallCheck(Record):
    """One call and what it should give; values as `code_values.encode` writes them."""

    args: JsonValue
    kwargs: JsonValue
    relation: Relation = "equal"
    value: JsonValue = None
    tolerance: float | None = None


class Case(Record):
    """The same in plain JSON, as a person writes it."""

    args: list[JsonValue]
    kwargs: dict[str, JsonValue] = Field(default_factory=dict)
    relation: Relation = "equal"
    value: JsonValue = None
    tolerance: float | None = None

    def check(self) -> CallCheck:
        """With its values encoded."""
        plain = {name: encode(getattr(self, name)) for name in ("args", "kwargs", "value")}
        return CallCheck(**plain, relation=self.relation, tolerance=self.tolerance)


class CallTest(Record):
    """The right answer to a task that asks for code: calls, and what each should give."""

    function: str
    module: str = "answer.py"
    """The file that defines it; for answers of kind files, one of theirs."""
    preamble: str = ""
    """Source the answer may rely on: it runs first, in the same module."""
    checks: dict[str, CallCheck] = Field(default_factory=dict)
    cases: tuple[Case, ...] = ()

    def all_checks(self) -> dict[str, CallCheck]:
        """Checks and cases, each under its id."""
        written = {f"case{number}": case.check() for number, case in enumerate(self.cases)}
        return {**self.checks, **written}


def all_hold(checks: Mapping[str, CallCheck], given: Any) -> bool:
    """Whether every check has exactly one value and it holds.

    `given` is what came out of the sandbox, check id -> `{"value": encoded}`: a missing or a
    foreign id fails all, and so does whatever is no encoded value.
    """
    if not isinstance(given, dict) or given.keys() != checks.keys():
        return False
    return all(_check_holds(check, given[name]) for name, check in checks.items())


def _check_holds(check: CallCheck, given: Any) -> bool:
    if not isinstance(given, dict) or given.keys() != {"value"}:
        return False
    try:
        return holds(
            check.relation,
            decode(given["value"]),
            decode(check.value),
            tolerance=check.tolerance,
        )
    except (ValueError, TypeError, RecursionError, OverflowError):
        return False


def holds(relation: str, given: Any, wanted: Any, *, tolerance: float | None) -> bool:
    """One relation between two decoded values."""
    if relation == "equal":
        return same(given, wanted)
    if relation == "items":
        both = isinstance(given, list | tuple) and isinstance(wanted, list | tuple)
        return both and same(tuple(given), tuple(wanted))
    if relation == "near":
        numbers = _is_number(given) and _is_number(wanted) and tolerance is not None
        return bool(numbers and abs(given - wanted) < float(tolerance or 0))
    if relation in ("true", "false"):
        return not isinstance(given, Opaque) and bool(given) is (relation == "true")
    raise ValueError(f"no such relation: {relation}")


def same(given: Any, wanted: Any) -> bool:
    """Equal as plain values."""
    if _is_number(wanted):
        return _is_number(given) and bool(given == wanted)
    if type(given) is not type(wanted) or isinstance(wanted, Opaque):
        return False
    if isinstance(wanted, list | tuple):
        return len(given) == len(wanted) and all(map(same, given, wanted))
    if isinstance(wanted, dict):
        mine, theirs = _typed(given), _typed(wanted)
        return mine.keys() == theirs.keys() and all(same(mine[k], theirs[k]) for k in theirs)
    if isinstance(wanted, set):
        return _typed(dict.fromkeys(given)).keys() == _typed(dict.fromkeys(wanted)).keys()
    return bool(given == wanted)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _typed(value: Mapping[Any, Any]) -> dict[Any, Any]:
    """Keys by kind, so that true and 1 are two."""
    return {("number" if _is_number(key) else type(key), key): one for key, one in value.items()}
