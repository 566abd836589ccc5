"""One sample at temperature 0 where samples said the same anyway."""

from __future__ import annotations

from harnesspro.core.records import Finding, Harness
from harnesspro.operators.operator import Change, Operator, number, turned_down, turned_to

MIN_AGREEMENT = 0.5


def _change(harness: Harness, finding: Finding) -> Change | None:
    agreement = number(finding, "agreement_share")
    if agreement is not None and agreement < MIN_AGREEMENT:
        return None
    samples = turned_down(harness, "samples", 1)
    if not samples:
        return None
    knobs = {**samples, **turned_to(harness, "temperature", 0)}
    return Change(knobs=knobs, saved_nanos=number(finding, "beyond_first_nanos"))


OPERATOR = Operator(
    name="fewer_samples",
    detectors=frozenset({"samples_agree", "repeated_calls"}),
    direction="cost",
    summary="ask once instead of voting",
    hypothesis="In most trials all samples gave the same answer, so one will mostly do.",
    change=_change,
)
