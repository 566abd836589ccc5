"""Operators on caps: output tokens down and up, retries down."""

from harnesspro.operators import OPERATORS
from tests.unit.builders import a_finding, a_harness


def knobs(name, harness, finding):
    patch = OPERATORS[name].propose(harness, finding)
    return None if patch is None else patch.knobs


def test_the_output_cap_comes_down_to_the_99th_percentile_and_half_as_much_again():
    oversized = a_finding("oversized_cap", out_tokens_p99=41)
    assert knobs("cap_output", a_harness(max_output_tokens=400), oversized) == {
        "max_output_tokens": 62
    }


def test_the_output_cap_never_cuts_the_answer_itself():
    wordy = a_finding("verbose_output", out_tokens_p50=200, answer_end_tokens_p99=100)
    assert knobs("cap_output", a_harness(max_output_tokens=400), wordy) == {
        "max_output_tokens": 150
    }


def test_an_output_cap_that_would_cut_nothing_off_is_not_proposed():
    answer_last = a_finding("verbose_output", out_tokens_p50=200, answer_end_tokens_p99=210)
    assert knobs("cap_output", a_harness(max_output_tokens=400), answer_last) is None


def test_the_output_cap_stays_in_its_range_and_only_comes_down():
    short = a_finding("oversized_cap", out_tokens_p99=2)
    assert knobs("cap_output", a_harness(max_output_tokens=400), short) == {"max_output_tokens": 16}
    assert knobs("cap_output", a_harness(max_output_tokens=16), short) is None
    assert knobs("cap_output", a_harness(), short) is None
    long = a_finding("oversized_cap", out_tokens_p99=300)
    assert knobs("cap_output", a_harness(max_output_tokens=400), long) is None


def test_retries_come_down_to_what_was_seen_to_help():
    harness = a_harness(retries=3)
    assert knobs("cap_retries", harness, a_finding("retry_waste", useful_retries=1)) == {
        "retries": 1
    }
    assert knobs("cap_retries", harness, a_finding("retry_waste", useful_retries=0)) == {
        "retries": 0
    }


def test_retries_that_all_help_and_harnesses_without_are_left_alone():
    useful = a_finding("retry_waste", useful_retries=3)
    assert knobs("cap_retries", a_harness(retries=3), useful) is None
    assert knobs("cap_retries", a_harness(), useful) is None


def test_a_cap_that_cut_answers_off_is_doubled_within_its_range():
    cut = a_finding("limit_hits", knob="max_output_tokens")
    assert knobs("raise_cap", a_harness(max_output_tokens=64), cut) == {"max_output_tokens": 128}
    assert knobs("raise_cap", a_harness(max_output_tokens=400), cut) == {"max_output_tokens": 512}
    assert knobs("raise_cap", a_harness(max_output_tokens=512), cut) is None


def test_a_limit_that_is_not_the_output_cap_raises_nothing():
    calls = a_finding("limit_hits", knob="samples")
    assert knobs("raise_cap", a_harness(max_output_tokens=64, samples=3), calls) is None
    assert knobs("raise_cap", a_harness(), a_finding("limit_hits")) is None
