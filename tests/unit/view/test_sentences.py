"""Sentences claim no more than the evidence: accepted, open, or nothing; and money is right."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harnesspro.core.documents import Picks, Spend
from harnesspro.view import figures
from harnesspro.view.sentences import (
    Headline,
    break_even_tasks,
    headline,
    own_disagreement,
    power_words,
    sentence,
    spend_words,
    verdict_sentences,
    wastes,
)
from tests.unit.view.documents import (
    BEST,
    CHEAP,
    LOSER,
    TRAP,
    bare_document,
    document,
    est,
    finding,
    judged_document,
    verdict,
)

NO_PICKS = Picks(knee=None, cheapest_safe=None, best=None)


def test_an_accepted_saving_is_said_with_its_bounds() -> None:
    assert headline(document()) == Headline(
        "toolcaller is 67 % cheaper: $0.042 instead of $0.126 for 1,000 tasks.",
        "Accepted on 96 tasks it had never seen: cheaper, and not worse. The saving lies between "
        "65 % and 69 %. Answers changed on 2 of 96 tasks; with 95 % confidence accuracy has moved "
        "by at most 6.4 points (the original disagrees with itself on 3.0 %).",
        "accepted",
    )


def test_an_inconclusive_saving_only_looks_cheaper() -> None:
    open_point = CHEAP.model_copy(update={"verdict": "inconclusive", "stamp": "observed"})
    open_verdict = verdict(kind="inconclusive", n_more_tasks=58, n=40)
    doc = document(front=(open_point,), candidates=(open_point,), verdicts=(open_verdict,))
    head = headline(doc)
    assert head.tone == "open"
    assert head.claim.startswith("toolcaller looks 67 % cheaper")
    assert head.support.startswith("Not settled on 40 tasks; about 58 more tasks would decide.")


def test_an_observed_saving_names_the_search_tasks_and_the_best_of() -> None:
    seen = CHEAP.model_copy(
        update={"verdict": None, "stamp": "observed", "score": est(0.69, 0.6, 0.8, 32)}
    )
    doc = document(front=(seen,), candidates=(seen, LOSER), verdicts=())
    assert headline(doc).support.startswith(
        "Observed on 32 search tasks, best of 2 candidates; not confirmed."
    )


def test_a_rejected_point_is_never_the_headline() -> None:
    doc = document(front=(TRAP,), candidates=(TRAP,), verdicts=(), picks=NO_PICKS)
    assert headline(doc).tone == "nothing"


def test_an_accepted_point_goes_before_a_cheaper_open_one() -> None:
    cheaper = TRAP.model_copy(update={"verdict": None})
    doc = document(front=(cheaper, CHEAP), candidates=(cheaper, CHEAP), picks=NO_PICKS)
    assert headline(doc).tone == "accepted"


def test_an_accepted_gain_that_costs_more_is_called_better() -> None:
    better = BEST.model_copy(
        update={"verdict": "accept", "cost_usd_per_task": est(2e-4, 1e-4, 3e-4)}
    )
    claim = verdict(BEST.candidate_id, claim="success", cost_ratio=est(1.6, 1.5, 1.7))
    head = headline(document(front=(better,), candidates=(better,), verdicts=(claim,)))
    assert head.claim == (
        "toolcaller is better, score 0.71 against 0.67: $0.200 instead of $0.126 for 1,000 tasks."
    )
    assert head.support.startswith("Accepted on 96 tasks it had never seen: better. Answers")


def test_a_run_without_success_says_what_it_did_find() -> None:
    doc = bare_document(findings=(finding(),), n_diagnosed_trials=32, diagnosed_usd=0.004026)
    assert headline(doc) == Headline(
        "Nothing beat toolcaller as it is (no candidate tried).",
        "It costs $0.126 for 1,000 tasks; 1 finding put $0.0806 of that down as waste.",
        "nothing",
    )


def test_findings_are_priced_for_a_thousand_tasks_and_dearest_first() -> None:
    doc = document(findings=(finding(wasted_nanos=320), finding(wasted_nanos=3200)))
    assert [w.usd_per_1000 for w in wastes(doc)] == pytest.approx([1e-4, 1e-5])
    assert [w.share for w in wastes(bare_document(findings=(finding(),)))] == [None]


def test_break_even_is_spend_over_the_saving_of_one_task() -> None:
    assert break_even_tasks(document()) == 479  # 0.0403 / (1.258e-4 - 4.16e-5) = 478.6
    assert break_even_tasks(bare_document()) is None


def test_a_dearer_harness_never_pays_back() -> None:
    dear = CHEAP.model_copy(update={"cost_usd_per_task": est(1.3e-4, 1.2e-4, 1.4e-4)})
    assert break_even_tasks(document(front=(dear,), candidates=(dear,))) is None


def test_the_bill_names_calls_paid_without_an_answer() -> None:
    spend = Spend(improver_usd=0.5, target_usd=1.25, paid_usd=1.75, n_ambiguous_calls=1)
    assert spend_words(bare_document(spend=spend)) == (
        "$0.50 on thinking, $1.25 on measuring (at list prices); $1.75 billed.",
        "1 call may have been paid without an answer.",
    )


def test_a_pick_the_referee_vouches_for_names_its_tipping_hit_rate_and_that_its_tasks_were_used() -> (
    None
):
    assert headline(judged_document()).support == (
        "Accepted on 96 tasks that earlier runs had used: cheaper, and not worse. The saving lies "
        "between 65 % and 69 %. Answers changed on 9 of 96 tasks; with 95 % confidence accuracy has "
        "moved by at most 16 points (the original disagrees with itself on 3.0 %). The referee finds "
        "6 of the changed better and 3 worse; the verdict falls if it is right on under 74 % of such "
        "pairs."
    )


def test_a_verdict_says_by_what_it_stands_and_how_noisy_the_original_is() -> None:
    by_agreement, open_ = document().verdicts
    assert verdict_sentences(by_agreement).endswith(
        "Shown by agreement, no judge needed; the smallest margin the data support is 6.4 points. "
        "The original disagrees with itself on 3.0 %."
    )
    unknown = open_.model_copy(update={"route": "none", "base_disagreement": None})
    assert verdict_sentences(unknown).endswith(
        "Shown by neither agreement nor the referee; the smallest margin the data support is 16 "
        "points. How often the original disagrees with itself was not measured."
    )
    assert verdict_sentences(unknown.model_copy(update={"n": 0, "reason": "no task"})) == "No task."


def test_the_originals_noise_is_the_runs_or_else_that_of_a_verdict() -> None:
    assert own_disagreement(judged_document(base_disagreement=0.1)) == 0.1
    assert own_disagreement(document()) == 0.03
    assert own_disagreement(bare_document()) is None


def test_a_saving_that_was_not_accepted_pays_back_only_if_it_holds() -> None:
    seen = CHEAP.model_copy(update={"verdict": None, "stamp": "observed"})
    observed = document(front=(seen,), candidates=(seen,), verdicts=())
    assert spend_words(document())[1] == "Paid back after 479 tasks."
    assert spend_words(observed)[1] == "If it holds, paid back after 479 tasks."


def test_used_confirm_tasks_are_named_with_what_they_can_show() -> None:
    assert power_words(judged_document()).endswith(
        "gains from 11 points can be seen. All 96 confirm tasks were already used by 2 earlier runs: "
        "the headline is new to this run, not to you."
    )


@pytest.mark.parametrize(
    ("text", "shown"),
    [("one call", "One call."), ("Done.", "Done."), ("", ""), ("x\x1b (y)", "X\\x1b (y).")],
)
def test_a_sentence_has_a_capital_and_a_full_stop(text: str, shown: str) -> None:
    assert sentence(text) == shown


def test_power_without_confirm_tasks_claims_nothing() -> None:
    assert power_words(bare_document()) == "8 search and 0 confirm tasks"


@pytest.mark.parametrize(
    ("amounts", "decimals"),
    [
        ((0.1258,), 3),
        ((0.126, 0.025), 3),
        ((0.126, 0.0025), 4),
        ((12.4,), 2),
        ((8.2, 3.1), 2),
        ((1240.0,), 0),
        ((0.0, 0.0), 2),
        ((1e-12,), 9),
    ],
)
def test_amounts_side_by_side_share_their_decimals(
    amounts: tuple[float, ...], decimals: int
) -> None:
    assert figures.usd_decimals(*amounts) == decimals


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (figures.usd(1240.5), "$1,240"),
        (figures.usd(-0.5), "-$0.500"),
        (figures.usd(0), "$0"),
        (figures.percent(0.0004), "< 0.1 %"),
        (figures.percent(0.064), "6.4 %"),
        (figures.percent(0.0), "0 %"),
        (figures.points(0.01), "1 point"),
        (figures.points(0.045), "4.5 points"),
        (figures.seconds(1.63), "1.6 s"),
        (figures.seconds(150), "2.5 min"),
        (figures.duration(45), "45 s"),
        (figures.duration(1342), "22 min"),
        (figures.duration(3900), "1 h 05 min"),
        (figures.clock(247), "04:07"),
        (figures.clock(3847), "1:04:07"),
        (figures.changed(None), "-"),
        (figures.changed(est(2 / 96, 0, 0.064, 96)), "2 of 96, <= 6.4 %"),
        (figures.counted(1200, "task"), "1,200 tasks"),
    ],
)
def test_numbers_read_the_same_everywhere(shown: str, text: str) -> None:
    assert shown == text


@given(st.floats(min_value=1e-8, max_value=1e6))
def test_an_amount_is_shown_within_one_percent_or_a_cent(amount: float) -> None:
    shown = float(figures.usd(amount).removeprefix("$").replace(",", ""))
    assert abs(shown - amount) <= max(0.01 * amount, 1e-9)
