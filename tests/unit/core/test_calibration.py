import numpy as np
import pytest

from harnesspro.core.calibration import (
    ADMITTING_PAIRS,
    LEAST_ADMITTING,
    Enough,
    Marks,
    More,
    Pair,
    ProbeAnswer,
    ProbeRow,
    calibration_of,
    hit_rate,
    loses_on_probes,
    mark,
    n_admitting,
    next_probes,
    pair_of,
    tilt,
)
from harnesspro.core.referee import is_trusted


def answer(candidate_id, cluster, right, answered=True):
    return ProbeAnswer(
        candidate_id=candidate_id,
        cluster=cluster,
        right=right,
        answered=answered,
        n_chars=4,
        latency_s=1.0,
        cost_usd=0.001,
    )


def row(name, *answers):
    return ProbeRow(probe_id=name, answers=answers, scores={})


def base_right(name):
    return row(name, answer("base", "a", True), answer("v", "b", False))


def variant_right(name):
    return row(name, answer("base", "b", False), answer("v", "a", True))


def same(name):
    return row(name, answer("base", "a", True), answer("v", "a", True))


def marks(n, right, ties=0, for_change=0):
    wrong = n - right - ties
    return Marks(
        n=n,
        right=right,
        ties=ties,
        wrong_for_change=for_change,
        losses=n // 2,
        wrong_against=wrong - for_change,
    )


def there(found):
    """What is known to be there."""
    assert found is not None
    return found


def test_a_probe_gives_a_pair_only_where_exactly_one_of_two_differing_answers_is_right():
    both_wrong = row("p", answer("base", "b", False), answer("v", "c", False))

    assert pair_of(same("p"), seed=0) is None
    assert pair_of(both_wrong, seed=0) is None
    assert pair_of(variant_right("p"), seed=0) == Pair("p", "a", "b", True)


def test_no_answer_makes_no_pair():
    silent = row("p", answer("base", "a", True), answer("v", "none", False, answered=False))

    assert pair_of(silent, seed=0) is None


def test_where_the_initial_harness_agrees_with_all_two_others_make_the_pair():
    among = row("p", answer("base", "b", False), answer("v", "b", False), answer("w", "a", True))
    without = row(
        "p",
        answer("base", "none", False, answered=False),
        answer("v", "a", True),
        answer("w", "c", False),
    )

    assert pair_of(among, seed=0) == Pair("p", "a", "b", True)
    assert pair_of(without, seed=0) == Pair("p", "c", "a", False)


def test_channels_are_admitted_on_sixty_probes_and_on_until_forty_pairs():
    often = [base_right(f"p{i}") for i in range(80)]
    seldom = [base_right(f"p{i}") if i % 4 == 0 else same(f"p{i}") for i in range(200)]

    assert n_admitting(often, seed=0) == LEAST_ADMITTING
    assert n_admitting(seldom, seed=0) == 4 * (ADMITTING_PAIRS - 1) + 1
    assert n_admitting(seldom[:80], seed=0) is None


def test_of_several_differing_variants_the_seed_draws_one():
    rows = [
        row(f"p{i}", answer("base", "a", True), answer("v", "b", False), answer("w", "c", False))
        for i in range(40)
    ]

    drawn = [there(pair_of(one, seed=1)).cluster for one in rows]

    assert 8 < drawn.count("b") < 32
    assert drawn == [there(pair_of(one, seed=1)).cluster for one in rows]


def test_the_referee_is_marked_by_which_answer_it_prefers():
    pairs = [
        Pair("hit", "a", "b", True),
        Pair("tie", "a", "b", True),
        Pair("for", "b", "a", False),
        Pair("against", "a", "b", True),
    ]
    merits = {
        "hit": {"a": 0.9, "b": 0.1},
        "tie": {"a": 0.5, "b": 0.5},
        "for": {"a": 0.1, "b": 0.9},
        "against": {"a": 0.1, "b": 0.9},
    }

    assert mark(pairs, merits) == Marks(
        n=4, right=1, ties=1, wrong_for_change=1, wrong_against=1, losses=1
    )


def test_83_of_100_is_trusted_and_82_is_not():
    assert is_trusted(hit_rate(marks(100, 83)))
    assert not is_trusted(hit_rate(marks(100, 82)))


def test_a_tie_is_half_a_hit_and_half_a_hit_is_rounded_against_the_referee():
    assert there(hit_rate(marks(100, 80, ties=6))).low == there(hit_rate(marks(100, 83))).low
    assert there(hit_rate(marks(100, 80, ties=5))).low == there(hit_rate(marks(100, 82))).low
    assert there(hit_rate(marks(100, 80, ties=5))).mean == 0.825
    assert hit_rate(marks(0, 0)) is None


@pytest.mark.parametrize("share_of_losses", [0.2, 0.5, 0.8])
def test_the_upper_tilt_holds_in_at_least_95_percent_of_worlds(share_of_losses):
    """It errs on 25 % of losses and 5 % of gains; the variants may lose more often than they gain."""
    rng, n_worlds, covered = np.random.default_rng(7), 600, 0
    for losses in rng.binomial(100, share_of_losses, size=n_worlds):
        for_change, against = rng.binomial(losses, 0.25), rng.binomial(100 - losses, 0.05)
        found = tilt(
            Marks(
                n=100,
                right=int(100 - for_change - against),
                ties=0,
                wrong_for_change=int(for_change),
                wrong_against=int(against),
                losses=int(losses),
            )
        )
        covered += there(found).high >= 0.2
    assert covered / n_worlds >= 0.93


def test_without_errors_the_tilt_is_small_but_not_nothing():
    found = there(tilt(marks(100, 100)))

    assert found.mean == 0.0
    assert 0.02 < found.high < 0.06
    assert found.low == -found.high


def test_a_harness_that_loses_on_a_hundred_probes_is_vetoed():
    even = [same(f"s{i}") for i in range(90)]
    lost = [base_right(f"l{i}") for i in range(8)]
    won = [variant_right(f"w{i}") for i in range(2)]

    assert loses_on_probes([*even, *lost, *won], "v")
    assert not loses_on_probes([*even, *won, *won], "v")
    assert not loses_on_probes([*even[:80], *lost, *won], "v")


def test_calibration_leaves_out_the_probes_that_admitted_the_channels():
    admitting = [base_right(f"a{i}") for i in range(60)]
    later = [variant_right(f"m{i}") for i in range(10)]
    merits = {one.probe_id: {"a": 1.0, "b": 0.0} for one in [*admitting, *later]}

    found = calibration_of([*admitting, *later], merits, admitting=60, seed=0, reason="so far")

    assert (found.n_admitting, found.n_probes, found.n_discordant, found.n_ties) == (60, 10, 10, 0)
    assert there(found.hit_rate).n == 10
    assert found.probe_accuracy["base"].mean == pytest.approx(60 / 70)
    assert found.reason == "so far"


def after(n, pairs, marked=None, formed=True, most=600):
    return next_probes(n, n_most=most, n_pairs=pairs, formed=formed, marks=marked)


def test_the_admitting_probes_come_first():
    assert after(0, 0, formed=False) == More(60)
    assert after(20, 9, formed=False) == More(40)
    assert after(60, 20, formed=False) == More(40)


def test_without_a_channel_no_further_probe_is_paid_for():
    assert after(60, 30) == Enough("no channel tells right answers from wrong ones on probes")


def test_it_goes_on_to_a_hundred_pairs():
    assert after(100, 50, marks(20, 18)) == More(40)
    assert after(590, 129, marks(99, 90)) == More(10)
    assert after(300, 131, marks(101, 90)) == Enough("101 pairs of differing answers")


def test_it_stops_where_trust_is_out_of_reach():
    assert after(140, 70, marks(40, 22)).reason.startswith("right on 22 of 40 pairs")
    assert after(140, 3, formed=False, most=300) == Enough(
        "only 3 of 140 probes gave a pair of differing answers, so 300 will not give the 140 asked "
        "for (about 6,600 would)"
    )
    assert after(600, 125, marks(95, 90)).reason.startswith("600 probes gave 125 pairs")
    assert after(0, 0, formed=False, most=40) == Enough(
        "40 probes are fewer than the 60 that admit channels"
    )


@pytest.mark.parametrize(("true_rate", "least", "most"), [(0.7, 0.0, 0.01), (0.9, 0.95, 1.0)])
def test_a_referee_of_070_is_hardly_ever_trusted_and_one_of_090_nearly_always(
    true_rate, least, most
):
    rng = np.random.default_rng(11)
    hits = rng.binomial(100, true_rate, size=3000)

    share = np.mean([is_trusted(hit_rate(marks(100, int(k)))) for k in hits])

    assert least <= share <= most
