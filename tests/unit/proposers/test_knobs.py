from dataclasses import replace

import pytest

from harnesspro.core.records import Harness
from harnesspro.formats.native import apply_patch
from harnesspro.proposers.knobs import MIN_OBSERVATIONS, KnobProposer
from tests.unit.builders import a_harness
from tests.unit.proposers.asking import PLANTED, a_finding, a_question, a_tried, changed

BASELINE = a_tried()
MEASURED = (
    BASELINE,
    a_tried(samples=1, score=0.89, cost_ratio=0.33),
    a_tried(samples=2, score=0.9, cost_ratio=0.66),
    a_tried(samples=5, score=0.9, cost_ratio=1.6),
    a_tried(retries=0, score=0.88, cost_ratio=0.95),
    a_tried(constrain="schema", score=0.97, cost_ratio=0.3),
    a_tried(temperature=0.2, score=0.9, cost_ratio=1.0),
)


def knobs_of(question) -> dict[str, object]:
    (patch,) = KnobProposer().propose(question)
    return dict(patch.knobs)


def test_with_little_on_record_one_dial_moves_and_findings_name_it():
    assert knobs_of(a_question()) == {"samples": 2}
    finding = a_finding("samples_agree", knob="stop_when_agreed")
    assert knobs_of(a_question(findings=(finding,))) == {"stop_when_agreed": "yes"}


def test_a_step_on_record_is_not_offered_again():
    assert knobs_of(a_question(history=(BASELINE, a_tried(samples=2)))) == {"temperature": 0.35}


def test_an_unmeasured_variant_counts_as_tried():
    unmeasured = a_tried(samples=2, score=None, cost_ratio=None)
    assert knobs_of(a_question(history=(BASELINE, unmeasured))) == {"temperature": 0.35}


def test_a_refused_setting_is_not_offered_again():
    (patch,) = KnobProposer().propose(a_question())
    refused = replace(BASELINE, knob_values={}, patch_id=patch.patch_id, status="refused")
    assert knobs_of(a_question(history=(BASELINE, refused))) == {"temperature": 0.35}


@pytest.mark.parametrize("seed", range(5))
def test_with_enough_on_record_the_study_offers_a_new_setting_within_the_ranges(seed):
    assert len(MEASURED) >= MIN_OBSERVATIONS
    question = a_question(history=MEASURED, seed=seed)
    (patch,) = KnobProposer().propose(question)
    made = apply_patch(PLANTED, patch)
    assert made.knob_values not in [tried.knob_values for tried in MEASURED]
    assert patch.direction == "knobs"
    assert "measured settings" in patch.hypothesis


def test_the_same_question_gets_the_same_patch():
    question = a_question(history=MEASURED, seed=3)
    assert KnobProposer().propose(question) == KnobProposer().propose(question)


def test_seeds_explore_differently():
    offers = {
        str(sorted(knobs_of(a_question(history=MEASURED, seed=seed)).items())) for seed in range(6)
    }
    assert len(offers) > 1


def test_the_study_leans_to_what_measured_well():
    cheap = [
        a_tried(constrain="schema", samples=1, temperature=t / 10, score=0.97, cost_ratio=0.1)
        for t in range(10)
    ]
    dear = [
        a_tried(constrain="none", samples=5, temperature=t / 10, score=0.6, cost_ratio=1.8)
        for t in range(10)
    ]
    made = [
        {**PLANTED.knob_values, **knobs_of(a_question(history=(*cheap, *dear), seed=seed))}
        for seed in range(8)
    ]
    assert sum(vector["constrain"] == "schema" for vector in made) >= 6


def test_a_patch_is_for_the_parent_and_names_only_what_moves():
    parent = changed(samples=1)
    (patch,) = KnobProposer().propose(a_question(parent=parent))
    assert patch.parent_id == parent.harness_id
    assert patch.knobs == {"temperature": 0.35}
    assert patch.summary == "turn the dials: temperature 0.7 -> 0.35"


def test_a_harness_without_dials_gets_nothing():
    plain: Harness = a_harness()
    assert KnobProposer().propose(a_question(parent=plain, base=plain)) == ()


def test_when_every_setting_was_tried_nothing_is_offered():
    small = a_harness(stop_when_agreed="no")
    history = tuple(
        replace(BASELINE, knob_values={"stop_when_agreed": value}) for value in ("no", "yes")
    )
    assert KnobProposer().propose(a_question(parent=small, base=small, history=history)) == ()


def test_variants_of_other_dials_do_not_disturb_the_study():
    foreign = a_tried(score=0.9, cost_ratio=0.2, reasoning="high")
    (patch,) = KnobProposer().propose(a_question(history=(*MEASURED, foreign)))
    assert set(patch.knobs) <= set(PLANTED.knob_values)
