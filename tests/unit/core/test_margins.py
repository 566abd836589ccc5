import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from harnesspro.core.margins import (
    loss_upper,
    more_to_exclude_loss,
    more_to_show_gain,
    more_to_show_loss,
    p_within,
    tipping_hit_rate,
)
from harnesspro.core.records import Calibration, Estimate, Referee
from harnesspro.core.referee import Votes, freeze, p_better, p_loss_beyond, p_loss_within

NOBODY = freeze([])
COUNTS = st.tuples(st.integers(40, 600), st.integers(0, 12), st.integers(0, 12))


def trusted(low=0.85, tilt=0.05):
    return Referee(
        checks=(),
        weights={},
        trusted=True,
        calibration=Calibration(
            n_probes=200,
            n_discordant=120,
            hit_rate=Estimate(mean=0.9, low=low, high=0.95, n=120),
            tilt=Estimate(mean=0.0, low=-tilt, high=tilt, n=120),
            n_ties=0,
        ),
    )


def votes(n, worse, better, ties=0):
    return Votes(n=n, changed=worse + better + ties, worse=worse, better=better)


@given(COUNTS, st.floats(0.76, 0.95))
def test_the_bound_on_the_loss_is_where_its_test_turns(counts, low):
    referee, seen = trusted(low), votes(*counts)
    bound = loss_upper(referee, seen, alpha=0.05)

    assert bound >= 0.999 or p_loss_within(referee, seen, eps=bound + 1e-6) <= 0.05
    assert p_loss_within(referee, seen, eps=bound - 1e-6) > 0.05


def test_without_a_trusted_referee_nothing_bounds_the_loss_and_no_number_of_tasks_helps():
    seen = votes(100, 3, 9)

    assert loss_upper(NOBODY, seen, alpha=0.05) == pytest.approx(1.0)
    assert more_to_exclude_loss(NOBODY, seen, eps=0.05, alpha=0.05) is None
    assert more_to_show_loss(NOBODY, seen, eps=0.05, alpha=0.05) is None
    assert more_to_show_gain(NOBODY, seen, alpha=0.05) is None


@given(COUNTS, st.floats(0.76, 0.95))
def test_the_referee_as_measured_is_the_one_its_own_test_assumes(counts, low):
    seen = votes(*counts)

    assert p_within(seen, hit_rate=low - 0.10, tilt=0.10, eps=0.05) == pytest.approx(
        p_loss_within(trusted(low), seen, eps=0.05)
    )


@given(COUNTS)
def test_a_verdict_stands_exactly_as_long_as_the_referee_hits_more_often_than_the_tipping_rate(
    counts,
):
    seen, referee = votes(*counts), trusted()
    tipping = tipping_hit_rate(referee, seen, eps=0.05)

    if tipping is None:
        assert p_loss_within(referee, seen, eps=0.05) > 0.05
    elif abs(tipping - 0.75) > 1e-6:
        assert (tipping < 0.75) == (p_loss_within(referee, seen, eps=0.05) <= 0.05)


@given(COUNTS)
def test_so_many_times_the_tasks_settle_what_more_tasks_are_said_to_settle(counts):
    referee, seen = trusted(), votes(*counts)
    within = more_to_exclude_loss(referee, seen, eps=0.05, alpha=0.05)
    beyond = more_to_show_loss(referee, seen, eps=0.05, alpha=0.05)
    assume(within is not None or beyond is not None)

    def times(more):
        k = -(-(seen.n + more) // seen.n)
        return Votes(
            n=k * seen.n, changed=k * seen.changed, worse=k * seen.worse, better=k * seen.better
        )

    if within is not None:
        assert p_loss_within(referee, times(within), eps=0.05) <= 0.05
        assert (within == 0) == (p_loss_within(referee, seen, eps=0.05) <= 0.05)
    if beyond is not None:
        assert p_loss_beyond(referee, times(beyond), eps=0.05) <= 0.05


def test_a_gain_is_shown_by_more_tasks_only_where_it_beats_the_tilt():
    referee = trusted()

    assert more_to_show_gain(referee, votes(100, 0, 12), alpha=0.05) == 0
    assert more_to_show_gain(referee, votes(100, 3, 5), alpha=0.05) is not None
    assert more_to_show_gain(referee, votes(100, 5, 5), alpha=0.05) is None
    more = more_to_show_gain(referee, votes(100, 2, 4), alpha=0.05)
    assert more
    k = -(-(100 + more) // 100)
    assert p_better(referee, votes(100 * k, 2 * k, 4 * k)) <= 0.05
