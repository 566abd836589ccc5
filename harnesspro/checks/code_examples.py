"""The examples in a docstring: calls with plain arguments, and what they should give.

Part of the program that runs in the sandbox: standard library only.
"""

from __future__ import annotations

import ast
import re
import warnings
from typing import Any, NamedTuple

from harnesspro.checks.code_values import encode, equal, spelled

_SAYS = re.compile(
    r"\s*(?:#\s*)?(?:==+>?|=>|->|=|➞|→|⇒|:|#|(?:should|must|will|would)\s+(?:return|be|give)"
    r"|returns?|gives?|is|evaluates\s+to)\s*(?:#\s*)?"
)
_TOKEN = re.compile(r"(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|True|False|None|true|false)(?=$|[\s.,;:)])")
_GOES_ON = re.compile(r"\s*[-+*/%=<>^&|(\[]|[\w'\"]")
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_LOWER = {"true": True, "false": False}
_MOST_EXAMPLES = 20


class Example(NamedTuple):
    """A call and what it gives: a value, or the name of what it raises."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    expected: Any
    raises: str | None = None


def examples_of(name: str, doc: str) -> tuple[Example, ...]:
    """The examples of this function in its docstring; those that contradict another are left out."""
    found: list[Example] = []
    for match in re.finditer(rf"(?<![\w.]){re.escape(name)}[ ]?\(", doc):
        end = _end_of_group(doc, match.end() - 1)
        if end is None:
            continue
        called = _arguments(doc[match.start() : end])
        line = doc[doc.rfind("\n", 0, match.start()) + 1 : match.start()]
        if called is not None:
            expected = _expected(doc[end:], prompt=line.lstrip().startswith(">>>"))
            if expected is not None:
                found.append(Example(*called, *expected))
    return _consistent(found)[:_MOST_EXAMPLES]


def _consistent(examples: list[Example]) -> tuple[Example, ...]:
    by_call: dict[str, list[Example]] = {}
    for example in examples:
        key = spelled([encode(example.args), encode(example.kwargs)])
        by_call.setdefault(key, []).append(example)
    return tuple(
        same[0]
        for same in by_call.values()
        if all(e.raises == same[0].raises and equal(e.expected, same[0].expected) for e in same)
    )


def _end_of_group(text: str, start: int) -> int | None:
    """Just behind the bracket that closes the one at `start`; quotes are skipped."""
    closing: list[str] = []
    index = start
    while index < len(text):
        char = text[index]
        if char in "'\"":
            index = _end_of_text(text, index)
        elif char in _CLOSING:
            closing.append(_CLOSING[char])
        elif char in ")]}":
            if not closing or closing.pop() != char:
                return None
            if not closing:
                return index + 1
        index += 1
    return None


def _end_of_text(text: str, start: int) -> int:
    """The index of the quote that ends the text begun at `start`, on the same line."""
    index = start + 1
    while index < len(text) and text[index] not in (text[start], "\n"):
        index += 2 if text[index] == "\\" else 1
    return index


def _arguments(call: str) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    try:
        node = ast.parse(call.strip(), mode="eval").body
        assert isinstance(node, ast.Call)
        args = tuple(ast.literal_eval(argument) for argument in node.args)
        kwargs = {k.arg: ast.literal_eval(k.value) for k in node.keywords if k.arg}
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError, AssertionError):
        return None
    return args, kwargs


def _expected(rest: str, *, prompt: bool) -> tuple[Any, str | None] | None:
    line, _, after = rest.partition("\n")
    if not line.strip() or (prompt and line.strip().startswith("#")):
        return _printed(after) if prompt else _said(after) if _starts(after) else None
    return _said(rest)


def _starts(text: str) -> bool:
    return re.match(r"\s*(==|=>|->|➞|→|returns?\b)", text) is not None


def _said(rest: str) -> tuple[Any, str | None] | None:
    """What stands behind a word or sign that says "gives"."""
    match = _SAYS.match(rest)
    if match is None:
        return None
    value = literal_prefix(rest[match.end() :])
    return None if value is None else (value[0], None)


def _printed(after: str) -> tuple[Any, str | None] | None:
    """The lines under a prompt, up to a blank line or the next prompt."""
    lines: list[str] = []
    for line in after.splitlines():
        if not line.strip() or line.lstrip().startswith(">>>"):
            break
        lines.append(line.strip())
    if lines and lines[0].startswith("Traceback"):
        return None, lines[-1].partition(":")[0].strip()
    value = _literal("\n".join(lines)) or (literal_prefix(lines[0]) if lines else None)
    return None if value is None else (value[0], None)


def literal_prefix(text: str) -> tuple[Any] | None:
    """The plain value a text begins with, in a tuple; None where it begins with none."""
    line = text.split("\n", 1)[0].strip()
    whole = _literal(line) or _literal(line.rstrip(".,; "))
    if whole is not None or not text:
        return whole
    end = None
    if text[0] in _CLOSING:
        end = _end_of_group(text, 0)
    elif text[0] in "'\"" and text[:3] not in ("'''", '"""'):
        end = _end_of_text(text, 0) + 1
    elif token := _TOKEN.match(text):
        end = token.end()
    if end is None or _GOES_ON.match(text[end:].split("\n", 1)[0]):
        return None
    return _literal(text[:end])


def _literal(text: str) -> tuple[Any] | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return (_LOWER[text] if text in _LOWER else ast.literal_eval(text.strip()),)
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        return None
