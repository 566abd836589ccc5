"""What holds for every operator."""

import pytest

from harnesspro.core.admit import objections
from harnesspro.core.findings import diagnose
from harnesspro.detectors import DETECTORS
from harnesspro.formats.native import apply_patch
from harnesspro.operators import OPERATORS
from harnesspro.operators.operator import turned_down, turned_up
from tests.unit.builders import a_finding, a_harness, a_step, a_trajectory

JUNK = "Dinosaurs roamed swampy continents, hatching leathery eggs, before meteorites ended them."
WASTEFUL = a_harness(
    system=f"Sort it.\n\n{JUNK}\n\nBe quick.",
    samples=3,
    temperature=0.7,
    retries=2,
    max_output_tokens=400,
    constrain="none",
    stop_when_agreed="no",
)


def asked(reply):
    prompt = WASTEFUL.part_text("system").strip()
    return a_step(reply, prompt=prompt, temperature=0.7, max_output_tokens=400)


def wasteful_trials():
    voted = [asked('Certainly, here it is: {"a": 1}')] * 3
    lost = [asked("No idea.")] * 5
    return [
        *[a_trajectory(*voted, task=f"t{i}") for i in range(8)],
        a_trajectory(*lost, task="m", outcome="malformed"),
    ]


@pytest.mark.parametrize("name", OPERATORS)
def test_every_operator_is_justified_by_detectors_that_exist(name):
    assert OPERATORS[name].name == name
    assert OPERATORS[name].detectors
    assert OPERATORS[name].detectors <= DETECTORS.keys()


@pytest.mark.parametrize("name", OPERATORS)
def test_no_operator_acts_on_a_finding_that_does_not_justify_it(name):
    assert OPERATORS[name].propose(WASTEFUL, a_finding("agent")) is None


def test_what_is_diagnosed_in_a_wasteful_harness_is_patched_and_admitted():
    findings = diagnose(WASTEFUL, wasteful_trials(), DETECTORS)
    patches = [
        patch
        for finding in findings
        for operator in OPERATORS.values()
        if (patch := operator.propose(WASTEFUL, finding))
    ]
    assert {patch.proposer.removeprefix("operator:") for patch in patches} >= {
        "stop_when_agreed",
        "lean_call",
        "fewer_samples",
        "answer_only",
        "drop_unused_text",
        "constrain_output",
        "add_format_reminder",
        "cap_output",
        "cap_retries",
    }
    for patch in patches:
        made = apply_patch(WASTEFUL, patch)
        assert objections(WASTEFUL, made, patch, search_tasks=[], unseen_tasks=[]) == ()


def test_a_harness_without_knobs_gets_prompt_edits_or_nothing():
    bare = a_harness(system="Sort it.")
    for finding in diagnose(bare, wasteful_trials(), DETECTORS):
        for operator in OPERATORS.values():
            patch = operator.propose(bare, finding)
            assert patch is None or (patch.edits and not patch.knobs)


def test_choices_of_whole_numbers_turn_like_ranges():
    harness = a_harness(samples=3)
    choices = harness.manifest.knobs["samples"].model_copy(
        update={"int_range": None, "choices": (2, 3, 7, "auto")}
    )
    manifest = harness.manifest.model_copy(update={"knobs": {"samples": choices}})
    chosen = harness.model_copy(update={"manifest": manifest})
    assert turned_down(chosen, "samples", 1) == {"samples": 2}
    assert turned_up(chosen, "samples", 8) == {"samples": 7}
    assert turned_up(chosen, "samples", 6) == {}
