"""A small Python: what a program prints, without files, network or the rest of the library.

Names, attributes and modules are those listed here; lines, ranges and powers are bounded. The
sandbox around the harness is the wall; this keeps a program's mistakes from ending the trial.
"""

from __future__ import annotations

import _strptime
import ast
import calendar
import collections
import datetime
import functools
import math
import string
import sys
import time
from collections.abc import Iterable
from types import SimpleNamespace

MOST_LINES, MOST_CHARS, LONGEST_RANGE, MOST_BITS = 3_000_000, 2_000, 1_000_000, 4_096
OFFERED = {
    "math": (math, "gcd lcm sqrt isqrt floor ceil log log2 log10 pi inf fabs"),
    "datetime": (datetime, "date datetime timedelta"),
    "calendar": (calendar, "isleap weekday day_name month_name monthrange"),
    "collections": (collections, "Counter defaultdict"),
    "string": (string, "ascii_lowercase ascii_uppercase digits"),
    "time": (time, "strftime"),  # these two are what dates themselves import when they are written
    "_strptime": (_strptime, "_strptime_datetime"),
}
MODULES = {
    name: SimpleNamespace(**{part: getattr(module, part) for part in parts.split()})
    for name, (module, parts) in OFFERED.items()
}
BUILTINS = (
    "abs all any bin bool chr dict divmod enumerate filter float hex int isinstance len list map "
    "max min oct ord reversed round set sorted str sum tuple zip ValueError"
)
PLAIN = (str, list, dict, set, tuple, int, float, datetime.datetime, datetime.timedelta)
ATTRIBUTES = {name for kind in PLAIN for name in dir(kind) if not name.startswith("_")}
ATTRIBUTES |= {part for _, parts in OFFERED.values() for part in parts.split()} | {
    "most_common",
    "prod",
}
ATTRIBUTES -= {"format", "format_map"}  # their fields reach any attribute
LAST = "last value"
BOUNDED = {ast.Pow: "pow", ast.Mult: "times", ast.LShift: "shift"}
NOT_OFFERED = (
    ast.Match,
    ast.AsyncFunctionDef,
    ast.Await,
    ast.Global,
    ast.Nonlocal,
    ast.Try,
    ast.ClassDef,
)
FAULTS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    ImportError,
    LookupError,
    MemoryError,
    NameError,
    RuntimeError,
    StopIteration,
    SyntaxError,
    TypeError,
    ValueError,
)
"""What a program without `raise` of its own classes can end in."""


class Refused(ValueError):
    """The program uses what is not offered, or too much of it."""


def python(code: str) -> str:
    """The last line the program prints, or its last line's value where it prints none.

    Raises:
        ValueError: it cannot be run, fails, prints nothing, or uses what is not offered.
    """
    printed: list[str] = []
    try:
        tree = ast.parse(code)
        check(tree)
        show_last(tree)
        program = compile(ast.fix_missing_locations(Bounded().visit(tree)), "program", "exec")
        names = surroundings(printed)
        run(program, names)
    except Refused:
        raise
    except FAULTS as error:
        raise ValueError(f"{type(error).__name__}: {error}"[:200]) from error
    lines = "".join(printed).strip().splitlines()
    if not lines and names.get(LAST) is not None:
        lines = str(names[LAST]).splitlines()[-1:]
    if not lines:
        raise ValueError("the program printed nothing")
    return lines[-1].strip()


def check(tree: ast.AST) -> None:
    """Refuse names with two underscores, and attributes and statements that are not offered."""
    for node in ast.walk(tree):
        names = [getattr(node, key, None) for key in ("id", "name", "arg", "asname")]
        for name in names:
            if isinstance(name, str) and name.startswith("__") and name != "__name__":
                raise Refused(f"{name} is not offered")
        if isinstance(node, ast.Attribute):
            if node.attr not in ATTRIBUTES or not isinstance(node.ctx, ast.Load):
                raise Refused(f".{node.attr} is not offered")
        elif isinstance(node, NOT_OFFERED):
            raise Refused(f"{type(node).__name__} is not offered")


def show_last(tree: ast.Module) -> None:
    """Keep the value of a last line that is an expression, as an interactive session does."""
    if tree.body and isinstance(tree.body[-1], ast.Expr):
        target = ast.Name(id=LAST, ctx=ast.Store())
        kept = ast.Assign(targets=[target], value=tree.body[-1].value)
        tree.body[-1] = ast.copy_location(kept, tree.body[-1])


class Bounded(ast.NodeTransformer):
    """Powers and repetitions go through functions that bound them."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """`a ** b`, `a * b` and `a << b` as calls."""
        self.generic_visit(node)
        called = BOUNDED.get(type(node.op))
        if called is None:
            return node
        name = ast.Name(id=f"bounded {called}", ctx=ast.Load())
        call = ast.Call(func=name, args=[node.left, node.right], keywords=[])
        return ast.copy_location(call, node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        """`a *= b` as `a = a * b`, where `a` is a name.

        Raises:
            Refused: it is none, and the operation is one that is bounded.
        """
        if type(node.op) not in BOUNDED:
            return self.generic_visit(node)
        if not isinstance(node.target, ast.Name):
            raise Refused("this assignment is not offered")
        before = ast.Name(id=node.target.id, ctx=ast.Load())
        worked = self.visit(
            ast.copy_location(ast.BinOp(left=before, op=node.op, right=node.value), node)
        )
        return ast.copy_location(ast.Assign(targets=[node.target], value=worked), node)


def bounded_pow(base: object, exponent: object, modulus: object = None) -> object:
    """A power of bounded size."""
    whole = modulus is None and isinstance(base, int) and isinstance(exponent, int)
    if whole and base.bit_length() * max(exponent, 0) > MOST_BITS:
        raise Refused("the power is too large")
    return pow(base, exponent, modulus)


def bounded_times(left: object, right: object) -> object:
    """A product; what is repeated stays short."""
    for thing, count in ((left, right), (right, left)):
        repeated = isinstance(thing, str | list | tuple) and isinstance(count, int)
        if repeated and len(thing) * count > LONGEST_RANGE:
            raise Refused("too much of the same")
    whole = isinstance(left, int) and isinstance(right, int)
    if whole and left.bit_length() + right.bit_length() > MOST_BITS:
        raise Refused("the product is too large")
    return left * right


def bounded_prod(factors: Iterable) -> object:
    """The product of all factors."""
    return functools.reduce(bounded_times, factors, 1)


def bounded_shift(left: int, by: int) -> int:
    """A shift of bounded size."""
    if by > MOST_BITS:
        raise Refused("the shift is too large")
    return left << by


def bounded_range(*bounds: int) -> range:
    """A range of bounded length."""
    found = range(*bounds)
    if len(found) > LONGEST_RANGE:
        raise Refused("the range is too long")
    return found


MODULES["math"].prod = bounded_prod


def offered(name: str, *_: object) -> SimpleNamespace:
    """What `import name` gives."""
    if name not in MODULES:
        raise Refused(f"module {name} is not offered")
    return MODULES[name]


def surroundings(printed: list[str]) -> dict:
    """The names a program starts with; what it prints goes to `printed`."""

    def told(*values: object, sep: str = " ", end: str = "\n") -> None:
        text = sep.join(map(str, values)) + end
        if sum(map(len, printed)) + len(text) > MOST_CHARS:
            raise Refused("it prints too much")
        printed.append(text)

    inner = sys.modules["builtins"]
    plain = {name: getattr(inner, name) for name in BUILTINS.split()}
    own = {"print": told, "range": bounded_range, "pow": bounded_pow, "__import__": offered}
    bounded = {"bounded pow": bounded_pow, "bounded times": bounded_times}
    return {
        "__builtins__": {**plain, **own},
        "__name__": "__main__",
        **bounded,
        "bounded shift": bounded_shift,
    }


def run(program: object, names: dict) -> None:
    """Run it, at most `MOST_LINES` lines."""
    left = [MOST_LINES]

    def traced(frame: object, event: str, value: object) -> object:
        if event == "line":
            left[0] -= 1
            if left[0] < 0:
                raise Refused("the program runs too long")
        return traced

    before = sys.gettrace()
    sys.settrace(traced)
    try:
        exec(program, names)  # noqa: S102 - checked, bounded, and inside the sandbox
    finally:
        sys.settrace(before)
