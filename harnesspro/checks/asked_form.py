"""The form of answer a request asks for in words, and whether a text has it.

Each rule is a cue in the request and a shape; where no cue stands, nothing is asked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from harnesspro.core.answers import normal_text, parse_number

_ITEM = re.compile(
    r"^[^:]*\b(?:backwards?|reverse[ds]?|alphabetical(?:ly)?|sort(?:ed)?)\b", re.I | re.S
)
_DAYS = "monday tuesday wednesday thursday friday saturday sunday".split()  # noqa: SIM905
_WITH = r"\b(?:answer|reply|respond)\b[^.\n]*?\b(?:with|using|in|by)\b[^.\n]*?"


def _one_of(*words: str) -> Callable[[str], bool]:
    return lambda answer: normal_text(answer).strip(".!") in words


def _is_number(answer: str) -> bool:
    return parse_number(answer) is not None


def _is_a_day(answer: str) -> bool:
    return any(day in normal_text(answer) for day in _DAYS)


FORMS: Mapping[str, tuple[re.Pattern[str], Callable[[str], bool]]] = MappingProxyType(
    {
        "yes or no": (
            re.compile(_WITH + r"['\"]?yes['\"]? or ['\"]?no\b|\(answer yes or no\)", re.I),
            _one_of("yes", "no"),
        ),
        "true or false": (
            re.compile(_WITH + r"['\"]?true['\"]? or ['\"]?false\b", re.I),
            _one_of("true", "false"),
        ),
        "one word": (
            re.compile(_WITH + r"\b(?:one|a single|that one|exactly one) word\b", re.I),
            lambda answer: len(answer.split()) == 1,
        ),
        "a number": (
            re.compile(
                _WITH + r"\b(?:only|just|nothing but) (?:a|the|one) (?:number|integer)\b", re.I
            ),
            _is_number,
        ),
        "a weekday": (
            re.compile(
                r"\A(?!.*\bhow many\b).*\b(?:what|which|the) (?:day of the week|weekday)\b",
                re.I | re.S,
            ),
            _is_a_day,
        ),
        "upper case": (
            re.compile(_WITH + r"\b(?:upper[ -]?case|capital letters|all caps)\b", re.I),
            lambda answer: answer == answer.upper(),
        ),
        "lower case": (
            re.compile(_WITH + r"\blower[ -]?case\b", re.I),
            lambda answer: answer == answer.lower(),
        ),
        "commas between": (
            re.compile(_WITH + r"\bcomma[ -]separated\b", re.I),
            lambda answer: not re.search(r"[;|\n]", answer.strip()),
        ),
    }
)
"""What is asked for -> its cue and its shape."""


def has_its_form(request: str, answer: str) -> bool:
    """Whether the answer has every form the request asks for."""
    return all(fits(answer) for cue, fits in FORMS.values() if cue.search(request))


def keeps_its_letters(request: str, answer: str) -> bool:
    """Where words after the last colon are to be turned round or sorted, none is gained or lost.

    Silent where more than one sentence follows the colon.
    """
    before, colon, after = request.rstrip().rpartition(":")
    item = after.strip().rstrip(".?!").strip("\"'` ")
    if not colon or not item or not _ITEM.search(before) or re.search(r"[.?!\n]", item):
        return True
    return _letters(item) == _letters(answer)


def _letters(text: str) -> list[str]:
    return sorted(char for char in text.casefold() if char.isalnum())
