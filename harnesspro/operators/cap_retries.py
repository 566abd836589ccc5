"""Retry at most as often as a retry was seen to help."""

from __future__ import annotations

from harnesspro.core.records import Finding, Harness
from harnesspro.operators.operator import Change, Operator, number, saving, turned_down


def _change(harness: Harness, finding: Finding) -> Change:
    useful = int(number(finding, "useful_retries") or 0)
    knobs = turned_down(harness, "retries", useful)
    return Change(knobs=knobs, saved_nanos=saving(finding))


OPERATOR = Operator(
    name="cap_retries",
    detectors=frozenset({"retry_waste"}),
    direction="cost",
    summary="retry only as often as a retry was seen to help",
    hypothesis="Further retries failed in the same way as the call before them.",
    change=_change,
)
