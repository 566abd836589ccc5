"""A table with what must be known to read it: assumptions, seeds, replicates, Monte-Carlo error."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sheet:
    """One table; every cell is text already."""

    title: str
    about: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def markdown(self) -> str:
        """Title, what it rests on, the table."""
        lines = [
            f"## {self.title}",
            "",
            self.about,
            "",
            _line(self.header),
            _line(["---"] * len(self.header)),
            *map(_line, self.rows),
        ]
        return "\n".join(lines) + "\n"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def share(value: float, *, digits: int = 3) -> str:
    """A share as the tables write it: `.045`."""
    return f"{value:.{digits}f}".removeprefix("0") if 0 <= value < 1 else f"{value:.{digits}f}"


def mc_error(value: float, n_runs: int) -> float:
    """Standard error of a simulated share."""
    return math.sqrt(max(value * (1 - value), 0.25 / n_runs) / n_runs)


def row(name: str, values: Sequence[float], digits: int = 3) -> tuple[str, ...]:
    """One row of a table: its name, then shares."""
    return (name, *(share(value, digits=digits) for value in values))


def runs_words(n_runs: int) -> str:
    worst = mc_error(0.05, n_runs)
    return f"{n_runs} runs a cell, fixed seeds; standard error at .05: {share(worst, digits=4)}."
