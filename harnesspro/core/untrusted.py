"""Text that others wrote, made fit to stand in a question to a model: visible, capped, fenced.

It stays data whatever it says; this only keeps it from hiding what it is, and from ending its own
quotation. What a model that obeys it may do is bounded by the type of its reply.
"""

from __future__ import annotations

import unicodedata

from harnesspro.core.hashing import content_hash

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_KEPT = frozenset("\n\t")


def fence_of(*values: object) -> str:
    """A delimiter that hangs on everything it will stand around, so none of it can hold it."""
    return f"----{content_hash(*values)[:24]}----"


def visible_text(text: str, *, limit: int) -> str:
    """The text without control, formatting, direction and invisible characters, at most `limit`.

    What is too long keeps both ends, and says how much was left out between them.
    """
    half = limit // 2
    if len(text) > limit:
        left_out = f"\n[{len(text) - 2 * half} characters left out]\n"
        return _visible(text[:half]) + left_out + _visible(text[len(text) - half :])
    return _visible(text)


def fenced(text: str, fence: str, *, limit: int) -> str:
    """The visible text between two lines that are the fence."""
    return f"{fence}\n{visible_text(text, limit=limit).replace(fence, '')}\n{fence}"


def _visible(text: str) -> str:
    if text.isascii() and text.isprintable():
        return text
    return "".join(c for c in text if c in _KEPT or unicodedata.category(c) not in _HIDDEN)
