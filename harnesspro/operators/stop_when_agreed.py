"""Stop a vote as soon as no later sample can change its winner: the same answers for less."""

from __future__ import annotations

from harnesspro.core.records import Finding, Harness
from harnesspro.operators.operator import Change, Operator, saving, turned_to


def _change(harness: Harness, finding: Finding) -> Change:
    knobs = turned_to(harness, "stop_when_agreed", "yes")
    return Change(knobs=knobs, saved_nanos=saving(finding))


OPERATOR = Operator(
    name="stop_when_agreed",
    detectors=frozenset({"samples_agree"}),
    direction="cost",
    summary="stop sampling once the vote is decided",
    hypothesis="No later sample can change the winner, so every answer stays what it was.",
    change=_change,
    keeps_answers=True,
)
