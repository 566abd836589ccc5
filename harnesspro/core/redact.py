"""Secrets taken out of what is about to be recorded: known values, known forms, and what is named a
secret and looks drawn at random. Pure; the same value always gives the same record.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

MARK = "[redacted]"
_LEAST_EXACT = 8
"""Shorter values stand in ordinary text by chance."""
_LEAST_BITS = 3.3
"""Bits a character from which a named value with a digit in it counts as drawn at random: random hex
has close to 4, a number or a word repeated less."""
_NAMED_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL", re.IGNORECASE)
_FORMS = (
    re.compile(
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    ),
    re.compile(r"\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}"),  # a JWT
    re.compile(r"\bsk-[A-Za-z0-9_-]{16,}"),
    re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    re.compile(r"\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_\w{40,}|glpat-[\w-]{20,})"),
    re.compile(r"\b(?:xox[abprs]-[\w-]{10,}|AIza[\w-]{35}|hf_[A-Za-z0-9]{30,})"),
)
_AROUND = (
    re.compile(r"(?P<before>[a-z][a-z0-9+.-]*://)[^\s/:@]*:[^\s/@]+(?P<after>@)", re.IGNORECASE),
    re.compile(
        r"(?P<before>\b(?:bearer|basic)\s+)(?=\S*\d)[A-Za-z0-9+/._~=-]{16,}(?P<after>)",
        re.IGNORECASE,
    ),
    re.compile(
        r"(?P<before>\b[A-Z][A-Z0-9_]*(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD)\s*=\s*[\"']?)"
        r"[^\s\"']{8,}(?P<after>)"
    ),
)
_NAMED = re.compile(
    r"(?P<before>(?:api[_-]?key|token|secret|passw(?:or)?d|authorization)[\"']?\s*[:=]\s*[\"']?)"
    r"(?P<value>[A-Za-z0-9+/_.=-]{20,})",
    re.IGNORECASE,
)

Redact = Callable[[Any], Any]
"""A JSON value -> the value as it may be recorded."""


def redactor(exact: Iterable[str] = ()) -> Redact:
    """Takes out these values wherever they stand, and whatever has the form of a secret."""
    known = sorted({value for value in exact if len(value) >= _LEAST_EXACT}, key=len, reverse=True)
    names = re.compile("|".join(map(re.escape, known))) if known else None

    def of_text(text: str) -> str:
        return redacted_text(names.sub(MARK, text) if names else text)

    def redact(value: Any) -> Any:
        if isinstance(value, str):
            return of_text(value)
        if isinstance(value, list | tuple):
            return [redact(item) for item in value]
        if isinstance(value, dict):
            return {of_text(key): redact(item) for key, item in value.items()}
        return value

    return redact


def redacted_text(text: str) -> str:
    """The text without what has the form of a secret."""
    for form in _FORMS:
        text = form.sub(MARK, text)
    for around in _AROUND:
        text = around.sub(rf"\g<before>{MARK}\g<after>", text)
    return _NAMED.sub(_of_named, text)


def secrets_of(environment: Mapping[str, str]) -> tuple[str, ...]:
    """The values of variables that are named like a secret."""
    return tuple(value for name, value in environment.items() if _NAMED_SECRET.search(name))


def bits_a_character(text: str) -> float:
    """Shannon entropy of the characters of a text."""
    shares = [n / len(text) for n in Counter(text).values()]
    return -sum(share * math.log2(share) for share in shares)


def _of_named(found: re.Match[str]) -> str:
    value = found["value"]
    drawn = bits_a_character(value) >= _LEAST_BITS and any(map(str.isdigit, value))
    return found["before"] + MARK if drawn else found[0]
