"""Kinds of plain values: read from annotations, inferred from examples, and told of a value.

Part of the program that runs in the sandbox: standard library only.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

Kind = tuple[Any, ...]
"""`("int",)`, `("list", Kind)`, `("dict", Kind, Kind)`, `("tuple", Kind, ...)`,
`("union", Kind, ...)`, `("any",)`, and so on; `("tuple_of", Kind)` is of any length."""

ANY: Kind = ("any",)
_PLAIN = {"int", "float", "str", "bool", "bytes"}
_LISTS = {"list", "sequence", "iterable", "collection", "mutablesequence"}
_SETS = {"set", "frozenset"}
_DICTS = {"dict", "mapping", "defaultdict", "counter", "ordereddict"}
_CLASSES: dict[str, type | tuple[type, ...]] = {
    "int": int,
    "float": (int, float),
    "str": str,
    "bool": bool,
    "bytes": bytes,
    "none": type(None),
    "list": list,
    "set": (set, frozenset),
    "dict": dict,
    "tuple": tuple,
    "tuple_of": tuple,
}


def kind_of_annotation(annotation: str | None) -> Kind:
    """The kind an annotation's source means; `ANY` where it is none we know."""
    if annotation is None:
        return ANY
    try:
        return _read(ast.parse(annotation, mode="eval").body)
    except (SyntaxError, ValueError, RecursionError):
        return ANY


def _read(node: ast.expr) -> Kind:
    match node:
        case ast.Constant(value=None):
            return ("none",)
        case ast.Constant(value=str(text)):
            return kind_of_annotation(text)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return ("union", _read(left), _read(right))
        case ast.Subscript(value=value, slice=inner):
            return _generic(_name(value), inner)
    name = _name(node)
    if name in _PLAIN:
        return (name,)
    return _generic(name, None)


def _name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr.lower()
    return node.id.lower() if isinstance(node, ast.Name) else ""


def _generic(name: str, inner: ast.expr | None) -> Kind:
    many = inner.elts if isinstance(inner, ast.Tuple) else [] if inner is None else [inner]
    open_end = any(isinstance(n, ast.Constant) and n.value is ... for n in many)
    kinds = [_read(n) for n in many if not (isinstance(n, ast.Constant) and n.value is ...)]
    first = kinds[0] if kinds else ANY
    if name in _LISTS:
        return ("list", first)
    if name in _SETS:
        return ("set", first)
    if name in _DICTS:
        return ("dict", first, kinds[1] if len(kinds) > 1 else ANY)
    if name == "tuple":
        return ("tuple_of", first) if open_end or not kinds else ("tuple", *kinds)
    if name == "optional":
        return ("union", first, ("none",))
    return ("union", *kinds) if name == "union" else ANY


def kind_of_value(value: Any) -> Kind:
    """The kind of a plain value; what an empty container holds is `ANY`."""
    if value is None:
        return ("none",)
    if isinstance(value, bool | int | float | str | bytes):
        return (type(value).__name__,)
    if isinstance(value, list):
        return ("list", merged(map(kind_of_value, value)))
    if isinstance(value, tuple):
        return ("tuple", *map(kind_of_value, value))
    if isinstance(value, set | frozenset):
        return ("set", merged(map(kind_of_value, value)))
    if isinstance(value, dict):
        return (
            "dict",
            merged(map(kind_of_value, value)),
            merged(map(kind_of_value, value.values())),
        )
    return ANY


def merged(kinds: Iterable[Kind]) -> Kind:
    """One kind for several values: int and float make float; what differs makes a union."""
    found = ANY
    for kind in kinds:
        found = _both(found, kind)
    return found


def _both(a: Kind, b: Kind) -> Kind:
    if a in (ANY, b):
        return b
    if b == ANY:
        return a
    if {a[0], b[0]} == {"int", "float"}:
        return ("float",)
    if a[0] == b[0] and len(a) == len(b) and a[0] != "union":
        return (a[0], *map(_both, a[1:], b[1:]))
    members = [*(a[1:] if a[0] == "union" else (a,)), *(b[1:] if b[0] == "union" else (b,))]
    return ("union", *dict.fromkeys(members))


def fits(kind: Kind, value: Any) -> bool:
    """Whether a value is of a kind; an int is a float, a bool an int, all is `ANY`."""
    name = kind[0]
    if name == "union":
        return any(fits(member, value) for member in kind[1:])
    if name == "any":
        return True
    if not isinstance(value, _CLASSES[name]) or (name == "float" and isinstance(value, bool)):
        return False
    return _fits_inside(kind, value)


def _fits_inside(kind: Kind, value: Any) -> bool:
    name = kind[0]
    if name in ("list", "set", "tuple_of"):
        return all(fits(kind[1], item) for item in value)
    if name == "tuple":
        return len(value) == len(kind) - 1 and all(map(fits, kind[1:], value))
    if name == "dict":
        return all(fits(kind[1], k) and fits(kind[2], v) for k, v in value.items())
    return True
