"""Ranking without gold where the checks are wrong in known ways, against four other scorers."""

import numpy as np
import pytest

from tests.sim.ranking import REGIMES, SHOWN, draw_world, mean_tau, ours, replicates, tau
from tests.sim.rivals import RIVALS, codet, dawid_skene, majority, pass_rate

N_RUNS = 6


@pytest.fixture(scope="module")
def taus():
    """Regime -> scorer -> mean tau, everyone on the worlds where an order is claimed."""
    found = {}
    for regime in REGIMES:
        placed = replicates(regime, n_runs=N_RUNS)
        kept = [one.believed for one in placed[SHOWN]]
        found[regime.name] = {name: mean_tau(of, kept) for name, of in placed.items()}
    return found


def test_every_regime_has_worlds_in_which_an_order_is_claimed_and_one_is_flagged(taus):
    assert all(of[SHOWN] is not None for of in taus.values())
    flagged = [one.believed for one in replicates(REGIMES[1], n_runs=N_RUNS)[SHOWN]].count(False)
    assert flagged >= 1


def test_where_an_order_is_claimed_its_worst_case_is_far_above_that_of_every_other_scorer(taus):
    def worst(name):
        return min(of[name] for of in taus.values())

    assert worst(SHOWN) >= 0.7
    assert all(worst(SHOWN) >= worst(rival) + 0.1 for rival in RIVALS)


@pytest.mark.parametrize("regime", REGIMES, ids=lambda one: one.name)
def test_where_an_order_is_claimed_it_is_near_the_best(taus, regime):
    of = taus[regime.name]
    best = max(of[rival] for rival in RIVALS)

    assert of[SHOWN] >= best - 0.1


def test_clones_do_not_move_it(taus):
    of = taus["7 of 12 copy a weak one"]

    assert of["majority"] < 0.2
    assert of[SHOWN] > 0.7


def test_a_scorer_that_prefers_what_is_right_ranks_truly():
    answers = np.array([[0, 0, 0, 0], [0, 0, 0, 1], [0, 1, 1, 1]])
    passes = np.zeros((4, 3, 2))
    passes[:, :, 0] = 1.0

    for scorer in (pass_rate, codet, dawid_skene):
        scores = scorer(answers, passes)
        assert list(np.argsort(-scores)) == [0, 1, 2]
    assert list(majority(answers, passes)) == pytest.approx([0.75, 1.0, 0.5])


def test_the_same_world_gives_the_same_scores():
    first, again = (
        ours(draw_world(np.random.default_rng(3), REGIMES[0]), (), seed=1).scores for _ in range(2)
    )

    assert tau(first, again) == pytest.approx(1.0)
