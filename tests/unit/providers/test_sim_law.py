"""The planted harness on the simulator: what each planted waste is worth, by known truth."""

from itertools import product

import pytest

from harnesspro.core.findings import diagnose
from harnesspro.core.records import ReplaceFile, ReplaceText
from harnesspro.detectors import DETECTORS
from harnesspro.formats.native import load_harness
from harnesspro.operators import OPERATORS
from harnesspro.providers.sim_tasks import draw_tasks, nonce_in
from harnesspro.providers.sim_truth import true_place
from harnesspro.providers.sim_worker import is_misled
from tests.unit.providers.planted_world import (
    ROOT,
    changed_by,
    run,
    setup_of,
    solver_of,
    trajectories,
)

PLANTED = load_harness(ROOT / "harnesses/planted")
LEAN = load_harness(ROOT / "tests/data/planted_lean")
COMPARE, JUNK, TRAVEL, THINK = PLANTED.files["prompts/system.md"].strip().split("\n\n")
BASE = run(PLANTED)


def without(paragraph: str, instead: str = "") -> ReplaceText:
    return ReplaceText(path="prompts/system.md", old=paragraph, new=instead)


def variant(*edits, **knobs):
    moved = {name: value for name, value in knobs.items() if PLANTED.knob_values[name] != value}
    return changed_by(PLANTED, knobs=moved, edits=edits)


TRUTH = true_place(setup_of(PLANTED)).accuracy


def gain(*edits, **knobs):
    """True accuracy over the baseline's."""
    return true_place(setup_of(variant(*edits, **knobs))).accuracy - TRUTH


def measured(*edits, **knobs):
    """Cost ratio and share of changed answers against the baseline."""
    result = run(variant(*edits, **knobs))
    return result.cost_nanos / BASE.cost_nanos, result.changed(BASE)


def test_the_baseline_is_decent_and_loses_some_answers_to_form():
    assert 0.66 <= TRUTH <= 0.76
    assert 0.03 <= BASE.malformed <= 0.12


def test_the_baseline_disagrees_with_itself_a_little():
    assert 0.02 <= run(PLANTED, draw="search/1").changed(BASE) <= 0.12


def test_stopping_when_the_vote_is_settled_saves_a_quarter_and_changes_nothing():
    cost, changed = measured(stop_when_agreed="yes")
    assert changed == 0
    assert 0.68 <= cost <= 0.78


@pytest.mark.parametrize("samples", [1, 2, 4, 5])
def test_the_early_stop_is_exact_for_any_number_of_samples(samples):
    whole = run(variant(samples=samples), n=60)
    early = run(variant(samples=samples, stop_when_agreed="yes"), n=60)
    assert early.answers == whole.answers
    assert early.cost_nanos <= whole.cost_nanos


def test_a_settled_vote_is_one_that_no_continuation_turns():
    settled, leader = (solver_of(PLANTED).__globals__[name] for name in ("settled", "leader"))
    for n, left in product(range(1, 5), range(4)):
        for votes in product("abc", repeat=n):
            futures = {
                leader([*votes, *more])
                for k in range(left + 1)
                for more in product("abcd", repeat=k)
            }
            assert settled(list(votes), left) == (futures == {leader(list(votes))})


def test_binding_the_reply_to_the_schema_saves_most_and_mends_the_form():
    cost, changed = measured(constrain="schema")
    assert cost < 0.35
    assert gain(constrain="schema") > 0.03
    assert changed < 0.30


def test_asking_for_the_answer_alone_saves_most():
    alone = without(THINK, "Give the chosen option alone: no explanation.")
    cost, _ = measured(alone)
    assert cost < 0.35
    assert gain(alone) > 0.03


def test_dropping_the_junk_saves_and_does_not_harm():
    junk = (without(JUNK), without(TRAVEL))
    cost, changed = measured(*junk)
    assert 0.75 <= cost <= 0.90
    assert gain(*junk) > 0.02
    assert changed < 0.25


def test_a_strict_request_for_form_mends_the_malformed_answers():
    strict = ReplaceFile(
        path="prompts/format.md", text="The reply must end with exactly one option.\n"
    )
    assert run(variant(strict)).malformed < 0.01
    assert gain(strict) > 0.04


def test_a_calm_retry_hardly_ever_helps_and_a_second_one_never():
    cost, changed = measured(retries=0)
    assert cost < 0.95
    assert changed < 0.03
    assert abs(gain(retries=0)) < 0.01
    cost, changed = measured(retries=1)
    assert (cost < 1, changed) == (True, 0)


def test_worked_examples_cost_a_little_and_help_a_little():
    cost, _ = measured(examples=2)
    assert 1.02 < cost < 1.10
    assert gain(examples=2) > 0.02


def test_the_shortcut_is_cheap_agrees_with_itself_and_is_wrong_where_the_law_says():
    short = variant(method="shortcut")
    result, again = run(short), run(short, draw="search/1")
    assert result.cost_nanos < 0.15 * BASE.cost_nanos
    assert gain(method="shortcut") < -0.12
    assert result.malformed < 0.03
    assert result.changed(again) < 0.10
    misled = [is_misled(nonce_in(r["input"]["question"]) or "") for r in draw_tasks(0, 200)]
    assert 0.18 <= sum(misled) / 200 <= 0.32
    wrong_both_times = [
        a == b != gold
        for a, b, gold in zip(result.answers, again.answers, result.gold, strict=True)
    ]
    assert all(wrong for wrong, led in zip(wrong_both_times, misled, strict=True) if led)


def test_too_few_tokens_break_it():
    result = run(variant(max_output_tokens=100))
    assert result.accuracy < 0.35
    assert result.changed(BASE) > 0.5


def test_dropping_the_useful_paragraph_costs_accuracy():
    assert gain(without(COMPARE)) < -0.03
    assert measured(without(COMPARE))[1] < 0.25


def test_two_ways_of_asking_err_on_cases_of_their_own_and_one_way_on_the_same():
    bound = {"constrain": "schema", "samples": 1, "temperature": 0.0, "retries": 0}
    plain, hinted = run(variant(**bound)), run(variant(without(JUNK), **bound))
    assert 0.10 < plain.changed(hinted) < 0.30
    assert plain.changed(run(variant(**bound), draw="search/1")) == 0
    won = sum(
        h == g != p for p, h, g in zip(plain.answers, hinted.answers, plain.gold, strict=True)
    )
    lost = sum(
        p == g != h for p, h, g in zip(plain.answers, hinted.answers, plain.gold, strict=True)
    )
    assert min(won, lost) > 5


def test_every_detector_and_every_operator_has_one_to_find():
    found, proposed = set(), set()
    for model, seed in (("sim/small", 1), ("sim/heavy", 0)):
        findings = diagnose(PLANTED, trajectories(PLANTED, n=24, seed=seed, model=model), DETECTORS)
        found |= {finding.detector for finding in findings}
        proposed |= {
            name
            for name, operator in OPERATORS.items()
            for finding in findings
            if operator.propose(PLANTED, finding) is not None
        }
    assert found == set(DETECTORS)
    assert proposed == set(OPERATORS)


def test_on_the_heavy_model_a_few_tasks_carry_most_of_the_cost():
    costs = sorted(one.trial.cost_nanos for one in trajectories(PLANTED, n=100, model="sim/heavy"))
    assert sum(costs[80:]) > sum(costs[:80])
    assert costs[-1] > 5 * costs[50]


def test_nothing_near_the_lean_copy_is_cheaper_or_better():
    lean = run(LEAN, n=200)
    assert lean.malformed == 0
    assert lean.accuracy > 0.70
    moves = (
        {"samples": 3},
        {"temperature": 0.7},
        {"retries": 1},
        {"max_output_tokens": 300},
        {"constrain": "none"},
        {"constrain": "none", "temperature": 0.7, "samples": 3, "max_output_tokens": 300},
        {"stop_when_agreed": "no"},
    )
    for knobs in moves:
        other = run(changed_by(LEAN, knobs=knobs), n=200)
        assert other.cost_nanos >= lean.cost_nanos, knobs
        assert other.accuracy <= lean.accuracy + 0.06, knobs  # noise of 200 tasks
