"""Operators on the form of replies: constrain it, ask for it, remind of it."""

import pytest

from harnesspro.core.records import ReplaceFile
from harnesspro.formats.native import apply_patch
from harnesspro.operators import OPERATORS
from tests.unit.builders import a_finding, a_harness

WORDY, LOST = a_finding("verbose_output", wasted=100), a_finding("form_loss", wasted=100)


def test_wordy_replies_are_constrained_where_the_harness_can():
    patch = OPERATORS["answer_only"].propose(a_harness(constrain="none"), WORDY)
    assert patch is not None
    assert (patch.knobs, patch.edits) == ({"constrain": "schema"}, ())
    assert (patch.direction, patch.expected_cost_ratio) == ("cost", 0.9)


def test_wordy_replies_are_asked_to_be_bare_where_there_is_no_constraint():
    patch = OPERATORS["answer_only"].propose(a_harness(system="Sort it.", kind="choice"), WORDY)
    assert patch is not None
    assert patch.edits == (
        ReplaceFile(
            path="prompts/system.md",
            text="Sort it.\n\nGive the chosen option alone: no explanation.\n",
        ),
    )
    assert patch.summary == "make the reply the answer alone"


def test_what_is_asked_already_is_not_asked_again():
    said = a_harness(system="Sort it. Give the JSON alone: no explanation, no code fence.")
    assert OPERATORS["answer_only"].propose(said, WORDY) is None
    assert OPERATORS["answer_only"].propose(a_harness(), LOST) is None


@pytest.mark.parametrize(
    ("system", "left"),
    [
        ("Sort it.\n\nThink step by step and explain your reasoning.", "Sort it.\n"),
        ("Sort it. Explain why. Be kind.", "Sort it. Be kind.\n"),
        (
            "Sort it:\n- be kind\n- reason out loud, e.g. in detail\n- {{x}}",
            "Sort it:\n- be kind\n- {{x}}\n",
        ),
        ("Show your work. Sort it.", "Sort it.\n"),
    ],
)
def test_sentences_that_ask_for_length_are_taken_out(system, left):
    harness = a_harness(system=system)
    patch = OPERATORS["ask_for_less"].propose(harness, WORDY)
    assert patch is not None
    assert apply_patch(harness, patch).part_text("system") == left
    assert patch.expected_cost_ratio == 0.9


def test_instructions_that_ask_for_no_length_or_for_nothing_else_are_left_alone():
    for system in ("Sort it. Be brief.", "Think step by step.", "Explain how {{x}} differs."):
        assert OPERATORS["ask_for_less"].propose(a_harness(system=system), WORDY) is None


def test_lost_form_is_constrained_for_success_and_promises_no_saving():
    patch = OPERATORS["constrain_output"].propose(a_harness(constrain="none"), LOST)
    assert patch is not None
    assert (patch.knobs, patch.direction) == ({"constrain": "schema"}, "success")
    assert patch.expected_cost_ratio is None


def test_a_harness_without_or_with_its_constraint_set_is_left_alone():
    assert OPERATORS["constrain_output"].propose(a_harness(), LOST) is None
    assert OPERATORS["constrain_output"].propose(a_harness(constrain="schema"), LOST) is None


def test_lost_form_is_answered_by_a_reminder_at_the_end_of_the_instructions():
    patch = OPERATORS["add_format_reminder"].propose(a_harness(system="Add.", kind="number"), LOST)
    assert patch is not None
    assert patch.edits == (
        ReplaceFile(path="prompts/system.md", text="Add.\n\nThe reply must be one plain number.\n"),
    )
    assert patch.direction == "success"


def test_no_reminder_is_given_twice_or_to_answers_that_are_files():
    said = a_harness(system="The reply must be one plain number.", kind="number")
    assert OPERATORS["add_format_reminder"].propose(said, LOST) is None
    assert OPERATORS["add_format_reminder"].propose(a_harness(kind="files"), LOST) is None
