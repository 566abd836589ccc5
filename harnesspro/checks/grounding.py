"""Whether a value was taken from a text: the words and numbers a person could have meant by it."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

_NUMERAL = r"\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]?\d+)?|\.\d+"
_PIECE = re.compile(rf"{_NUMERAL}|[a-z]+")
_WORD = re.compile(r"[^\W_]+")
_UNITS = _WORD.findall(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
)
_TENS = _WORD.findall("twenty thirty forty fifty sixty seventy eighty ninety")
_ORDINALS = _WORD.findall("first second third fourth fifth sixth seventh eighth ninth tenth")
_SCALES = {
    "dozen": 12.0,
    "hundred": 1e2,
    "k": 1e3,
    "thousand": 1e3,
    "m": 1e6,
    "million": 1e6,
    "b": 1e9,
    "billion": 1e9,
    "trillion": 1e12,
}
_NAMED = {
    **{word: float(value) for value, word in enumerate(_UNITS)},
    **{word: 10.0 * (value + 2) for value, word in enumerate(_TENS)},
    **{word: float(value + 1) for value, word in enumerate(_ORDINALS)},
    "a": 1.0,
    "an": 1.0,
    "next": 1.0,
    "once": 1.0,
    "single": 1.0,
    "twice": 2.0,
    "double": 2.0,
    "couple": 2.0,
    "pair": 2.0,
    "both": 2.0,
    "thrice": 3.0,
    "triple": 3.0,
    "week": 7.0,
    "fortnight": 14.0,
    "decade": 10.0,
    "quarterly": 4.0,
    "monthly": 12.0,
    "half": 0.5,
    "quarter": 0.25,
    "percent": 0.01,
}
_LARGEST = sys.float_info.max
"""A whole number beyond it is held to its digits."""
_SHORTEST_STEM = 4
_LONGEST_CODE = 5
_STOP = frozenset(_WORD.findall("a an the of in at on for to and or by with is"))


@dataclass(frozen=True, slots=True)
class Source:
    """A text, read once: its words, and every number it names."""

    words: frozenset[str]
    joined: str
    """The words in order, with a space before, between and after."""
    numbers: frozenset[float]

    def has(self, value: Any) -> bool:
        """Whether the text could be where this string, number or list came from.

        Booleans and null are never told in one word and count as grounded.
        """
        if value is None or isinstance(value, bool):
            return True
        if isinstance(value, int | float) and abs(value) <= _LARGEST:
            return self._has_number(float(value))
        return self._has_text(str(value))

    def names(self, value: str) -> bool:
        """Whether the text has exactly these words in a row; punctuation apart."""
        words = words_of(value)
        return bool(words) and f" {' '.join(words)} " in self.joined

    def _has_number(self, value: float) -> bool:
        wanted = {abs(value), abs(value) * 100, abs(value) / 100}
        return any(_near(number, goal) for number in self.numbers for goal in wanted)

    def _has_text(self, value: str) -> bool:
        words = words_of(value)
        told = [word for word in words if word not in _STOP] or words
        if not told or f" {' '.join(words)} " in self.joined or self._has_initials(value):
            return True
        return 2 * sum(map(self._has_word, told)) >= len(told)

    def _has_word(self, word: str) -> bool:
        if word in self.words:
            return True
        if word.isdecimal():  # a superscript is a digit and no number
            return self._has_number(float(word))
        return any(one_stem(word, other) for other in self.words)

    def _has_initials(self, value: str) -> bool:
        """A short code made of the beginnings of words in a row: SSN, NYC, CAD."""
        code = value.casefold()
        if not (2 <= len(code) <= _LONGEST_CODE and code.isalpha()):
            return False
        between = r"(?:\w* )?"
        return re.search(f" {between.join(code)}", self.joined) is not None


@lru_cache(maxsize=512)
def source_of(text: str) -> Source:
    """The words and numbers of a text."""
    words = words_of(text)
    return Source(
        words=frozenset(words),
        joined=f" {' '.join(words)} ",
        numbers=frozenset(_numbers(text.casefold())),
    )


def words_of(text: str) -> list[str]:
    """Words and digit runs, case folded, punctuation and underscores dropped."""
    return _WORD.findall(text.casefold())


def _near(a: float, b: float) -> bool:
    return abs(a - b) <= 1e-6 * max(1.0, abs(a), abs(b))


def one_stem(a: str, b: str) -> bool:
    """Whether two words share a beginning of four letters that is most of the shorter one."""
    short = min(len(a), len(b))
    stem = max(_SHORTEST_STEM, short - 2)
    return short >= _SHORTEST_STEM and a[:stem] == b[:stem]


def _numbers(text: str) -> Iterator[float]:
    """Every number named: numerals, number words joined ("two hundred and five"), scales."""
    total, spelt = 0.0, False
    for piece in _PIECE.findall(text):
        value, scale = number_of(piece), _SCALES.get(piece)
        if scale is not None:
            total, spelt = (total or 1.0) * scale, True
            yield total
        elif value is not None:
            total = total + value if spelt and piece.isalpha() else value
            spelt = piece.isalpha()
            yield from (value, total)
            yield from map(float, piece.split(",") if "," in piece else ())
        elif piece != "and":
            total, spelt = 0.0, False


def number_of(piece: str) -> float | None:
    """The number a numeral or a number word says; None of other words."""
    return _NAMED.get(piece) if piece.isalpha() else float(piece.replace(",", ""))
