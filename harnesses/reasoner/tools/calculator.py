"""A calculator: one expression of numbers, worked out exactly."""

from __future__ import annotations

import ast
import operator
from decimal import Decimal, DecimalException
from fractions import Fraction

LONGEST, LARGEST_POWER, MOST_DIGITS = 400, 64, 40
TWO = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
ONE = {ast.USub: operator.neg, ast.UAdd: operator.pos}


def calculator(expression: str) -> str:
    """The value as plain digits, at most ten after the point.

    Raises:
        ValueError: not an expression of numbers, or its value is out of bounds.
    """
    if len(expression) > LONGEST:
        raise ValueError("the expression is too long")
    try:
        tree = ast.parse(expression.strip(), mode="eval")
        value = worth(tree.body)
        if abs(value) >= 10**MOST_DIGITS:
            raise ValueError("the value is too large")
        return digits(value)
    except (SyntaxError, RecursionError, ArithmeticError, DecimalException) as error:
        raise ValueError(f"not an expression of numbers ({type(error).__name__})") from error


def worth(node: ast.expr) -> Fraction:
    """The exact value of one node."""
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return Fraction(str(node.value))
    if isinstance(node, ast.UnaryOp) and type(node.op) in ONE:
        return ONE[type(node.op)](worth(node.operand))
    if isinstance(node, ast.BinOp) and type(node.op) in TWO:
        return Fraction(TWO[type(node.op)](worth(node.left), worth(node.right)))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        return power(worth(node.left), worth(node.right))
    raise ValueError("not an expression of numbers")


def power(base: Fraction, exponent: Fraction) -> Fraction:
    """A power of bounded size, the exponent whole."""
    if exponent.denominator != 1 or abs(exponent) > LARGEST_POWER or abs(base) > 10**9:
        raise ValueError("the power is too large")
    return base ** int(exponent)


def digits(value: Fraction) -> str:
    """Plain digits, without zeros that say nothing."""
    if value.denominator == 1:
        return str(value.numerator)
    rounded = round(value, 10)
    text = f"{Decimal(rounded.numerator) / Decimal(rounded.denominator):f}"
    return text.rstrip("0").rstrip(".")
