"""Python values as JSON and back, so that two processes can compare what a function gave.

Part of the program that runs in the sandbox: standard library only.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

MOST_NODES, LONGEST_TEXT = 20_000, 100_000
_DEEPEST = 60
_SIGNIFICANT = 9
_EXACT = 1 << 53
_ADDRESS = re.compile(r"0x[0-9a-fA-F]+")


class TooBigError(ValueError):
    """A value with too many parts, too long a text, or too deep."""


class Opaque:
    """Something that is no plain value; equal to nothing."""

    def __init__(self, words: str) -> None:
        """Keep how it was described."""
        self.words = words

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        """No plain value is this."""
        return False

    def __repr__(self) -> str:
        """The description."""
        return self.words


def encode(value: Any) -> Any:
    """The value as JSON: null, true, texts and small integers bare, all else `[tag, content]`.

    Subclasses count as the plain type below them; sets have one order.

    Raises:
        TooBigError: more than is worth comparing.
    """
    return _encode(value, [MOST_NODES], 0)


def _encode(value: Any, left: list[int], depth: int) -> Any:
    left[0] -= 1
    if left[0] < 0 or depth > _DEEPEST:
        raise TooBigError
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        if len(value) > LONGEST_TEXT:
            raise TooBigError
        return str(value)
    if isinstance(value, int | float | complex):
        return _number(value)
    return _many(value, left, depth + 1)


def _number(value: complex) -> Any:
    if isinstance(value, int):
        return int(value) if abs(value) < _EXACT else ["i", hex(value)]
    if isinstance(value, float):
        return ["f", float.__repr__(value)]
    return ["o", f"complex {value!r}"]


def _many(value: Any, left: list[int], depth: int) -> Any:
    if isinstance(value, bytes | bytearray):
        return ["b", bytes(value).hex()]
    if isinstance(value, dict):
        pairs = [[_encode(k, left, depth), _encode(v, left, depth)] for k, v in value.items()]
        return ["d", pairs]
    for kind, tag in ((list, "l"), (tuple, "t")):
        if isinstance(value, kind):
            return [tag, [_encode(item, left, depth) for item in value]]
    if isinstance(value, set | frozenset):
        return ["S", sorted((_encode(item, left, depth) for item in value), key=spelled)]
    name = type(value).__name__
    if hasattr(value, "__next__"):
        return ["o", f"{name} object"]
    return ["o", _ADDRESS.sub("0x", f"{name} {value!r}")[:200]]


def spelled(encoded: Any) -> str:
    """One text a JSON value."""
    return json.dumps(encoded, sort_keys=True)


def decode(encoded: Any) -> Any:
    """The value again; what is no plain value becomes `Opaque`.

    Raises:
        ValueError: not what `encode` gives.
    """
    if encoded is None or isinstance(encoded, bool | str | int):
        return encoded
    match encoded:
        case ["i", str(text)]:
            return int(text, 16)
        case ["f", str(text)]:
            return float(text)
        case ["b", str(text)]:
            return bytes.fromhex(text)
        case ["o", str(text)]:
            return Opaque(text)
        case [str(tag), list(items)]:
            return _decode_many(tag, items)
    raise ValueError("not an encoded value")


def _decode_many(tag: str, items: list[Any]) -> Any:
    if tag == "d":
        return {_hashable(decode(key)): decode(value) for key, value in items}
    values = [decode(item) for item in items]
    if tag == "l":
        return values
    if tag == "t":
        return tuple(values)
    if tag == "S":
        return {_hashable(value) for value in values}
    raise ValueError(f"no value has the tag {tag!r}")


def _hashable(value: Any) -> Any:
    return repr(value) if isinstance(value, Opaque | list | dict | set) else value


def canonical(encoded: Any) -> Any:
    """The encoded value with one spelling for equal values.

    1.0 is 1, floats have nine significant digits, NaN is itself; true is not 1.
    """
    match encoded:
        case ["f", str(text)]:
            return _rounded(float(text))
        case ["d" | "S" as tag, list(items)]:
            return [tag, sorted((canonical(item) for item in items), key=spelled)]
        case [str(tag), list(items)] if tag in ("l", "t"):
            return [tag, [canonical(item) for item in items]]
        case [key, value] if not (isinstance(key, str) and key in "ifbo"):
            return [canonical(key), canonical(value)]
    return encoded


def _rounded(value: float) -> Any:
    if not math.isfinite(value):
        return ["f", str(value)]
    if not value.is_integer():
        value = float(f"{value:.{_SIGNIFICANT}g}")
    if value.is_integer():
        return _number(int(value))
    return ["f", repr(value)]


def equal(a: Any, b: Any) -> bool:
    """Equal as Python has it, numbers within 1e-6 of each other, NaN to itself."""
    if isinstance(a, bool | int | float) and isinstance(b, bool | int | float):
        return _same_number(a, b)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        same_kind = isinstance(a, list) == isinstance(b, list)
        return same_kind and len(a) == len(b) and all(map(equal, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(equal(a[key], b[key]) for key in a)
    return bool(a == b)


def _same_number(a: float, b: float) -> bool:
    if isinstance(a, int) and isinstance(b, int):
        return a == b
    try:
        return (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-9)
    except OverflowError:
        return False
