"""Output outside the answer."""

from harnesspro.core.records import Span, Usage
from harnesspro.detectors.verbose_output import detect
from tests.unit.builders import a_harness, a_step, a_trajectory

BARE = '{"a": 1}'
WORDY = "abcdefgh" + BARE + "ijklmnop"


def test_two_thirds_of_the_output_are_waste_where_a_third_of_it_is_the_answer():
    trial = a_trajectory(a_step(WORDY, n_out=30))
    (finding,) = detect(a_harness(constrain="none"), [trial])
    assert finding.evidence == (Span(trial_id="trial-t1", step=0, wasted_nanos=2_000),)
    assert (finding.part, finding.knob) == ("budgets", "constrain")
    assert finding.detail == {
        "outside_share": 2 / 3,
        "out_tokens_p50": 30,
        "out_tokens_p99": 30,
        "answer_tokens_p50": 10,
        "answer_tokens_p99": 10,
        "answer_end_tokens_p99": 20,
    }


def test_the_output_price_is_read_off_costs_and_usage():
    def priced(n_in, n_out, task):
        cost = 10 * n_in + 40 * n_out
        return a_trajectory(a_step(WORDY, n_in=n_in, n_out=n_out, cost=cost), task=task)

    trials = [priced(100, 30, "t1"), priced(130, 60, "t2"), priced(90, 33, "t3")]
    (finding,) = detect(a_harness(), trials)
    assert [span.wasted_nanos for span in finding.evidence] == [20 * 40, 40 * 40, 22 * 40]


def test_costs_that_no_linear_price_explains_are_shared_out_evenly():
    trials = [
        a_trajectory(a_step(WORDY, n_in=n_in, n_out=30, cost=cost), task=f"t{cost}")
        for n_in, cost in ((70, 2_000), (70, 4_000), (170, 0))
    ]
    (finding,) = detect(a_harness(), trials)
    assert [span.wasted_nanos for span in finding.evidence] == [300, 300, 0]


def test_hidden_reasoning_is_not_called_waste():
    step = a_step(WORDY, n_out=30).model_copy(
        update={"usage": Usage(uncached_in_tokens=100, out_tokens=30, reasoning_tokens=30)}
    )
    assert detect(a_harness(), [a_trajectory(step)]) == ()


def test_another_sample_of_the_same_form_counts_as_an_answer():
    trial = a_trajectory(a_step("abcdefgh" + '{"a": 7}', n_out=16))
    assert detect(a_harness(), [trial])[0].wasted_nanos == 800


def test_a_choice_is_found_by_its_own_words_or_inside_json():
    plain = a_trajectory(a_step("I think: refund", n_out=15), answer="refund")
    boxed = a_trajectory(a_step('So: {"is": "refund"}', n_out=20), answer="refund", task="t2")
    (finding,) = detect(a_harness(kind="choice"), [plain, boxed])
    assert [span.wasted_nanos for span in finding.evidence] == [900, 400]


def test_bare_answers_failed_trials_and_replies_without_the_answer_are_left_alone():
    trials = [
        a_trajectory(a_step(BARE)),
        a_trajectory(a_step(WORDY), task="t2", outcome="malformed"),
        a_trajectory(a_step("A plan in words."), task="t3"),
    ]
    assert detect(a_harness(), trials) == ()


def test_a_reply_of_nothing_but_brackets_is_survived():
    assert detect(a_harness(), [a_trajectory(a_step("[" * 100_000))]) == ()
