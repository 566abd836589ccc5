"""Remove every always-paid paragraph of a part whose topic no task asked about, in one patch."""

from __future__ import annotations

from harnesspro.core.records import Finding, Harness
from harnesspro.operators.drop_unused_text import removal
from harnesspro.operators.operator import Change, Operator, saving


def _change(harness: Harness, finding: Finding) -> Change | None:
    part = harness.manifest.parts.get(finding.part or "")
    first, others = finding.detail.get("paragraph"), finding.detail.get("also_unused")
    if part is None or not isinstance(first, str) or not isinstance(others, list):
        return None
    rest, edits, n_removed = harness.files[part.path], [], 0
    for paragraph in sorted({first, *map(str, others)}):
        edit = removal(part.path, rest, paragraph)
        if edit is not None:
            rest = rest.replace(edit.old, "")
            n_removed += len(paragraph)
            edits.append(edit)
    if len(edits) < 2:
        return None
    return Change(edits=tuple(edits), saved_nanos=saving(finding) * n_removed / len(first))


OPERATOR = Operator(
    name="drop_all_unused_text",
    detectors=frozenset({"unused_text"}),
    direction="cost",
    summary="remove all paragraphs of the instructions that no task had a use for",
    hypothesis="Their topics came up in no task and no reply, and every call pays for them.",
    change=_change,
)
