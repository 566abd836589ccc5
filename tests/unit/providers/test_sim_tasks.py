"""Tasks and probes of the simulator: what is right, what tempts, how hard it is."""

from collections import Counter

import pytest

from harnesspro.providers.sim_tasks import (
    OPTION_WORDS,
    TAIL_FROM,
    case_in,
    difficulty_at,
    draw_tasks,
)

OPTIONS = ("amber", "moss", "onyx", "reef", "wine")
ASKED = "Of the options, the one asked for here is: {}. Name it."


def cases(n: int):
    for record in draw_tasks(0, n):
        case = case_in(record["input"]["question"], record["input"]["options"])
        assert case is not None
        yield case, record


def test_a_task_is_a_case_whose_truth_is_its_gold_and_whose_lure_is_wrong():
    for case, record in cases(100):
        assert (case.right, case.family, case.is_probe) == (record["gold"], record["family"], False)
        assert case.lure() in set(case.options) - {case.right}


def test_a_probe_is_a_case_whose_truth_is_what_it_asks_for():
    case = case_in(ASKED.format("Moss"), OPTIONS)
    assert case is not None
    assert (case.right, case.is_probe) == ("moss", True)
    assert case.lure() in set(OPTIONS) - {"moss"}


def test_an_impossible_probe_has_a_truth_outside_its_options():
    case = case_in(ASKED.format("granite"), OPTIONS)
    assert case is not None
    assert case.right == "granite"
    assert case.lure() in OPTIONS


@pytest.mark.parametrize(
    ("text", "options"), [("Hello.", OPTIONS), (ASKED.format("moss"), ("moss",)), ("", ())]
)
def test_what_names_no_case_or_offers_no_choice_is_none(text, options):
    assert case_in(text, options) is None


def test_difficulty_is_uniform_then_heavy_tailed_and_differs_by_family():
    assert difficulty_at(0.5, "trace") == 0.5
    assert difficulty_at(TAIL_FROM, "trace") == pytest.approx(TAIL_FROM)
    assert difficulty_at(0.99, "trace") > 5
    assert difficulty_at(0.5, "match") < difficulty_at(0.5, "trace") < difficulty_at(0.5, "odd")


def test_probes_are_as_hard_as_tasks():
    words = OPTION_WORDS[:40]
    probes = [case_in(ASKED.format(w), (w, "xylo", "yodel", "zebra", "zephyr")) for w in words]
    hard = sum(probe.difficulty() > 0.5 for probe in probes if probe)
    assert all(probe is not None and probe.is_probe for probe in probes)
    assert 0.3 < hard / 40 < 0.7


def test_another_salt_has_other_difficulties_and_lures_and_the_same_truth():
    tasks = [case for case, _ in cases(200)]
    hard, hard_there = ({c.key for c in tasks if c.difficulty(s) > 0.7} for s in ("", "other"))
    assert 0.1 < len(hard & hard_there) / len(hard) < 0.55
    same = Counter(case.lure() == case.lure("other") for case in tasks)
    assert 0.15 < same[True] / 200 < 0.35
