"""Trials lost to a limit."""

from harnesspro.core.records import Span
from harnesspro.detectors.limit_hits import detect
from tests.unit.builders import a_harness, a_step, a_trajectory


def test_cut_off_replies_and_used_up_trials_are_two_findings():
    cut = a_trajectory(a_step('{"a": ', n_out=64, finish="length"), outcome="malformed")
    used_up = a_trajectory(a_step(), a_step(), task="t2", outcome="limit")
    good = [a_trajectory(a_step(), task=f"t{i}") for i in range(3, 5)]
    capped, stopped = detect(a_harness(max_output_tokens=64, samples=2), [cut, used_up, *good])
    assert capped.evidence == (Span(trial_id="trial-t1", step=0, wasted_nanos=16_400),)
    assert (capped.knob, capped.lost_success) == ("max_output_tokens", 0.25)
    assert capped.detail == {"lost_trials": 1, "out_tokens_max": 64}
    assert (stopped.knob, stopped.lost_success, stopped.wasted_nanos) == ("samples", 0.25, 22_000)
    assert capped.finding_id != stopped.finding_id


def test_a_cut_off_reply_that_still_gave_an_answer_is_left_alone():
    assert detect(a_harness(), [a_trajectory(a_step(finish="length"))]) == ()


def test_a_malformed_trial_that_ended_by_itself_is_left_alone():
    assert detect(a_harness(), [a_trajectory(a_step("x"), outcome="malformed")]) == ()
