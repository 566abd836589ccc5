"""A small scatter of score against cost in plain characters. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harnesspro.view import figures
from harnesspro.view.rows import Row

_X_PAD, _Y_PAD = 0.06, 0.10
_GUTTER = 7
MIN_WIDTH = 48


@dataclass(frozen=True, slots=True)
class _Scale:
    """A value's place among `n` cells."""

    low: float
    high: float
    n: int

    def cell(self, value: float) -> int:
        share = (value - self.low) / (self.high - self.low)
        return min(self.n - 1, max(0, round(share * (self.n - 1))))


def scatter(rows: Sequence[Row], *, width: int, height: int = 9) -> list[str]:
    """Lines of a plot: cost from zero to the right, score upwards, each row's letter at its place.

    A column of dots is the score's interval; of rows that fall on one cell the first is shown.
    """
    n_columns = max(MIN_WIDTH, width) - _GUTTER
    x = _Scale(0.0, max(r.cost_per_1000.mean for r in rows) * (1 + _X_PAD) or 1.0, n_columns)
    y = _score_scale(rows, height)
    grid = [[" "] * n_columns for _ in range(height)]
    for row in reversed(rows):
        column = x.cell(row.cost_per_1000.mean)
        if row.kind != "other":
            for level in range(y.cell(row.score.low), y.cell(row.score.high) + 1):
                grid[level][column] = ":"
    for row in reversed(rows):
        place, column = y.cell(row.score.mean), x.cell(row.cost_per_1000.mean)
        grid[place][column : column + len(row.letter)] = row.letter
    return [*_with_scores(grid, y), *_axis(x, n_columns)]


def _score_scale(rows: Sequence[Row], height: int) -> _Scale:
    shown = [row for row in rows if row.kind != "other"]
    low = min(*(row.score.low for row in shown), *(row.score.mean for row in rows), 1.0)
    high = max(*(row.score.high for row in shown), *(row.score.mean for row in rows), 0.0)
    pad = (high - low) * _Y_PAD or 0.05
    return _Scale(low - pad, high + pad, height)


def _with_scores(grid: list[list[str]], y: _Scale) -> list[str]:
    lines = []
    for level in range(y.n - 1, -1, -1):
        labelled = level in {0, (y.n - 1) // 2, y.n - 1}
        value = y.low + (y.high - y.low) * level / (y.n - 1)
        label = figures.score(value) if labelled else ""
        lines.append(f"{label:>{_GUTTER - 2}} |{''.join(grid[level])}".rstrip())
    return lines


def _axis(x: _Scale, n_columns: int) -> list[str]:
    middle, end = figures.usd(x.high / 2), figures.usd(x.high)
    half = n_columns // 2
    ticks = list("$0".ljust(n_columns))
    ticks[half - len(middle) // 2 : half - len(middle) // 2 + len(middle)] = middle
    ticks[n_columns - len(end) :] = end
    line = " " * (_GUTTER - 1)
    return [f"{line}+{'-' * n_columns}", f"{line} {''.join(ticks)}".rstrip()]
