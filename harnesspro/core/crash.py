"""Where a process of the judge may be made to die, so that tests can kill it at any step that matters.

A process passes named points; whoever starts it may name one of them and how often it may be passed
before. Nothing that a harness sends or writes reaches this.
"""

from __future__ import annotations

from collections.abc import Callable

At = Callable[[str], None]
"""Called with a point's name as it is passed."""

POINTS = (
    "commit.before",
    "commit.after",
    "call.sent",
    "call.replied",
    "report.before",
    "report.after",
)
"""Around every transaction of the ledger; between a call on record as sent and its bytes leaving; between
its reply and its settlement; around the report's own rename.
"""


def passing(_point: str) -> None:
    """Nothing happens."""


def dying_at(told: str | None, die: Callable[[], None]) -> At:
    """`POINT:N` dies as the N-th passing of a point begins (from 1); None never does.

    Raises:
        ValueError: no such point, or no such number.
    """
    if not told:
        return passing
    point, _, number = told.partition(":")
    left = int(number or 1)
    if point not in POINTS or left < 1:
        raise ValueError(f"{told!r}; expected one of {', '.join(POINTS)} and a number from 1")

    def at(passed: str) -> None:
        nonlocal left
        if passed == point:
            left -= 1
            if left == 0:
                die()

    return at
