"""Stop a vote as soon as no later sample can change its winner: the same answers for less."""

from __future__ import annotations

from harnesspro.core.records import Finding, Harness
from harnesspro.operators.operator import Change, Operator, saving, turned_to

KEEPING_KNOBS = {"stop_when_agreed": "yes"}
"""A setting that changes no answer, whoever proposes it."""


def _change(harness: Harness, finding: Finding) -> Change:
    ((name, value),) = KEEPING_KNOBS.items()
    knobs = turned_to(harness, name, value)
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
