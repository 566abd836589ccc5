"""Constrain the reply to the answer's schema where answers were refused for their form."""

from __future__ import annotations

from harnesspro.core.records import Finding, Harness
from harnesspro.operators.operator import Change, Operator, turned_to


def _change(harness: Harness, finding: Finding) -> Change:
    return Change(knobs=turned_to(harness, "constrain", "schema"))


OPERATOR = Operator(
    name="constrain_output",
    detectors=frozenset({"form_loss", "retry_waste"}),
    direction="success",
    summary="constrain the reply to the answer's schema",
    hypothesis="A constrained reply cannot be refused for its form.",
    change=_change,
)
