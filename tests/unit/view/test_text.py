"""No string from outside reaches a terminal with anything in it that cannot be seen."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harnesspro.view.text import safe_lines, safe_text


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("plain [bold]text[/bold]", "plain [bold]text[/bold]"),
        ("Grüße, 東京 ✓", "Grüße, 東京 ✓"),
        ("a\nb\tc\r", "a\\nb\\tc\\r"),
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("\x1b]8;;http://x\x07link\x1b]8;;\x07", "\\x1b]8;;http://x\\x07link\\x1b]8;;\\x07"),
        ("\x9b31m\x85\x7f\x00", "\\x9b31m\\x85\\x7f\\x00"),
        ("user\u202egnp.exe\u2066", "user\\u202egnp.exe\\u2066"),
        ("zero\u200bwidth\u200d\ufeff\u00ad", "zero\\u200bwidth\\u200d\\ufeff\\xad"),
        ("tag\U000e0041", "tag\\U000e0041"),
        ("lone\ud800", "lone\\ud800"),
        ("sep\u2028\u2029", "sep\\u2028\\u2029"),
        (17, "17"),
    ],
)
def test_what_cannot_be_seen_is_shown_as_an_escape(raw: object, shown: str) -> None:
    assert safe_text(raw) == shown


def test_a_limit_cuts_and_says_so() -> None:
    assert safe_text("abcdefghij", limit=10) == "abcdefghij"
    assert safe_text("abcdefghijk", limit=10) == "abcdefg..."
    assert safe_text("\x1b" * 5, limit=10) == "\\x1b\\x1..."


def test_lines_stay_lines() -> None:
    assert safe_lines("a\r\n\tb\x1b\rc\n") == "a\n    b\\x1b\\rc\n"


@given(st.lists(st.integers(0, sys.maxunicode).map(chr)).map("".join))
def test_nothing_that_controls_or_hides_is_left(text: str) -> None:
    shown = safe_text(text)
    assert not {unicodedata.category(c) for c in shown} & {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
    assert shown.encode().decode() == shown


@given(st.text(max_size=60), st.integers(min_value=3, max_value=40))
def test_a_limit_holds(text: str, limit: int) -> None:
    assert len(safe_text(text, limit=limit)) <= limit
