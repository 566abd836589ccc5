"""Make the reply the answer alone: by constraint where there is one, else by asking for it."""

from __future__ import annotations

from harnesspro.core.records import AnswerKind, Finding, Harness
from harnesspro.operators.operator import Change, Operator, appended, saving, turned_to

LINES: dict[AnswerKind, str] = {
    "json": "Give the JSON alone: no explanation, no code fence.",
    "choice": "Give the chosen option alone: no explanation.",
    "number": "Give the number alone: no explanation.",
    "text": "Give the answer alone: no explanation.",
    "code": "Give the code alone: no explanation.",
}


def _change(harness: Harness, finding: Finding) -> Change:
    knobs = turned_to(harness, "constrain", "schema")
    line = LINES.get(harness.manifest.answer.kind, "")
    edits = () if knobs else appended(harness, finding, line)
    return Change(edits=edits, knobs=knobs, saved_nanos=saving(finding))


OPERATOR = Operator(
    name="answer_only",
    detectors=frozenset({"verbose_output"}),
    direction="cost",
    summary="make the reply the answer alone",
    hypothesis="Output tokens outside the answer are paid for and read by nobody.",
    change=_change,
)
