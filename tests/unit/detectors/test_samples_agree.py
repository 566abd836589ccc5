"""Votes that went on after they were decided."""

from harnesspro.core.records import Span
from harnesspro.detectors.samples_agree import Vote, detect, votes_of
from tests.unit.builders import a_harness, a_step, a_trajectory

A, B = '{"a": 1}', '{"a": 2}'


def a_vote(*replies, task="t1", temperature=0.7):
    return a_trajectory(*[a_step(r, temperature=temperature) for r in replies], task=task)


def n_needed(*replies, kind="json"):
    vote = a_vote(*replies)
    answers = {"choice": "refund", "number": 12, "code": "def f(n):\n    return [1, 2]\n"}
    trial = vote.trial.model_copy(update={"answer": answers.get(kind, {"a": 1})})
    (found,) = votes_of(a_harness(kind=kind), [vote.model_copy(update={"trial": trial})])
    return found.n_needed


def test_two_equal_samples_of_three_decide_and_the_third_is_waste():
    trials = [a_vote(A, A, A), a_vote(A, A, B, task="t2"), a_vote(A, B, A, task="t3")]
    (finding,) = detect(a_harness(samples=3), trials)
    assert finding.evidence == (
        Span(trial_id="trial-t1", step=2, wasted_nanos=11_000),
        Span(trial_id="trial-t2", step=2, wasted_nanos=11_000),
    )
    assert (finding.wasted_nanos, finding.part, finding.knob) == (22_000, "budgets", "samples")
    assert finding.detail == {
        "votes": 3,
        "samples": 3,
        "agreement_share": 1 / 3,
        "first_won_share": 1.0,
        "needed_p50": 2,
        "needed_p95": 3,
        "beyond_first_nanos": 66_000,
    }


def test_answers_are_compared_by_value_not_by_spelling():
    assert n_needed('{"a": 1, "b": 2}', '```json\n{"b":2, "a":1}\n```', A) == 2


def test_code_agrees_by_its_block_whatever_is_said_around_it_and_whatever_lists_it_shows():
    code, other = "def f(n):\n    return [1, 2]\n", "def f(n):\n    return [1, 2] * n\n"
    first, again, differs = (
        f"{s}\n```python\n{c}```" for s, c in zip("ABC", (code, code, other), strict=True)
    )
    assert n_needed(first, again, differs, kind="code") == 2
    assert n_needed(first, differs, again, kind="code") == 3


def test_a_vote_that_a_later_sample_could_still_turn_is_not_decided():
    assert n_needed(A, A, B, B, A) == 5
    assert n_needed(A, A, B, A, B) == 4
    assert n_needed(A, B) == 2


def test_replies_without_an_answer_use_up_samples_but_never_lead():
    assert n_needed("sorry", "sorry", "sorry") == 3
    assert n_needed("sorry", A, A) == 3


def test_choices_agree_by_their_last_line_and_numbers_by_their_last_number():
    assert n_needed("Well.\nAnswer: Refund.", "refund", "billing", kind="choice") == 2
    assert n_needed("so 3 x 4 = 12", "12.0", "about 1,200", kind="number") == 2
    assert n_needed("12345678", "12345679", "12345678", kind="number") == 3


def test_a_vote_of_a_trial_without_an_answer_or_with_another_answer_is_not_decided():
    lost = [a_step("either red or blue", temperature=0.7) for _ in range(3)]
    malformed = a_trajectory(*lost, outcome="malformed")
    elsewhere = a_trajectory(*lost, task="t2", answer="green")
    named = a_trajectory(*lost, task="t3", answer="red")
    found = votes_of(a_harness(kind="choice"), [malformed, elsewhere, named])
    assert [vote.n_needed for vote in found] == [3, 3, 2]


def test_the_first_sample_wins_only_if_the_vote_gives_its_answer():
    trajectory = a_vote(B, A, A)
    vote = Vote(trajectory, trajectory.steps, ("b", "a", "a"))
    assert (vote.first_won, vote.unanimous) == (False, False)


def test_undecided_votes_single_calls_and_repetitions_are_left_alone():
    trials = [
        a_vote(A, B, A),
        a_vote(A, task="t2"),
        a_vote(A, A, A, task="t3", temperature=0),
    ]
    assert detect(a_harness(samples=3), trials) == ()


def test_a_vote_that_stopped_when_decided_is_left_alone():
    assert detect(a_harness(samples=3), [a_vote(A, A)]) == ()
