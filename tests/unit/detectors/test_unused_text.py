"""Always-paid paragraphs without a use."""

import pytest

from harnesspro.detectors.unused_text import detect
from tests.unit.builders import a_harness, a_step, a_trajectory

ROLE = "You sort parcels by weight and distance."
JUNK = "Dinosaurs roamed swampy continents, hatching leathery eggs, before meteorites ended them."
SLOT = "Parcel: {{parcel}}"


def trials(system, *, n=6, extra=""):
    request = system.replace("{{parcel}}", "two kilos, forty miles, weight and distance known")
    return [
        a_trajectory(a_step('{"a": 1}', prompt=request + extra), task=f"t{i}") for i in range(n)
    ]


def test_a_paragraph_about_what_no_task_asks_wastes_its_share_of_every_prompt():
    system = f"{ROLE}\n\n{JUNK}\n\n{SLOT}"
    runs = trials(system)
    (finding,) = detect(a_harness(system=system), runs)
    n_prompt = len(runs[0].steps[0].request["messages"][0]["content"])
    share = len(JUNK) / n_prompt
    assert [span.wasted_nanos for span in finding.evidence] == [round(10_000 * share)] * 6
    assert (finding.part, finding.knob) == ("system", None)
    assert finding.detail["paragraph"] == JUNK
    assert finding.detail["also_unused"] == []
    assert finding.detail["prompt_share"] == pytest.approx(share)


def test_two_unused_paragraphs_are_two_findings_that_know_of_each_other():
    other = "Volcanoes erupt basalt, granite, obsidian, pumice, ashes, sulphur everywhere."
    system = f"{ROLE}\n\n{JUNK}\n\n{other}\n\n{SLOT}"
    found = detect(a_harness(system=system), trials(system))
    assert [(f.detail["paragraph"], f.detail["also_unused"]) for f in found] == [
        (JUNK, [other]),
        (other, [JUNK]),
    ]
    assert len({f.finding_id for f in found}) == 2


def test_a_paragraph_whose_words_come_up_is_left_alone():
    system = f"{ROLE}\n\n{JUNK}\n\n{SLOT}"
    assert detect(a_harness(system=system), trials(system, extra=" a dinosaur skull")) == ()


def test_a_paragraph_about_the_form_of_the_answer_is_left_alone():
    rule = (
        "Reply tersely: lowercase, hyphenated, unpunctuated, shunning adjectives, adverbs, idioms."
    )
    system = f"{ROLE}\n\n{rule}\n\n{SLOT}"
    assert detect(a_harness(system=system), trials(system)) == ()


def test_a_short_instruction_is_left_alone():
    system = f"{ROLE}\n\nThink twice; ponder everything carefully.\n\n{SLOT}"
    assert detect(a_harness(system=system), trials(system)) == ()


def test_a_paragraph_that_only_some_calls_carry_is_left_alone():
    system = f"{ROLE}\n\n{JUNK}\n\n{SLOT}"
    runs = [*trials(system), a_trajectory(a_step(prompt=ROLE), task="t9")]
    assert detect(a_harness(system=system), runs) == ()


def test_four_tasks_are_too_few_to_say_never():
    system = f"{ROLE}\n\n{JUNK}\n\n{SLOT}"
    assert detect(a_harness(system=system), trials(system, n=4)) == ()
