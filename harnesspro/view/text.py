"""Strings from outside, made harmless for a terminal: the one function every such string passes.

Control characters, escape sequences, text direction marks and invisible characters become visible
escapes. Standard library only.
"""

from __future__ import annotations

import unicodedata

_ESCAPED_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
_INVISIBLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0\u2800")
_SHORT = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}
CUT = "..."


def safe_text(value: object, *, limit: int | None = None) -> str:
    """The value on one line, nothing in it but what can be seen.

    With `limit`, at most that many characters, the cut marked by `...`.
    """
    text = str(value)
    if limit is not None and len(text) > limit:
        text = text[:limit]  # no more work than is shown
        return _cut(_escaped(text), limit - len(CUT))
    shown = _escaped(text)
    return shown if limit is None or len(shown) <= limit else _cut(shown, limit - len(CUT))


def safe_lines(value: object) -> str:
    """Like `safe_text`, but line breaks stay and tabs become four spaces."""
    text = str(value).replace("\r\n", "\n").replace("\t", "    ")
    return "\n".join(_escaped(line) for line in text.split("\n"))


def _escaped(text: str) -> str:
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escape(char) if _is_hidden(char) else char for char in text)


def _is_hidden(char: str) -> bool:
    if char in _INVISIBLE or unicodedata.category(char) in _ESCAPED_CATEGORIES:
        return True
    point = ord(char)
    selector = 0xFE00 <= point <= 0xFE0E or 0xE0100 <= point <= 0xE01EF
    return selector or point & 0xFFFE == 0xFFFE


def _escape(char: str) -> str:
    point = ord(char)
    if char in _SHORT:
        return _SHORT[char]
    if point <= 0xFF:
        return f"\\x{point:02x}"
    return f"\\u{point:04x}" if point <= 0xFFFF else f"\\U{point:08x}"


def _cut(text: str, limit: int) -> str:
    return text[: max(0, limit)].rstrip() + CUT
