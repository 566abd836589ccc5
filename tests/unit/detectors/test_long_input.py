"""Openings that every call pays for."""

from harnesspro.core.records import Span
from harnesspro.detectors.long_input import detect
from tests.unit.builders import a_harness, a_step, a_trajectory


def trials(*endings, opening):
    return [a_trajectory(a_step(prompt=opening + ending), task=ending) for ending in endings]


def test_an_opening_that_is_most_of_the_prompt_is_priced_beyond_the_first_call():
    (finding,) = detect(a_harness(), trials("aa", "bb", "cc", opening="x" * 8))
    assert finding.evidence == (Span(trial_id="trial-aa", step=0, wasted_nanos=0),)
    assert (finding.part, finding.wasted_nanos) == ("system", 0)
    assert finding.detail == {"prefix_share": 0.8, "prefix_nanos": 16_000, "role": "writer"}


def test_prompts_that_differ_early_or_never_are_left_alone():
    assert detect(a_harness(), trials("a" * 9, "b" * 9, opening="x" * 8)) == ()
    assert detect(a_harness(), trials("aa", "aa", opening="x" * 8)) == ()
    assert detect(a_harness(), []) == ()
