"""Operators that take text out of the instructions."""

import pytest

from harnesspro.formats.native import apply_patch
from harnesspro.operators import OPERATORS
from tests.unit.builders import a_finding, a_harness


def unused(paragraph, *others, wasted=100):
    return a_finding(
        "unused_text", wasted=wasted, part="system", paragraph=paragraph, also_unused=[*others]
    )


def after(name, system, finding):
    harness = a_harness(system=system)
    patch = OPERATORS[name].propose(harness, finding)
    return None if patch is None else apply_patch(harness, patch).part_text("system")


@pytest.mark.parametrize(
    ("paragraph", "left"),
    [
        ("One.", "Two\nlines.\n\n\nThree.\n"),
        ("Two\nlines.", "One.\n\n\nThree.\n"),
        ("Three.", "One.\n\nTwo\nlines.\n"),
    ],
)
def test_a_paragraph_goes_with_the_blank_lines_before_it_or_at_the_start_after_it(paragraph, left):
    assert after("drop_unused_text", "One.\n\nTwo\nlines.\n\n\nThree.", unused(paragraph)) == left


def test_the_forecast_is_the_finding_s_share_of_the_spend():
    patch = OPERATORS["drop_unused_text"].propose(a_harness(system="A.\n\nB."), unused("B."))
    assert patch is not None
    assert patch.expected_cost_ratio == 0.9


def test_text_that_is_gone_stands_twice_or_is_all_there_is_stays():
    assert after("drop_unused_text", "A.\n\nB.", unused("C.")) is None
    assert after("drop_unused_text", "B.\n\nA.\n\nB.", unused("B.")) is None
    assert after("drop_unused_text", "B.", unused("B.")) is None
    assert after("drop_unused_text", "B.", a_finding("unused_text")) is None


@pytest.mark.parametrize(
    "system", ["X.\n\nA.\n\nY.\n\nB.", "A.\n\nB.\n\nX.\n\nY.", "X.\n\nB.\n\nA.\n\nY."]
)
def test_all_unused_paragraphs_go_in_one_patch(system):
    assert after("drop_all_unused_text", system, unused("A.", "B.")) == "X.\n\nY.\n"


def test_the_forecast_for_all_paragraphs_grows_with_their_length():
    patch = OPERATORS["drop_all_unused_text"].propose(
        a_harness(system="X.\n\nAA\n\nBBBB"), unused("AA", "BBBB")
    )
    assert patch is not None
    assert patch.expected_cost_ratio == pytest.approx(0.7)


def test_a_single_unused_paragraph_is_no_case_for_all():
    assert after("drop_all_unused_text", "X.\n\nA.", unused("A.")) is None
    assert after("drop_all_unused_text", "A.\n\nB.", unused("A.", "B.")) is None
