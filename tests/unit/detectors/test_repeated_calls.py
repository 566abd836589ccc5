"""Identical requests within a trial."""

from harnesspro.core.records import Span
from harnesspro.detectors.repeated_calls import detect
from tests.unit.builders import a_harness, a_step, a_trajectory


def test_a_request_sent_three_times_at_temperature_0_wastes_the_price_of_two():
    trial = a_trajectory(*[a_step(temperature=0) for _ in range(3)])
    (finding,) = detect(a_harness(samples=3), [trial, a_trajectory(a_step(), task="t2")])
    assert finding.evidence == (
        Span(trial_id="trial-t1", step=1, wasted_nanos=11_000),
        Span(trial_id="trial-t1", step=2, wasted_nanos=11_000),
    )
    assert (finding.wasted_nanos, finding.part, finding.knob) == (22_000, "budgets", "samples")
    assert finding.detail == {
        "repeated_trials_share": 0.5,
        "repeats": 2,
        "beyond_first_nanos": 22_000,
    }


def test_the_retries_knob_is_named_where_the_harness_asks_once_and_retries():
    trial = a_trajectory(a_step(temperature=0), a_step(temperature=0))
    (finding,) = detect(a_harness(samples=1, retries=2), [trial])
    assert finding.knob == "retries"


def test_no_knob_is_named_where_none_is_turned_up():
    trial = a_trajectory(a_step(temperature=0), a_step(temperature=0))
    (finding,) = detect(a_harness(samples=1), [trial])
    assert (finding.part, finding.knob) == (None, None)


def test_with_the_temperature_left_open_only_equal_replies_are_a_repetition():
    same = a_trajectory(a_step("x"), a_step("x"))
    different = a_trajectory(a_step("x"), a_step("y"), task="t2")
    (finding,) = detect(a_harness(), [same, different])
    assert [span.trial_id for span in finding.evidence] == ["trial-t1"]


def test_samples_other_requests_and_other_trials_are_left_alone():
    samples = a_trajectory(a_step("x", temperature=0.7), a_step("x", temperature=0.7))
    chain = a_trajectory(a_step(prompt="One."), a_step(prompt="Two."), task="t2")
    again = a_trajectory(a_step(prompt="One."), task="t3")
    assert detect(a_harness(samples=2), [samples, chain, again]) == ()


def test_a_seed_does_not_make_a_request_different():
    trial = a_trajectory(a_step(temperature=0, seed=1), a_step(temperature=0, seed=2))
    assert detect(a_harness(), [trial])[0].wasted_nanos == 11_000
