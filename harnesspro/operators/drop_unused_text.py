"""Remove one always-paid paragraph whose topic no task asked about."""

from __future__ import annotations

from harnesspro.core.records import Finding, Harness, ReplaceText
from harnesspro.operators.operator import Change, Operator, saving


def removal(path: str, text: str, paragraph: str) -> ReplaceText | None:
    """The edit that takes the paragraph and the blank lines before (else after) it out of `text`.

    None where it does not stand there exactly once, or is all the text says.
    """
    if not paragraph or text.count(paragraph) != 1 or text.strip() == paragraph.strip():
        return None
    before, _, after = text.partition(paragraph)
    lead = before[len(before.rstrip()) :] if before.strip() else ""
    trail = "" if lead else after[: len(after) - len(after.lstrip())]
    return ReplaceText(path=path, old=lead + paragraph + trail, new="")


def _change(harness: Harness, finding: Finding) -> Change | None:
    part = harness.manifest.parts.get(finding.part or "")
    paragraph = finding.detail.get("paragraph")
    if part is None or not isinstance(paragraph, str):
        return None
    edit = removal(part.path, harness.files[part.path], paragraph)
    return Change(edits=(edit,), saved_nanos=saving(finding)) if edit else None


OPERATOR = Operator(
    name="drop_unused_text",
    detectors=frozenset({"unused_text"}),
    direction="cost",
    summary="remove a paragraph of the instructions that no task had a use for",
    hypothesis="Its topic came up in no task and no reply, and every call pays for it.",
    change=_change,
)
