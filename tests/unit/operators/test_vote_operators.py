"""Operators on a vote: stop it, shrink it, replace it by one constrained call."""

from harnesspro.core.records import Patch
from harnesspro.operators import OPERATORS
from tests.unit.builders import a_finding, a_harness

DECIDED = a_finding("samples_agree", wasted=250, agreement_share=0.8, beyond_first_nanos=600)
WITH_FORM = a_finding(
    "samples_agree",
    wasted=250,
    agreement_share=0.8,
    beyond_first_nanos=600,
    also_found=["form_loss", "samples_agree"],
)


def knobs(name, harness, finding=DECIDED):
    patch = OPERATORS[name].propose(harness, finding)
    return None if patch is None else patch.knobs


def test_a_decided_vote_is_stopped():
    harness = a_harness(samples=3, stop_when_agreed="no")
    assert OPERATORS["stop_when_agreed"].propose(harness, DECIDED) == Patch(
        parent_id=harness.harness_id,
        knobs={"stop_when_agreed": "yes"},
        direction="cost",
        proposer="operator:stop_when_agreed",
        summary="stop sampling once the vote is decided (stop_when_agreed no -> yes)",
        hypothesis="No later sample can change the winner, so every answer stays what it was.",
        finding_ids=(DECIDED.finding_id,),
        expected_cost_ratio=0.75,
    )


def test_a_vote_that_stops_already_or_cannot_is_left_alone():
    assert knobs("stop_when_agreed", a_harness(samples=3, stop_when_agreed="yes")) is None
    assert knobs("stop_when_agreed", a_harness(samples=3)) is None


def test_samples_that_mostly_agree_become_one_at_temperature_0():
    harness = a_harness(samples=3, temperature=0.7)
    patch = OPERATORS["fewer_samples"].propose(harness, DECIDED)
    assert patch is not None
    assert patch.knobs == {"samples": 1, "temperature": 0}
    assert patch.expected_cost_ratio == 0.4
    assert patch.summary == "ask once instead of voting (samples 3 -> 1, temperature 0.7 -> 0)"


def test_samples_that_mostly_disagree_are_kept():
    split = a_finding("samples_agree", agreement_share=0.4)
    assert knobs("fewer_samples", a_harness(samples=3), split) is None


def test_repeated_calls_justify_asking_once_and_other_findings_do_not():
    harness = a_harness(samples=3)
    assert knobs("fewer_samples", harness, a_finding("repeated_calls")) == {"samples": 1}
    assert knobs("fewer_samples", harness, a_finding("form_loss")) is None


def test_one_sample_cannot_become_fewer():
    assert knobs("fewer_samples", a_harness(samples=1, temperature=0.7)) is None


def test_a_vote_over_free_text_becomes_one_constrained_call():
    harness = a_harness(samples=3, temperature=0.7, constrain="none")
    patch = OPERATORS["lean_call"].propose(harness, WITH_FORM)
    assert patch is not None
    assert patch.knobs == {"samples": 1, "temperature": 0, "constrain": "schema"}
    assert patch.expected_cost_ratio == 0.4


def test_form_trouble_beside_a_decided_vote_justifies_the_same_call():
    harness = a_harness(samples=3, constrain="none")
    wordy = a_finding("verbose_output", claimed_nanos=750, also_found=["samples_agree"])
    patch = OPERATORS["lean_call"].propose(harness, wordy)
    assert patch is not None
    assert patch.knobs == {"samples": 1, "constrain": "schema"}
    assert patch.expected_cost_ratio == 0.25
    assert knobs("lean_call", harness, a_finding("verbose_output")) is None


def test_one_constrained_call_needs_form_trouble_and_both_knobs():
    full = a_harness(samples=3, constrain="none")
    assert knobs("lean_call", full, DECIDED) is None
    assert knobs("lean_call", a_harness(samples=3, constrain="schema"), WITH_FORM) is None
    assert knobs("lean_call", a_harness(samples=3), WITH_FORM) is None
    assert knobs("lean_call", a_harness(constrain="none"), WITH_FORM) is None
