"""Inputs to try a function on: from its examples and annotations, drawn by the task's own text.

The answer has no say in them. Part of the program that runs in the sandbox: standard library only.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from harnesspro.checks.code_examples import Example
from harnesspro.checks.code_task import Asked
from harnesspro.checks.code_types import ANY, Kind, kind_of_annotation, kind_of_value, merged
from harnesspro.checks.code_values import encode, spelled

N_INPUTS = 32
_MOST_OF_EXAMPLES = 8
_LARGEST = 20
_LETTERS = "abcdeABC xyz019,.()"
_HINTS = {
    **dict.fromkeys(
        ("s", "string", "text", "word", "sentence", "str1", "str2", "st", "txt"), "str"
    ),
    **dict.fromkeys(("n", "k", "m", "count", "size", "limit"), "int"),
    **dict.fromkeys(("lst", "arr", "nums", "numbers", "l", "array", "values", "xs"), "list[int]"),
    **dict.fromkeys(("words", "strings"), "list[str]"),
}
"""What a parameter without annotation and example holds, by its name."""
T = TypeVar("T")
Args = tuple[Any, ...]


class Draws:
    """Chance from a text: the same text, the same draws, on every machine."""

    def __init__(self, text: str) -> None:
        """Begin at the first draw."""
        self.text, self.n = text, 0

    def below(self, n: int) -> int:
        """A whole number in [0, n)."""
        self.n += 1
        digest = hashlib.sha256(f"{self.n}:{self.text}".encode()).digest()
        return int.from_bytes(digest[:8], "big") % n

    def pick(self, items: Sequence[T]) -> T:
        """One of the items."""
        return items[self.below(len(items))]


class Range(NamedTuple):
    """What values of one parameter look like in the examples."""

    kind: Kind
    largest: int
    negative: bool
    letters: str


def inputs_of(asked: Asked, examples: Sequence[Example], *, n: int = N_INPUTS) -> tuple[Args, ...]:
    """At least n distinct tuples of arguments, fewer only where the kinds hold no more.

    The examples' own come first, then small changes of them in turn with values of the kinds.
    """
    draws = Draws(asked.doc + asked.name)
    own = [example.args for example in examples if _fits_signature(asked, example)]
    ranges = _ranges(asked, own)
    found = {spelled(encode(args)): args for args in own[:_MOST_OF_EXAMPLES]}
    for turn in range(20 * n):
        if len(found) >= n:
            break
        if own and turn % 2:
            args = _changed_args(draws.pick(own), ranges, draws)
        else:
            args = tuple(fill(_wider(each, turn // (5 * n)), draws) for each in ranges)
        found.setdefault(spelled(encode(args)), args)
    return tuple(found.values())


def _wider(each: Range, step: int) -> Range:
    """Where a narrow range has been used up, a wider one."""
    return each._replace(largest=each.largest + 8 * step) if step else each


def _fits_signature(asked: Asked, example: Example) -> bool:
    n_most = len(asked.parameters) + 100 * asked.open_ended
    return not example.kwargs and asked.n_required <= len(example.args) <= n_most


def _ranges(asked: Asked, own: Sequence[Args]) -> tuple[Range, ...]:
    n = max([asked.n_required, *map(len, own)]) if own or asked.n_required else 0
    ranges = []
    for index in range(n):
        seen = [args[index] for args in own if index < len(args)]
        known = asked.parameters[index].annotation if index < len(asked.parameters) else None
        name = asked.parameters[index].name if index < len(asked.parameters) else ""
        ranges.append(_range(known or _HINTS.get(name.lower()), seen))
    return tuple(ranges)


def _range(annotation: str | None, seen: Sequence[Any]) -> Range:
    written, shown = kind_of_annotation(annotation), merged(map(kind_of_value, seen))
    numbers, letters = list[float](), set[str]()
    for value in seen:
        _gather(value, numbers, letters)
    sizes = [int(abs(x)) for x in numbers if abs(x) < 1e9]
    return Range(
        kind=written if _is_full(written) or shown == ANY else shown,
        largest=max([*sizes, 3]) + 3 if sizes else _LARGEST,
        negative=any(x < 0 for x in numbers) or not seen,
        letters="".join(sorted(letters)) or _LETTERS,
    )


def _is_full(kind: Kind) -> bool:
    return kind != ANY and all(_is_full(inner) for inner in kind[1:])


def _gather(value: Any, numbers: list[float], letters: set[str]) -> None:
    if isinstance(value, str):
        letters.update(value)
    elif isinstance(value, int | float):
        numbers.append(value)
    elif isinstance(value, dict):
        _gather([*value, *value.values()], numbers, letters)
    elif isinstance(value, list | tuple | set | frozenset):
        for item in value:
            _gather(item, numbers, letters)


# --- values of a kind --------------------------------------------------------------------------


def fill(each: Range, draws: Draws) -> Any:
    """A value of the kind, small as often as not."""
    maker = _MAKERS.get(each.kind[0])
    return maker(each, draws) if maker else fill(each._replace(kind=("int",)), draws)


def _int(each: Range, draws: Draws) -> int:
    small = draws.pick((0, 1, 2, 3))
    value = small if draws.below(3) == 0 else draws.below(each.largest + 1)
    return -value if each.negative and draws.below(3) == 0 else value


def _float(each: Range, draws: Draws) -> float:
    return _int(each, draws) + draws.pick((0.0, 0.0, 0.5, 0.25, 0.1))


def _str(each: Range, draws: Draws) -> str:
    return "".join(draws.pick(each.letters) for _ in range(draws.pick((0, 1, 2, 3, 5, 8, 12))))


def _any(each: Range, draws: Draws) -> Any:
    kinds: tuple[Kind, ...] = (("int",), ("str",), ("list", ("int",)))
    return fill(each._replace(kind=draws.pick(kinds)), draws)


def _items(each: Range, draws: Draws) -> list[Any]:
    inner = each._replace(kind=("int",) if each.kind[1] == ANY else each.kind[1])
    return [fill(inner, draws) for _ in range(draws.pick((0, 1, 2, 3, 4, 5, 7)))]


def _dict(each: Range, draws: Draws) -> dict[Any, Any]:
    keys = _set(each._replace(kind=("set", _or(each.kind[1], ("str",)))), draws)
    inner = each._replace(kind=_or(each.kind[2], ("int",)))
    return {key: fill(inner, draws) for key in sorted(keys, key=repr)}


def _or(kind: Kind, other: Kind) -> Kind:
    return other if kind == ANY else kind


def _set(each: Range, draws: Draws) -> set[Any]:
    items = _items(each, draws)
    return {tuple(item) if isinstance(item, list) else item for item in items}


_MAKERS: dict[str, Callable[[Range, Draws], Any]] = {
    "any": _any,
    "none": lambda each, draws: None,
    "bool": lambda each, draws: draws.below(2) == 1,
    "int": _int,
    "float": _float,
    "str": _str,
    "bytes": lambda each, draws: _str(each, draws).encode(),
    "list": _items,
    "set": _set,
    "dict": _dict,
    "tuple_of": lambda each, draws: tuple(_items(each, draws)),
    "tuple": lambda each, draws: tuple(
        fill(each._replace(kind=kind), draws) for kind in each.kind[1:]
    ),
    "union": lambda each, draws: fill(each._replace(kind=draws.pick(each.kind[1:])), draws),
}


# --- small changes of an example ---------------------------------------------------------------


def _changed_args(args: Args, ranges: Sequence[Range], draws: Draws) -> Args:
    values = list(args)
    for _ in range(draws.pick((1, 1, 2, 3))):
        if values:
            index = draws.below(len(values))
            values[index] = changed(values[index], ranges[index], draws)
    return tuple(values)


def changed(value: Any, each: Range, draws: Draws) -> Any:
    """A value of the same kind, one step away."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return draws.pick((value + 1, value - 1, _int(each, draws)))
    if isinstance(value, float):
        return draws.pick((value + 1, value - 0.5, _float(each, draws)))
    if isinstance(value, str):
        return "".join(_moved(list(value), each.letters, draws))
    if isinstance(value, list | tuple):
        spare = [changed(item, each, draws) for item in value]
        return type(value)(_moved(list(value), spare or [1, 2, 3], draws))
    if isinstance(value, dict) and value:
        key = draws.pick(list(value))
        rest = {k: v for k, v in value.items() if k != key}
        return rest if draws.below(3) == 0 else {**rest, key: changed(value[key], each, draws)}
    return value


def _moved(items: list[T], spare: Sequence[T], draws: Draws) -> list[T]:
    """The items with one dropped, doubled, added, replaced or swapped, or all turned round."""
    at = draws.below(len(items)) if items else 0
    other = draws.below(len(items)) if items else 0
    new = draws.pick(spare)
    whole = (
        items[:at] + items[at + 1 :],
        items[: at + 1] + items[at:],
        [*items[:at], new, *items[at:]],
        [*items[:at], new, *items[at + 1 :]],
        [items[other] if i == at else items[at] if i == other else x for i, x in enumerate(items)],
        items[::-1],
    )
    return draws.pick(whole)
