"""What a docstring's words promise of a function's results, without knowing the right ones.

A relation changes an input and says what must follow, or looks at one result. Only words that make
it sound count. Part of the program that runs in the sandbox: standard library only.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

from harnesspro.checks.code_task import Asked
from harnesspro.checks.code_values import equal

Args = tuple[Any, ...]


class Relation(NamedTuple):
    """`follow` gives the changed input (None: does not apply); `holds` compares the two results.

    A relation without `follow` looks at one result, which `holds` gets twice.
    """

    name: str
    follow: Callable[[Args], Args | None] | None
    holds: Callable[[Any, Any], bool]


def relations_of(asked: Asked) -> tuple[Relation, ...]:
    """The relations that the docstring's words make sound; none where they make none."""
    doc = " ".join(asked.doc.split(">>>", maxsplit=1)[0].lower().split())
    return tuple(relation for sounds, relation in _KNOWN if sounds(doc, asked))


def _matches(pattern: str, unless: str) -> Callable[[str, Asked], bool]:
    wanted, refused = re.compile(pattern), re.compile(unless)
    return lambda doc, asked: bool(wanted.search(doc)) and not refused.search(doc)


def _one_parameter(sounds: Callable[[str, Asked], bool], n: int) -> Callable[[str, Asked], bool]:
    return lambda doc, asked: len(asked.parameters) == n and sounds(doc, asked)


# --- changed inputs ----------------------------------------------------------------------------


def _turned(args: Args) -> Args | None:
    """A list the other way round, its first element moved behind the second."""
    (value,) = args
    if not isinstance(value, list) or len(value) < 2:
        return None
    turned = value[::-1]
    return ([*turned[1:2], turned[0], *turned[2:]] if len(value) > 2 else turned,)


def _other_case(args: Args) -> Args | None:
    texts = [isinstance(value, str) and value.isascii() for value in args]
    if not any(texts):
        return None
    return tuple(v.swapcase() if text else v for v, text in zip(args, texts, strict=True))


def _swapped(args: Args) -> Args | None:
    return (args[1], args[0]) if len(args) == 2 else None


def _mirrored(args: Args) -> Args | None:
    value = args[0]
    return (value[::-1], *args[1:]) if isinstance(value, str | list) else None


# --- one result --------------------------------------------------------------------------------


def _rises(a: Any, b: Any) -> bool:
    return _in_order(a, falling=False)


def _falls(a: Any, b: Any) -> bool:
    return _in_order(a, falling=True)


def _in_order(value: Any, *, falling: bool) -> bool:
    if not isinstance(value, list):
        return True
    try:
        return all((y <= x) if falling else (x <= y) for x, y in pairwise(value))
    except TypeError:
        return False


def _no_doubles(a: Any, b: Any) -> bool:
    if not isinstance(a, list):
        return True
    return not any(equal(x, y) for i, x in enumerate(a) for y in a[:i])


_PLACES = (
    r"index|indices|position|consecutive|adjacent|neighbo|previous|next|first|last|before|after"
    r"|sub-?arrays?|sub-?sequence|prefix|suffix|in order|the order|rolling|so far|row|alternat"
    r"|path|remov|operation|digit|swap|shift|balance|matrix|grid|bigger than|element at|i-th|polynom"
    r"|even places|odd places|slope|monotonic|sorted|increasing|decreasing|sum to|palindrom|pairs?\b"
)
_SORTS = r"(?:ascending|increasing|non-decreasing|sorted) order|\bsort(?:s|ed)?\b|smallest (?:one )?first"
_NOT_RISING = (
    r"descend|decreas|revers|largest to|strange|odd|even|third|divisible|indic|index|lexicograph"
    r"|according|based on|length|remainder|by the|by their|\bif\b|whether|check|frequen|number of|binary|names"
)
_AGGREGATES = (
    r"(?:\breturns?|\bfinds?|\bcalculates?|\bcomputes?|\bgets?|\bgives?)\s+(?:me\s+|you\s+)?"
    r"(?:the\s+|a\s+)?(?:sum|product|maximum|minimum|max|min|largest|smallest|mean|average|median|"
    r"number of|count of|total of|how many)\b|\breturns? how many\b"
)

_KNOWN: tuple[tuple[Callable[[str, Asked], bool], Relation], ...] = (
    (
        _one_parameter(_matches(_AGGREGATES, _PLACES), 1),
        Relation("order_free", _turned, equal),
    ),
    (
        _matches(r"case[- ]insensitive|ignor\w+ (?:the )?case|regardless of case", r"(?!)"),
        Relation("case_free", _other_case, equal),
    ),
    (
        _one_parameter(
            _matches(
                r"greatest common divisor|least common multiple|\bgcd\b|\blcm\b"
                r"|add two numbers|sum of two numbers|common elements",
                r"(?!)",
            ),
            2,
        ),
        Relation("symmetric", _swapped, equal),
    ),
    (
        _one_parameter(
            _matches(
                r"(?:checks?|tests?|returns? true) if (?:a |the )?(?:given )?"
                r"(?:string|text|word|list|it)?\s*is (?:a )?palindrom",
                r"make|shortest|append",
            ),
            1,
        ),
        Relation("mirrored", _mirrored, equal),
    ),
    (
        _matches(rf"returns? [^.]*?(?:{_SORTS})", _NOT_RISING),
        Relation("rises", None, _rises),
    ),
    (
        _matches(
            r"returns? [^.]*?(?:(?:descending|decreasing) order|largest (?:one )?first)",
            r"\bif\b|whether|check|length|by the",
        ),
        Relation("falls", None, _falls),
    ),
    (
        _matches(
            r"returns? [^.]*?\b(?:unique|distinct)\b[^.]*?(?:elements|values|numbers|items|words)"
            r"|remove[^.]*duplicates|without duplicates",
            r"number of|count|how many|consecutive|adjacent|maximum|sum of|word with",
        ),
        Relation("no_doubles", None, _no_doubles),
    ),
)
