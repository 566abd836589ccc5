"""One constrained call instead of a vote over free text."""

from __future__ import annotations

from harnesspro.core.records import Finding, Harness
from harnesspro.operators.operator import Change, Operator, number, saving, turned_down, turned_to

_FORM_TROUBLE = frozenset({"form_loss", "retry_waste", "verbose_output"})


def _change(harness: Harness, finding: Finding) -> Change | None:
    listed = finding.detail.get("also_found")
    found = {finding.detector, *map(str, listed if isinstance(listed, list) else ())}
    if "samples_agree" not in found or not found & _FORM_TROUBLE:
        return None
    samples = turned_down(harness, "samples", 1)
    constrain = turned_to(harness, "constrain", "schema")
    if not (samples and constrain):
        return None
    knobs = {**samples, **turned_to(harness, "temperature", 0), **constrain}
    beyond_first = number(finding, "beyond_first_nanos")
    return Change(knobs=knobs, saved_nanos=beyond_first or saving(finding))


OPERATOR = Operator(
    name="lean_call",
    detectors=_FORM_TROUBLE | {"samples_agree"},
    direction="cost",
    summary="one call constrained to the answer's form instead of a vote over free text",
    hypothesis="The vote mostly mends the form of replies, which a constraint does in one call.",
    change=_change,
)
