"""Double the output cap where it cut answers off."""

from __future__ import annotations

from harnesspro.core.records import Finding, Harness
from harnesspro.operators.operator import Change, Operator, turned_up


def _change(harness: Harness, finding: Finding) -> Change | None:
    present = harness.knob_values.get("max_output_tokens")
    if finding.knob != "max_output_tokens" or not isinstance(present, int):
        return None
    return Change(knobs=turned_up(harness, "max_output_tokens", 2 * present))


OPERATOR = Operator(
    name="raise_cap",
    detectors=frozenset({"limit_hits"}),
    direction="success",
    summary="raise the output cap that cut answers off",
    hypothesis="The trials were lost in mid-answer; with room the answers complete.",
    change=_change,
)
