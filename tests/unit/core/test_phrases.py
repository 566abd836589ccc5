"""Sentences about the judge that more than one place says."""

import pytest

from harnesspro.core.documents import Power, SealedReport
from harnesspro.core.phrases import (
    calibration_words,
    channel_words,
    own_noise,
    reuse_words,
    sealed_words,
    tilt_words,
)
from harnesspro.core.records import Calibration, Channel, Estimate


@pytest.mark.parametrize(
    ("disagreement", "words"),
    [
        (None, "how often the original disagrees with itself was not measured"),
        (0.0, "the original never disagreed with itself"),
        (0.03, "the original disagrees with itself on 3.0 %"),
    ],
)
def test_the_baselines_own_noise_is_said_even_where_it_is_unknown(disagreement, words):
    assert own_noise(disagreement) == words


def test_without_a_pair_nothing_is_known_of_the_referee():
    nothing = Calibration(
        n_probes=40, n_discordant=0, hit_rate=None, tilt=None, n_ties=0, reason="no probe left"
    )
    assert calibration_words(nothing) == (
        "calibrated on 40 generated tasks: no pair of differing answers with exactly one of them "
        "right, so nothing is known of it"
    )


def test_a_referee_that_was_not_put_to_probes_says_why():
    unmeasured = Calibration(
        n_probes=0,
        n_discordant=0,
        hit_rate=None,
        tilt=None,
        n_ties=0,
        reason="--probes 0 forbids it",
    )
    assert calibration_words(unmeasured) == "not measured: --probes 0 forbids it"


def test_the_order_of_many_harnesses_is_not_called_too_few():
    sealed = SealedReport(
        n_tasks=9, n_harnesses=6, rank_correlation=0.6, discordant_hit_rate=None, auc=None
    )
    assert sealed_words(sealed)[-1].endswith("agree with tau +0.60")


def test_without_a_channel_heard_that_is_said():
    deaf = Channel(name="checks", kind="checks", reason="silent")
    assert channel_words((deaf,)) == "no channel is heard; checks is not: silent"
    assert channel_words(()) == ""


def test_reuse_counts_the_tasks_that_were_seen_before():
    power = Power(
        n_search=1,
        n_confirm=64,
        min_detectable_gain=None,
        agreement_bound_at_zero=None,
        n_reused=3,
        n_earlier_runs=1,
    )
    assert reuse_words(power).startswith(
        "3 of 64 confirm tasks were already used by 1 earlier run:"
    )
    assert reuse_words(power.model_copy(update={"n_reused": 0})) == ""


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.55, 0.9, "better than chance"),
        (0.1, 0.4, "worse than chance, so it points the wrong way here"),
        (0.4, 0.6, "no better than chance is shown, so trust only cost and agreement here"),
    ],
)
def test_the_score_is_trusted_no_further_than_its_pairs_show(low, high, verdict):
    rate = Estimate(mean=(low + high) / 2, low=low, high=high, n=30)
    sealed = SealedReport(
        n_tasks=64, n_harnesses=2, rank_correlation=None, discordant_hit_rate=rate, auc=None
    )
    opened, pairs = sealed_words(sealed)
    assert opened == "accuracy was opened once in this run, after the verdicts, on 64 tasks"
    assert pairs.endswith(f"(at least {100 * low:.0f} %): {verdict}")


def test_no_pair_teaches_nothing_and_flattery_needs_both_measurements():
    sealed = SealedReport(
        n_tasks=9, n_harnesses=2, rank_correlation=None, discordant_hit_rate=None, auc=None
    )
    lines = sealed_words(sealed, Estimate(mean=0.9, low=0.8, high=0.95, n=100))
    assert lines[1:] == (
        "no two answers differed with exactly one right, so nothing is learnt of the score without "
        "gold",
    )


def test_errors_for_the_original_are_said_as_such():
    tilt = Estimate(mean=-0.06, low=-0.2, high=0.047, n=100)
    assert tilt_words(tilt) == (
        "its errors favour the original by 6.0 % (the change by at most 4.7 %)"
    )
