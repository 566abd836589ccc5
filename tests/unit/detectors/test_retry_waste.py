"""Retries that fail like the call before."""

from harnesspro.core.records import Span
from harnesspro.detectors.retry_waste import detect
from tests.unit.builders import a_harness, a_step, a_trajectory

FIRST, AGAIN = a_step("prose", prompt="Do it."), a_step("prose", prompt="Do it. JSON!")
MENDED = a_step('{"a": 1}', prompt="Do it. JSON! Please.")


def test_the_retry_that_failed_the_same_way_is_waste_and_the_one_that_helped_is_counted():
    helped = a_trajectory(FIRST, AGAIN, MENDED)
    lost = a_trajectory(FIRST, AGAIN, AGAIN, task="t2", outcome="malformed")
    (finding,) = detect(a_harness(retries=2), [helped, lost])
    assert finding.evidence == (
        Span(trial_id="trial-t1", step=1, wasted_nanos=11_000),
        Span(trial_id="trial-t2", step=1, wasted_nanos=11_000),
        Span(trial_id="trial-t2", step=2, wasted_nanos=11_000),
    )
    assert (finding.wasted_nanos, finding.part, finding.knob) == (33_000, "budgets", "retries")
    assert finding.detail == {"vain_retries": 3, "useful_retries": 2, "forms": {"no JSON": 3}}


def test_a_retry_that_fails_in_another_way_is_left_alone():
    other = a_step('{"b": 1}', prompt="Do it. JSON!")
    assert detect(a_harness(), [a_trajectory(FIRST, other, outcome="malformed")]) == ()


def test_samples_of_a_vote_are_no_retries():
    samples = [a_step("prose", temperature=0.7) for _ in range(3)]
    differing = [step.model_copy(update={"reply": f"prose {i}"}) for i, step in enumerate(samples)]
    trial = a_trajectory(*differing, outcome="malformed")
    assert detect(a_harness(samples=3), [trial]) == ()
    assert detect(a_harness(samples=2), [trial])[0].wasted_nanos == 11_000


def test_a_retry_that_helped_at_once_is_left_alone():
    assert detect(a_harness(retries=1), [a_trajectory(FIRST, MENDED)]) == ()


def test_replies_that_are_not_json_are_no_failures_where_none_is_asked_for():
    trial = a_trajectory(FIRST, AGAIN, answer="prose")
    assert detect(a_harness(kind="text"), [trial]) == ()
