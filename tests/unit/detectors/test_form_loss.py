"""Trials lost for form."""

from harnesspro.core.records import Span
from harnesspro.detectors.form_loss import detect
from tests.unit.builders import a_harness, a_step, a_trajectory


def test_a_malformed_trial_that_said_something_is_lost_success_and_all_its_money():
    lost = a_trajectory(a_step("The secret word is 42."), a_step("Really."), outcome="malformed")
    good = [a_trajectory(a_step(), task=f"t{i}") for i in range(2, 5)]
    (finding,) = detect(a_harness(constrain="none"), [lost, *good])
    assert finding.evidence == (
        Span(trial_id="trial-t1", step=0, wasted_nanos=11_000),
        Span(trial_id="trial-t1", step=1, wasted_nanos=11_000),
    )
    assert (finding.lost_success, finding.part, finding.knob) == (0.25, "budgets", "constrain")
    assert finding.detail == {
        "lost_trials": 1,
        "forms": {"no JSON": 1},
        "sample_outline": "w.",
    }


def test_what_was_wrong_is_told_in_forms_and_never_in_the_reply_s_words():
    wrong = '```json\n{"customer": "Ada Lovelace"}\n```'
    lost = a_trajectory(a_step(wrong), outcome="malformed")
    (finding,) = detect(a_harness(), [lost])
    assert finding.detail["forms"] == {"JSON inside text": 1}
    assert finding.detail["sample_outline"] == '```w\n{"w": "w"}\n```'


def test_a_long_reply_leaves_a_short_outline():
    lost = a_trajectory(a_step("a, " * 500), outcome="malformed")
    assert len(str(detect(a_harness(), [lost])[0].detail["sample_outline"])) == 120


def test_silent_cut_off_and_answered_trials_are_left_alone():
    trials = [
        a_trajectory(a_step(" "), outcome="malformed"),
        a_trajectory(a_step('{"a": ', finish="length"), task="t2", outcome="malformed"),
        a_trajectory(a_step("prose"), task="t3"),
        a_trajectory(task="t4", outcome="crashed"),
    ]
    assert detect(a_harness(), trials) == ()
