from dataclasses import replace

from harnesspro.core.records import Patch, ReplaceFile, ReplaceText
from harnesspro.formats.native import apply_patch
from harnesspro.proposers.compose import ComposeProposer
from tests.unit.proposers.asking import PLANTED, a_question, a_tried, changed

_, JUNK, TRAVEL, _ = PLANTED.files["prompts/system.md"].strip().split("\n\n")


def a_patch(*edits, **knobs) -> Patch:
    return Patch(
        parent_id=PLANTED.harness_id,
        edits=edits,
        knobs=knobs,
        direction="cost",
        proposer="test",
        summary="test",
    )


def known(patch: Patch | None, *, name: str = "", status: str = "promoted", **measured):
    harness = apply_patch(PLANTED, patch) if patch else PLANTED
    tried = a_tried(patch_id=patch.patch_id if patch else "", **measured)
    return replace(
        tried,
        knob_values=harness.knob_values,
        harness_id=name or harness.harness_id,
        lineage=(patch,) if patch else (),
        status=status,
    )


LEAN, SHOWN = a_patch(samples=1, constrain="schema"), a_patch(examples=2)


def test_what_a_better_variant_changed_is_brought_onto_the_parent():
    history = (
        known(LEAN, score=0.75, cost_ratio=0.1),
        known(SHOWN, score=0.85, cost_ratio=1.05),
    )
    parent = changed(samples=1, constrain="schema")
    (patch,) = ComposeProposer().propose(a_question(parent, history=history))
    assert patch.knobs == {"examples": 2}
    assert patch.parent_id == parent.harness_id
    assert patch.direction == "compose"


def test_a_dial_that_both_moved_stays_as_the_parent_has_it():
    history = (
        known(LEAN, score=0.75, cost_ratio=0.1),
        known(a_patch(samples=2, examples=1), score=0.9, cost_ratio=0.6),
    )
    parent = changed(samples=1, constrain="schema")
    (patch,) = ComposeProposer().propose(a_question(parent, history=history))
    assert patch.knobs == {"examples": 1}


def test_who_is_neither_cheaper_nor_better_is_no_partner():
    history = (known(LEAN, score=0.9, cost_ratio=0.1), known(SHOWN, score=0.8, cost_ratio=1.0))
    parent = changed(samples=1, constrain="schema")
    assert ComposeProposer().propose(a_question(parent, history=history)) == ()


def test_the_dropped_and_the_unmeasured_are_no_partners():
    parent = changed(samples=1, constrain="schema")
    own = known(LEAN, score=0.5, cost_ratio=0.1)
    for other in (
        known(SHOWN, score=0.9, cost_ratio=1.0, status="dropped"),
        known(SHOWN, score=None, cost_ratio=None),
    ):
        assert ComposeProposer().propose(a_question(parent, history=(own, other))) == ()


def test_paragraphs_of_one_file_are_taken_out_together_where_both_still_stand():
    mine = a_patch(ReplaceText(path="prompts/system.md", old=JUNK, new=""))
    theirs = a_patch(ReplaceText(path="prompts/system.md", old=TRAVEL, new=""))
    history = (known(mine, score=0.7, cost_ratio=0.9), known(theirs, score=0.8, cost_ratio=0.95))
    parent = changed(edits=mine.edits)
    (patch,) = ComposeProposer().propose(a_question(parent, history=history))
    assert patch.edits == theirs.edits
    text = changed(parent, edits=patch.edits).files["prompts/system.md"]
    assert JUNK not in text
    assert TRAVEL not in text


def test_a_file_that_both_wrote_anew_is_left_as_the_parent_has_it():
    mine = a_patch(ReplaceFile(path="prompts/format.md", text="One word.\n"))
    theirs = a_patch(ReplaceFile(path="prompts/format.md", text="One option.\n"))
    history = (known(mine, score=0.7, cost_ratio=0.9), known(theirs, score=0.8, cost_ratio=0.9))
    assert ComposeProposer().propose(a_question(changed(edits=mine.edits), history=history)) == ()


def test_what_was_tried_is_not_offered_again():
    history = (
        known(LEAN, score=0.75, cost_ratio=0.1),
        known(SHOWN, score=0.85, cost_ratio=1.05),
    )
    parent = changed(samples=1, constrain="schema")
    (patch,) = ComposeProposer().propose(a_question(parent, history=history))
    again = replace(a_tried(patch_id=patch.patch_id), status="refused", harness_id="")
    assert ComposeProposer().propose(a_question(parent, history=(*history, again))) == ()


def test_on_an_empty_record_nothing_is_offered():
    assert ComposeProposer().propose(a_question()) == ()
