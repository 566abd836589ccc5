"""The true place of a configuration, by the law, against the harness run on the simulator."""

from dataclasses import replace
from itertools import product

import pytest

from harnesspro.core.records import ReplaceText
from harnesspro.formats.native import load_harness
from harnesspro.providers.sim_truth import Setup, true_place
from tests.unit.providers.planted_world import ROOT, changed_by, run, setup_of

PLANTED = load_harness(ROOT / "harnesses/planted")
COMPARE, JUNK, TRAVEL, THINK = PLANTED.files["prompts/system.md"].strip().split("\n\n")
LEAN = {"samples": 1, "temperature": 0.0, "constrain": "schema", "retries": 0}


def variant(*dropped: str, **knobs):
    edits = [ReplaceText(path="prompts/system.md", old=text, new="") for text in dropped]
    return changed_by(PLANTED, knobs=knobs, edits=edits)


@pytest.mark.parametrize(
    ("harness", "model", "n"),
    [
        (PLANTED, "sim/small", 250),
        (variant(JUNK, TRAVEL, THINK, **LEAN), "sim/small", 600),
        (variant(samples=1, temperature=0.0), "sim/small", 300),
        (variant(method="shortcut", samples=1), "sim/small", 600),
        (variant(constrain="schema", samples=5, stop_when_agreed="yes"), "sim/small", 250),
        (variant(THINK, retries=0, temperature=1.0, examples=2), "sim/small", 250),
        (variant(THINK, samples=1, max_output_tokens=1600), "sim/heavy", 300),
    ],
)
def test_the_law_foresees_what_a_run_finds(harness, model, n):
    place, result = true_place(setup_of(harness), model), run(harness, n=n, seed=5, model=model)
    noise = (place.accuracy * (1 - place.accuracy) / n) ** 0.5
    assert result.accuracy == pytest.approx(place.accuracy, abs=3 * noise)
    cost = result.cost_nanos / n * 1e-9
    assert cost == pytest.approx(place.cost_usd, rel=0.12 if model == "sim/heavy" else 0.05)


def test_stopping_early_moves_the_cost_and_never_the_accuracy():
    for samples, temperature, retries in product((1, 2, 3, 4, 5), (0.0, 0.7), (0, 2)):
        setup = Setup("Name it.", samples=samples, temperature=temperature, retries=retries)
        whole, early = true_place(setup), true_place(replace(setup, stop_when_agreed=True))
        assert early.accuracy == pytest.approx(whole.accuracy)
        assert early.cost_usd < whole.cost_usd or samples < 3


def test_the_shortcut_is_truly_some_fifteen_points_worse_and_nobody_is_right_for_nothing():
    base, short = (
        true_place(setup_of(harness)) for harness in (PLANTED, variant(method="shortcut"))
    )
    assert 0.13 < base.accuracy - short.accuracy < 0.19
    assert short.cost_usd < 0.12 * base.cost_usd


def test_a_cap_that_cuts_ordinary_replies_is_not_foreseen():
    with pytest.raises(ValueError, match="cuts ordinary replies"):
        true_place(setup_of(variant(max_output_tokens=100)))
    bound = variant(max_output_tokens=16, constrain="schema")
    assert true_place(setup_of(bound)) == true_place(setup_of(variant(constrain="schema")))


def test_the_heavy_model_costs_more_and_loses_what_the_cap_cuts():
    setup = setup_of(PLANTED)
    small, heavy = true_place(setup), true_place(setup, "sim/heavy")
    assert heavy.cost_usd > 1.8 * small.cost_usd
    assert 0.07 < small.accuracy - heavy.accuracy < 0.13
