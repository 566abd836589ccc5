"""Two harnesses in one: the parent with the changes of another that is better somewhere.

Gains that were measured apart are known to vanish, or turn, when merged; so a merged harness is a
candidate like any other, measured anew.
"""

from __future__ import annotations

from harnesspro.core.records import Edit, Harness, KnobValue, Patch, ReplaceText
from harnesspro.proposers.question import Question, Tried

MOST = 2
"""Merged harnesses offered for one parent."""


class ComposeProposer:
    """At most `MOST` patches a question, the partner with the largest gain over the parent first."""

    name = "compose"

    def propose(self, question: Question) -> tuple[Patch, ...]:
        """Patches that bring a partner's changes onto the parent; nothing where it has no rival."""
        own = next(
            (t for t in question.history if t.harness_id == question.parent.harness_id), None
        )
        if own is None:
            return ()
        patches = (_merged(question, own, other) for other in _partners(question, own))
        new = [p for p in patches if p is not None and p.patch_id not in question.tried_ids]
        return tuple({patch.patch_id: patch for patch in new}.values())[:MOST]


def _partners(question: Question, own: Tried) -> list[Tried]:
    """Those alive that are cheaper or score higher, by how much they are."""
    gains = {
        other.harness_id: gain
        for other in question.history
        if other.status in ("promoted", "open") and (gain := _gain(own, other)) > 0
    }
    rivals = [other for other in question.history if other.harness_id in gains]
    return sorted(rivals, key=lambda other: (-gains[other.harness_id], other.harness_id))


def _gain(own: Tried, other: Tried) -> float:
    """The larger of its lead in score and its saving over our cost; 0 where either was not measured."""
    if own.score is None or other.score is None or not own.cost_ratio or other.cost_ratio is None:
        return 0.0
    return max(other.score - own.score, 1 - other.cost_ratio / own.cost_ratio)


def _merged(question: Question, own: Tried, other: Tried) -> Patch | None:
    """The parent with what the other changed and the parent did not; None where that is nothing."""
    ours = {patch.patch_id for patch in own.lineage}
    theirs = [patch for patch in other.lineage if patch.patch_id not in ours]
    knobs = _knobs(question, other)
    edits = _edits(question.parent, own, theirs)
    if not knobs and not edits:
        return None
    return Patch(
        parent_id=question.parent.harness_id,
        knobs=knobs,
        edits=edits,
        direction="compose",
        proposer="compose",
        summary=f"add what another variant changed: {other.summary}",
        hypothesis="Each of the two is better somewhere, and they change different things.",
    )


def _knobs(question: Question, other: Tried) -> dict[str, KnobValue]:
    """Dials the other moved and the parent left where the initial harness had them."""
    base, parent = question.base.knob_values, question.parent.knob_values
    return {
        name: value
        for name, value in other.knob_values.items()
        if name in parent and value != parent[name] and parent[name] == base.get(name)
    }


def _edits(parent: Harness, own: Tried, theirs: list[Patch]) -> tuple[Edit, ...]:
    """Edits of files the parent left alone, and of text that still stands in it once."""
    touched = {edit.path for patch in own.lineage for edit in patch.edits}
    return tuple(
        edit
        for patch in theirs
        for edit in patch.edits
        if edit.path not in touched or _stands_once(parent, edit)
    )


def _stands_once(parent: Harness, edit: Edit) -> bool:
    return isinstance(edit, ReplaceText) and parent.files.get(edit.path, "").count(edit.old) == 1
