"""Say the answer's form once more, as the last line of the instructions."""

from __future__ import annotations

from harnesspro.core.records import AnswerKind, Finding, Harness
from harnesspro.operators.operator import Change, Operator, appended

LINES: dict[AnswerKind, str] = {
    "json": "The whole reply must be one valid JSON value of the form asked for.",
    "choice": "The answer must be exactly one option, spelled as it is given.",
    "number": "The reply must be one plain number.",
    "text": "The reply must be the answer in the form asked for.",
    "code": "The reply must be one complete piece of code.",
}


def _change(harness: Harness, finding: Finding) -> Change:
    return Change(edits=appended(harness, finding, LINES.get(harness.manifest.answer.kind, "")))


OPERATOR = Operator(
    name="add_format_reminder",
    detectors=frozenset({"form_loss"}),
    direction="success",
    summary="repeat the answer's form as the last line of the instructions",
    hypothesis="Replies that were refused had something to say and only missed the form.",
    change=_change,
)
