"""One constrained call instead of a vote over free text."""

from __future__ import annotations

from harnesspro.core.records import Finding, Harness
from harnesspro.operators.operator import Change, Operator, number, turned_down, turned_to

_FORM_TROUBLE = frozenset({"form_loss", "retry_waste", "verbose_output"})


def _change(harness: Harness, finding: Finding) -> Change | None:
    found = finding.detail.get("also_found")
    if not isinstance(found, list) or not _FORM_TROUBLE.intersection(map(str, found)):
        return None
    samples = turned_down(harness, "samples", 1)
    constrain = turned_to(harness, "constrain", "schema")
    if not (samples and constrain):
        return None
    knobs = {**samples, **turned_to(harness, "temperature", 0), **constrain}
    return Change(knobs=knobs, saved_nanos=number(finding, "beyond_first_nanos"))


OPERATOR = Operator(
    name="lean_call",
    detectors=frozenset({"samples_agree"}),
    direction="cost",
    summary="one call constrained to the answer's form instead of a vote over free text",
    hypothesis="The vote mostly mends the form of replies, which a constraint does in one call.",
    change=_change,
)
