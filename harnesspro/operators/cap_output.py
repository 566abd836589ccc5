"""Lower the output cap to what answers need, with half as much again for room."""

from __future__ import annotations

import math

from harnesspro.core.records import Finding, Harness
from harnesspro.operators.operator import Change, Operator, number, turned_down

ROOM = 1.5


def _change(harness: Harness, finding: Finding) -> Change | None:
    # Where the text comes after the answer the cap cuts it off; where it comes first, the answer's
    # end counts it in and nothing is cut.
    needed = number(finding, "answer_end_tokens_p99") or number(finding, "out_tokens_p99")
    if not needed:
        return None
    cap, typical = math.ceil(ROOM * needed), number(finding, "out_tokens_p50")
    if typical is not None and cap >= typical:
        return None  # nothing would be cut off
    return Change(knobs=turned_down(harness, "max_output_tokens", cap))


OPERATOR = Operator(
    name="cap_output",
    detectors=frozenset({"oversized_cap", "verbose_output"}),
    direction="cost",
    summary="lower the output cap to what answers need",
    hypothesis="99 of 100 answers are complete well below the new cap; only excess is cut off.",
    change=_change,
)
