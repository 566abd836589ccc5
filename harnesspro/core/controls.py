"""What the same money buys without any improvement: the initial harness asked twice."""

from __future__ import annotations

from dataclasses import replace

from harnesspro.core.table import Row, Rows, shared_tasks

BEST_OF_TWO = "best of 2"
"""The candidate id of the control."""
AT_RANDOM = "random settings"
"""The candidate id of the control that turned the dials by chance, for the same money."""


def best_of_two(first: Rows, second: Rows) -> dict[str, Row]:
    """Of two independent answers the one that the referee prefers, for the price and time of both.

    `first` and `second` are two draws of the initial harness under the same merits; a task that either
    lacks is left out. Of equals the first is kept. In a table under `BEST_OF_TWO` it goes through the
    same law as any candidate. Its score flatters it, for the referee that scores it also chose: a
    candidate that does not stand above it is worth no more than asking twice. For the same reason the
    referee may claim nothing for it, so it is judged as vetoed.
    """
    return {task: _better(first[task], second[task]) for task in shared_tasks(first, second)}


def _better(a: Row, b: Row) -> Row:
    chosen = b if b.merit > a.merit else a
    return replace(chosen, cost_usd=a.cost_usd + b.cost_usd, latency_s=a.latency_s + b.latency_s)
