"""What a run's harnesses would cost under another price table, from the tokens on record. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from harnesspro.core.errors import ModelUnknown
from harnesspro.core.money import NANOS_PER_USD, cost_nanos
from harnesspro.core.records import Price, Step


@dataclass(frozen=True, slots=True)
class Repriced:
    """One harness on the tasks it answered, dollars a task."""

    candidate_id: str
    n: int
    was_usd: float
    is_usd: float


def trial_cost(steps: Iterable[Step], prices: Mapping[str, Price]) -> int:
    """Attributed nano-dollars of a trial's calls under a table, replayed calls in full.

    Raises:
        ModelUnknown: a model of the run has no price in it.
    """
    total = 0
    for step in steps:
        price = prices.get(step.model)
        if price is None:
            raise ModelUnknown(
                f"model {step.model}",
                "no price in the new table",
                expected="a price for every model the run called",
                fix=f"add a line for {step.model}",
            )
        total += cost_nanos(step.usage, price)
    return total


def repriced(candidate_id: str, costs: Sequence[tuple[int, int]]) -> Repriced:
    """Means over trials; `costs` holds (nano-dollars on record, nano-dollars anew) of each, at least one."""
    return Repriced(
        candidate_id,
        len(costs),
        fmean(was for was, _ in costs) / NANOS_PER_USD,
        fmean(now for _, now in costs) / NANOS_PER_USD,
    )


def on_front(places: Mapping[str, tuple[float | None, float]]) -> frozenset[str]:
    """Of (score, dollars), those that none beats on both as measured; without a score nobody is."""
    known = {key: (score, usd) for key, (score, usd) in places.items() if score is not None}
    return frozenset(
        key
        for key, (score, usd) in known.items()
        if not any(
            better >= score and cheaper <= usd and (better, cheaper) != (score, usd)
            for better, cheaper in known.values()
        )
    )
