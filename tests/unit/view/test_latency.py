"""A front among the fast enough: what slower harnesses alone beat comes back, nothing else does."""

from __future__ import annotations

from harnesspro.core.documents import Picks
from harnesspro.view.latency import within_latency
from tests.unit.view.documents import (
    BASE_ID,
    BASELINE,
    BEST,
    BEST_ID,
    CHEAP,
    CHEAP_ID,
    LOSER,
    LOSER_ID,
    TRAP,
    document,
    est,
    judged_document,
)

SLOW = est(9.0, 8.0, 10.0)
SLOW_CHEAP = CHEAP.model_copy(update={"latency_s": SLOW})
SLOW_BEST = BEST.model_copy(update={"latency_s": SLOW})


def ids(doc):
    return [one.candidate_id for one in doc.front]


def test_where_all_are_fast_enough_the_front_is_the_same():
    doc = within_latency(document(), 10.0)
    assert ids(doc) == [CHEAP_ID, BEST_ID]
    assert doc.words[0] == (
        "The front is of harnesses that take at most 10 s a task on average; none is slower."
    )


def test_slow_members_leave_the_front_but_stay_measured():
    doc = document(front=(SLOW_CHEAP, BEST), candidates=(SLOW_CHEAP, BEST, LOSER, TRAP))
    shown = within_latency(doc, 8.0)
    assert ids(shown) == [BEST_ID]
    assert (shown.candidates, shown.verdicts) == (doc.candidates, doc.verdicts)
    assert shown.picks == Picks(knee=None, cheapest_safe=BASE_ID, best=BEST_ID)
    assert shown.words == (
        "The front is of harnesses that take at most 8.0 s a task on average; 1 slower left out of "
        "it.",
        *doc.words,
    )


def test_what_only_slower_harnesses_beat_comes_onto_the_front():
    # Everything that beats the baseline is slow; the loser costs more and scores less than it.
    doc = document(front=(SLOW_CHEAP, SLOW_BEST), candidates=(SLOW_CHEAP, SLOW_BEST, LOSER, TRAP))
    trusted = doc.referee.model_copy(update={"trusted": True})
    shown = within_latency(doc.model_copy(update={"referee": trusted}), 8.0)
    assert ids(shown) == [BASE_ID]
    assert LOSER_ID not in ids(shown)


def test_answers_kept_count_while_nobody_can_judge_them():
    kept = LOSER.model_copy(
        update={"answers_changed": est(0.0, 0.0, 0.1), "cost_usd_per_task": est(1e-4, 1e-4, 1e-4)}
    )
    doc = document(front=(SLOW_BEST,), candidates=(SLOW_BEST, kept), verdicts=())
    trusted = doc.referee.model_copy(update={"trusted": True})
    # Cheaper and better scored, the slow one beats it only where its changed answers can be judged.
    assert kept.candidate_id not in ids(within_latency(doc, 8.0))
    judged = within_latency(doc.model_copy(update={"referee": trusted}), 8.0)
    assert kept.candidate_id in ids(judged)


def test_a_rejected_harness_never_comes_back():
    slow = CHEAP.model_copy(update={"latency_s": SLOW, "cost_usd_per_task": est(2e-5, 2e-5, 2e-5)})
    doc = judged_document(front=(slow,), candidates=(slow, TRAP))
    freed = TRAP.model_copy(update={"verdict": None})
    again = judged_document(front=(slow,), candidates=(slow, freed))
    assert TRAP.candidate_id not in ids(within_latency(doc, 8.0))
    assert TRAP.candidate_id in ids(within_latency(again, 8.0))


def test_the_cheapest_safe_is_the_cheapest_fast_one_accepted():
    also = BEST.model_copy(update={"verdict": "accept"})
    doc = document(front=(SLOW_CHEAP, also), candidates=(SLOW_CHEAP, also))
    assert within_latency(doc, 8.0).picks.cheapest_safe == BEST_ID


def test_where_nothing_is_fast_enough_there_is_no_front():
    shown = within_latency(document(), 0.1)
    assert shown.front == ()
    assert shown.picks == Picks(knee=None, cheapest_safe=None, best=None)
    assert shown.words[0] == (
        "No harness takes at most 0.1 s a task on average, so there is no front."
    )
    assert BASELINE.latency_s.mean > 0.1
