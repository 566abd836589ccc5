"""Take out the sentences of the instructions that ask for long replies."""

from __future__ import annotations

import re

from harnesspro.core.records import Edit, Finding, Harness, Part
from harnesspro.operators.drop_unused_text import removal
from harnesspro.operators.operator import Change, Operator, saving

_SENTENCE = re.compile(r"^[ \t]*(?:[-*]|\d+\.)[ \t].*$|[^\s.!?][^.!?\n]*[.!?]*", re.MULTILINE)
_ASKS_FOR_LENGTH = re.compile(
    r"step[ -]by[ -]step|\bat length\b|\bin (?:great |full )?detail\b|\bexplain (?:your|why|how)\b"
    r"|\b(?:show|give) your (?:work|reasoning|steps)\b|\b(?:think|reason) (?:aloud|out loud)\b",
    re.IGNORECASE,
)


def _change(harness: Harness, finding: Finding) -> Change:
    parts = [
        part
        for part in harness.manifest.parts.values()
        if part.kind == "prompt" and part.paid == "always"
    ]
    edits = tuple(edit for part in parts for edit in _removals(harness, part))
    return Change(edits=edits, saved_nanos=saving(finding))


def _removals(harness: Harness, part: Part) -> list[Edit]:
    rest = harness.files[part.path]
    edits: list[Edit] = []
    for sentence in _SENTENCE.findall(rest):
        if _ASKS_FOR_LENGTH.search(sentence) and "{{" not in sentence:
            edit = removal(part.path, rest, sentence)
            if edit is not None:
                rest = rest.replace(edit.old, "")
                edits.append(edit)
    return edits


OPERATOR = Operator(
    name="ask_for_less",
    detectors=frozenset({"verbose_output"}),
    direction="cost",
    summary="stop asking for long replies",
    hypothesis="The instructions ask for text that is paid for and then thrown away.",
    change=_change,
)
