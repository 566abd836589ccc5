"""Caps far above use."""

from harnesspro.core.records import Span
from harnesspro.detectors.oversized_cap import detect
from tests.unit.builders import a_harness, a_step, a_trajectory


def trials(*n_out, cap=400, finish="stop"):
    return [
        a_trajectory(a_step(n_out=n, max_output_tokens=cap, finish=finish), task=f"t{i}")
        for i, n in enumerate(n_out)
    ]


def test_a_cap_of_ten_times_the_longest_reply_is_found_and_claims_no_money():
    (finding,) = detect(a_harness(max_output_tokens=400), trials(*[20] * 9, 40))
    assert finding.evidence == (Span(trial_id="trial-t9", step=0, wasted_nanos=0),)
    assert (finding.knob, finding.wasted_nanos, finding.lost_success) == ("max_output_tokens", 0, 0)
    assert finding.detail == {"asked_tokens": 400, "out_tokens_p99": 40}


def test_a_cap_near_what_replies_use_is_left_alone():
    assert detect(a_harness(), trials(*[20] * 9, 101)) == ()


def test_few_calls_cut_off_replies_and_absent_caps_are_left_alone():
    assert detect(a_harness(), trials(*[20] * 9)) == ()
    assert detect(a_harness(), trials(*[20] * 10, finish="length")) == ()
    assert detect(a_harness(), [a_trajectory(a_step(), task=f"t{i}") for i in range(10)]) == ()
