"""What a request asks for where it is plain arithmetic: its exact value, and itself with other numbers."""

from __future__ import annotations

import ast
import math
import re
from fractions import Fraction
from typing import NamedTuple

import numpy as np

_CUE = (
    r"(?:calculate|compute|evaluate|what is|what's|problem:|multiplication:|expression:|result of|"
    r"value of|product of|sum of)"
)
_EXPRESSION = re.compile(
    rf"{_CUE}\s+(?P<sum>[-(\s]*\d[\d\s.+*/×()-]*?)\s*(?:[=?]|\.(?!\d)|$)", re.IGNORECASE | re.M
)
_COMMON = re.compile(
    r"\b(?P<what>greatest common divisor|highest common factor|gcd|least common multiple|lcm)\b"
    r"[^:\d]*(?::|\bof\b)(?P<list>(?:[\s,]|and|\d+)+)(?:[.?]|$)",
    re.IGNORECASE | re.M,
)
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_LONGEST, _MOST_DIGITS = 400, 60
_DEEPEST = 40


class Sum(NamedTuple):
    """Where in a text the numbers stand, and what is asked of them."""

    start: int
    end: int
    kind: str
    """`expression`, `gcd` or `lcm`."""
    value: Fraction


def sum_in(text: str) -> Sum | None:
    """The one thing a text asks to be worked out; None where it asks none, or not just one."""
    found = []
    for match in _EXPRESSION.finditer(text):
        result = exact(match["sum"])
        if result is not None:
            found.append(Sum(*match.span("sum"), "expression", result))
    for match in _COMMON.finditer(text):
        numbers = [int(x) for x in _NUMBER.findall(match["list"]) if len(x) <= _MOST_DIGITS]
        least = "multiple" in match["what"].casefold() or match["what"].casefold() == "lcm"
        if len(numbers) > 1:
            common = math.lcm(*numbers) if least else math.gcd(*numbers)
            found.append(Sum(*match.span("list"), "lcm" if least else "gcd", Fraction(common)))
    return found[0] if len(found) == 1 else None


def agrees(text: str, number: float) -> bool:
    """Whether a number is what a text asks to be worked out, to six digits; True where it asks nothing.

    Silent where rounding is asked for.
    """
    asked = sum_in(text)
    if asked is None or re.search(r"\bround|\binteger part|\bnearest\b", text, re.IGNORECASE):
        return True
    try:
        given = Fraction(number)
    except (OverflowError, ValueError):  # infinite, or not a number
        return False
    most = Fraction(1, 10**6) * max(Fraction(1), abs(asked.value))
    return bool(abs(given - asked.value) <= most)


def exact(expression: str) -> Fraction | None:
    """The value of +, -, *, / over decimals; None where it is none of these or has no operator."""
    text = expression.replace("×", "*").strip()
    longest = max(map(len, _NUMBER.findall(text)), default=_MOST_DIGITS)
    if len(text) > _LONGEST or longest >= _MOST_DIGITS or not re.search(r"\S\s+[-+*/]\s", text):
        return None
    try:
        return _worked_out(ast.parse(text, mode="eval").body, text, depth=0)
    except (SyntaxError, ValueError, ZeroDivisionError, RecursionError, MemoryError):
        return None


def _worked_out(node: ast.expr, text: str, *, depth: int) -> Fraction:
    if depth > _DEEPEST:
        raise ValueError("too deep")
    if isinstance(node, ast.Constant):
        return Fraction(ast.get_source_segment(text, node) or "")
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        inner = _worked_out(node.operand, text, depth=depth + 1)
        return -inner if isinstance(node.op, ast.USub) else inner
    if not isinstance(node, ast.BinOp):
        raise ValueError("no arithmetic")  # noqa: TRY004 - the text is wrong, not its type
    left = _worked_out(node.left, text, depth=depth + 1)
    right = _worked_out(node.right, text, depth=depth + 1)
    return _joined(node.op, left, right)


def _joined(op: ast.operator, left: Fraction, right: Fraction) -> Fraction:
    if isinstance(op, ast.Add):
        return left + right
    if isinstance(op, ast.Sub):
        return left - right
    if isinstance(op, ast.Mult):
        return left * right
    if isinstance(op, ast.Div):
        return left / right
    raise ValueError("no arithmetic")


def written(value: Fraction) -> str | None:
    """The decimal that a fraction is; None where it ends nowhere near."""
    if value.denominator == 1:
        return str(value.numerator)
    digits = next((n for n in range(1, 13) if (value * 10**n).denominator == 1), None)
    if digits is None:
        return None
    whole, part = divmod(abs(value.numerator * 10**digits // value.denominator), 10**digits)
    return f"{'-' if value < 0 else ''}{whole}.{part:0{digits}d}"


def renumbered(text: str, rng: np.random.Generator) -> tuple[str, Fraction] | None:
    """The same question about other numbers of as many digits, with its value; None as `sum_in`."""
    asked = sum_in(text)
    if asked is None:
        return None

    def other(match: re.Match[str]) -> str:
        return "".join(
            digit if digit == "." else str(rng.integers(1 if place == 0 else 0, 10))
            for place, digit in enumerate(match[0])
        )

    changed = _NUMBER.sub(other, text[asked.start : asked.end])
    new = f"{text[: asked.start]}{changed}{text[asked.end :]}"
    again = sum_in(new)
    return None if again is None or new == text else (new, again.value)
