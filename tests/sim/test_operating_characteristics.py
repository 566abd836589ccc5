"""How often the judge errs and how often it sees: toy worlds with known truth, seeds fixed."""

import math

import numpy as np
import pytest

from harnesspro.core.confirm import Pick, freeze_picks, judge
from harnesspro.core.costs import compare_costs
from harnesspro.core.front import estimates, front_ids, law
from harnesspro.core.race import RacePlan, RaceResult, next_step
from harnesspro.core.records import Calibration, Estimate, Referee
from harnesspro.core.referee import Votes, freeze, p_loss_within
from harnesspro.core.stats import (
    agreement_p,
    exact_share,
    lower_bound,
    mean_interval,
    upper_bound,
)
from harnesspro.core.table import Row

EPS, ALPHA, TOLERANCE = 0.05, 0.05, 0.02
COVERED = 0.95 - 0.02
"""Nominal less the two points allowed."""
NOBODY = freeze([])


# --- the agreement bound -----------------------------------------------------------------------


def accepts(n):
    """Whether so many changed answers of n pass, for 0..n changed."""
    return np.array([agreement_p(changed, n, eps=EPS) <= ALPHA for changed in range(n + 1)])


@pytest.mark.parametrize(
    ("n", "most", "at_0", "at_1", "at_3"),
    [
        (40, None, 0.0, 0.0, 0.0),
        (80, 0, 1.0, 0.45, 0.09),
        (134, 2, 1.0, 0.85, 0.23),
        (300, 8, 1.0, 1.0, 0.45),
        (500, 16, 1.0, 1.0, 0.67),
    ],
)
def test_agreement_accepts_as_often_as_promised(n, most, at_0, at_1, at_3):
    rng, passing = np.random.default_rng(n), accepts(n)
    rates = [passing[rng.binomial(n, share, size=20_000)].mean() for share in (0.0, 0.01, 0.03)]

    assert (passing.nonzero()[0].max() if passing.any() else None) == most
    assert rates == pytest.approx([at_0, at_1, at_3], abs=TOLERANCE)


@pytest.mark.parametrize("n", [60, 134, 300, 500])
def test_agreement_passes_a_change_at_the_margin_in_at_most_alpha(n):
    drawn = np.random.default_rng(1).binomial(n, EPS, size=40_000)

    assert accepts(n)[drawn].mean() <= ALPHA + 0.005


@pytest.mark.parametrize("n", [30, 64, 200])
@pytest.mark.parametrize("share", [0.01, 0.05, 0.3, 0.5])
def test_exact_bounds_cover_at_least_what_they_say(n, share):
    seen = np.bincount(np.random.default_rng(n).binomial(n, share, size=20_000), minlength=n + 1)

    def covered(holds):
        return sum(count for k, count in enumerate(seen) if count and holds(k)) / seen.sum()

    def inside(k):
        found = exact_share(k, n)
        return found.low <= share <= found.high

    assert covered(lambda k: upper_bound(k, n) >= share) >= 0.945
    assert covered(lambda k: lower_bound(k, n) <= share) >= 0.945
    assert covered(inside) >= 0.945


# --- means -------------------------------------------------------------------------------------


def coverage(draw, truth, *, n_runs=600):
    rng = np.random.default_rng(11)
    found = [mean_interval(draw(rng), seed=run, n_boot=500) for run in range(n_runs)]
    return np.mean([one.low <= truth <= one.high for one in found])


@pytest.mark.parametrize("n", [20, 32, 100])
def test_the_interval_of_a_mean_score_covers(n):
    assert coverage(lambda rng: rng.beta(4, 1, size=n), 0.8) >= COVERED
    assert coverage(lambda rng: (rng.random(n) < 0.7).astype(float), 0.7) >= COVERED


def test_the_interval_of_the_geometric_cost_covers_under_heavy_tails():
    assert coverage(lambda rng: 1.5 * rng.standard_normal(40), 0.0) >= COVERED


def p_cheaper(own, base):
    return compare_costs(own, base).p_cheaper()


def lognormal(rng, n, sigma):
    return np.exp(sigma * rng.standard_normal(n) - sigma**2 / 2)


def falsely_cheaper(draw, *, n_runs=1500):
    rng = np.random.default_rng(5)
    return np.mean([p_cheaper(*draw(rng)) <= ALPHA for _ in range(n_runs)])


@pytest.mark.parametrize("n", [40, 64, 134, 300])
def test_a_cost_no_lower_is_called_cheaper_in_at_most_alpha_under_heavy_tails(n):
    assert falsely_cheaper(lambda rng: (lognormal(rng, n, 1.5), lognormal(rng, n, 1.5))) <= ALPHA


@pytest.mark.parametrize("n", [64, 134, 300])
def test_a_low_typical_cost_with_a_dear_tail_rarely_passes_where_trials_are_capped(n):
    """Equal capped means, the pick's median a third of the initial harness's."""
    cap, rng = 10.0, np.random.default_rng(3)
    tail = lognormal(rng, 400_000, 1.5)
    scale = min(
        np.linspace(1.0, 1.4, 81), key=lambda s: abs(np.minimum(s * tail, cap).mean() - 1.0)
    )

    def draw(rng):
        return np.minimum(scale * lognormal(rng, n, 1.5), cap), lognormal(rng, n, 0.2)

    assert falsely_cheaper(draw) <= ALPHA


def test_a_saving_of_two_thirds_is_seen_with_sixty_tasks():
    def draw(rng):
        return 0.33 * lognormal(rng, 60, 0.5), lognormal(rng, 60, 0.5)

    assert falsely_cheaper(draw, n_runs=300) >= 0.99


# --- worlds with truth -------------------------------------------------------------------------


def world(rng, n, **variants):
    """A table in which a variant's answer is right by its accuracy and changes accordingly.

    The initial harness is right on 65 % of the tasks. A variant `(lost, won, cost)` turns that share
    of all tasks from right to wrong and from wrong to right. The checks are blind: every answer has
    the same merit.
    """
    right = rng.random(n) < 0.65
    order = np.arange(n)
    table = {"base": rows(order, right, cost=lognormal(rng, n, 0.4))}
    for key, (lost, won, cost) in variants.items():
        flip = np.where(right, rng.random(n) < lost / 0.65, rng.random(n) < won / 0.35)
        costs = cost * lognormal(rng, n, 0.4)
        table[key] = rows(order, right ^ flip, cost=costs, changed=flip, name=key)
    return table


def rows(order, right, *, cost, changed=None, name="base"):
    return {
        f"t{i:04d}": Row(
            task_id=f"t{i:04d}",
            cluster=name if changed is not None and changed[i] else "base",
            answered=True,
            merit=0.9,
            cost_usd=float(cost[i]),
            latency_s=1.0,
        )
        for i in order
    }


def judged(table, *keys, eps=EPS):
    picks = [Pick(key, "cost", "knee") for key in keys]
    return judge(picks, table, "base", eps=eps, referee=NOBODY, base_disagreement=None)


@pytest.mark.parametrize("n", [64, 134, 300, 500])
def test_a_consistent_cheaper_variant_that_is_20_points_worse_is_never_accepted(n):
    rng = np.random.default_rng(n)
    kinds = {
        verdict.kind for _ in range(60) for verdict in judged(world(rng, n, v=(0.2, 0.0, 0.2)), "v")
    }

    assert kinds == {"inconclusive"}


@pytest.mark.parametrize("n", [134, 300])
def test_the_same_variant_is_accepted_nearly_always_at_an_absurd_margin(n):
    """So the margin alone keeps it out: the tests above can fail."""
    rng = np.random.default_rng(n)
    tables = [world(rng, n, v=(0.2, 0.0, 0.2)) for _ in range(60)]
    accepted = {
        eps: sum(judged(table, "v", eps=eps)[0].kind == "accept" for table in tables)
        for eps in (0.35, EPS)
    }

    assert accepted[0.35] >= 57
    assert accepted[EPS] == 0


@pytest.mark.parametrize("n", [64, 134, 300])
def test_a_variant_worse_by_the_margin_is_accepted_in_at_most_alpha(n):
    rng = np.random.default_rng(n)
    accepted = [
        judged(world(rng, n, v=(EPS, 0.0, 0.3)), "v")[0].kind == "accept" for _ in range(400)
    ]

    assert np.mean(accepted) <= ALPHA + TOLERANCE


def test_a_saving_that_changes_nothing_is_accepted():
    rng = np.random.default_rng(2)
    accepted = [judged(world(rng, 80, v=(0.0, 0.0, 0.4)), "v")[0].kind for _ in range(60)]

    assert set(accepted) == {"accept"}


def test_whole_runs_hardly_ever_accept_what_is_worse_by_more_than_three_points():
    """Eight candidates, three picks, 66 search and 134 confirm tasks."""
    variants = {
        "same": (0.0, 0.0, 0.7),
        "near": (0.005, 0.005, 0.5),
        "trade": (0.05, 0.05, 0.4),
        "gain": (0.02, 0.06, 0.6),
        "slip": (0.04, 0.0, 0.5),
        "loss": (0.08, 0.0, 0.4),
        "trap": (0.2, 0.03, 0.2),
        "dear": (0.02, 0.02, 1.4),
    }
    worse = {key for key, (lost, won, _) in variants.items() if lost - won > 0.03}
    rng, accepted = np.random.default_rng(8), []
    for run in range(60):
        joint = law(world(rng, 66, **variants), "base", seed=run, n_boot=200)
        picks = freeze_picks(
            joint, candidate_ids=tuple(variants), front=front_ids(joint), max_picks=3
        )
        table = world(rng, 134, **variants)
        found = judge(picks, table, "base", eps=EPS, referee=NOBODY, base_disagreement=None)
        accepted += [verdict.candidate_id for verdict in found if verdict.kind == "accept"]

    assert len(accepted) >= 45
    assert sum(key in worse for key in accepted) <= 1


def test_the_trap_is_not_drawn_as_equal_while_the_checks_are_blind():
    """Twenty points worse: the truth lies inside the score's interval though no check sees it."""
    rng = np.random.default_rng(4)
    lows = []
    for run in range(40):
        table = world(rng, 32, trap=(0.2, 0.0, 0.2))
        lows.append(estimates(law(table, "base", seed=run, n_boot=200), "trap").score.low)

    assert np.mean(np.array(lows) <= 0.9 - 0.2) >= 0.95


# --- the race ----------------------------------------------------------------------------------


def raced(table, candidates, *, seed):
    tasks = tuple(sorted(table["base"]))
    plan = RacePlan("base", candidates, tasks, first_block=12, seed=seed)
    result = next_step(plan, table)
    assert isinstance(result, RaceResult)
    return result


def test_the_race_rarely_drops_the_best_candidate():
    variants = {
        "best": (0.0, 0.0, 0.4),
        "a": (0.03, 0.03, 0.5),
        "b": (0.1, 0.0, 0.45),
        "c": (0.02, 0.05, 0.9),
        "d": (0.1, 0.02, 1.3),
    }
    rng = np.random.default_rng(6)
    results = [raced(world(rng, 32, **variants), tuple(variants), seed=run) for run in range(60)]

    assert np.mean(["best" in one.dropped for one in results]) <= 0.05
    assert np.mean(["d" in one.dropped for one in results]) >= 0.5


# --- the referee route -------------------------------------------------------------------------


@pytest.mark.parametrize("n", [134, 300, 500])
def test_a_trusted_referee_lets_a_loss_at_the_margin_pass_in_at_most_alpha(n):
    """Hit rate 0.9 on probes and 0.8 on tasks, no tilt, true loss five points net."""
    rng = np.random.default_rng(n)
    referee = Referee(
        checks=(),
        weights={},
        calibration=Calibration(
            n_probes=400,
            n_discordant=160,
            hit_rate=Estimate(mean=0.9, low=0.84, high=0.95, n=150),
            tilt=Estimate(mean=0.0, low=-0.05, high=0.05, n=150),
            n_ties=0,
        ),
        trusted=True,
    )
    accepted = []
    for _ in range(1500):
        lost, won = rng.binomial(n, 0.08), rng.binomial(n, 0.03)
        seen_lost, seen_won = rng.binomial(lost, 0.8), rng.binomial(won, 0.8)
        worse = seen_lost + (won - seen_won)
        votes = Votes(n=n, changed=lost + won, worse=worse, better=lost + won - worse)
        accepted.append(p_loss_within(referee, votes, eps=EPS) <= ALPHA)

    assert np.mean(accepted) <= ALPHA


def test_most_gain_is_seen_by_the_formula_that_plans_it():
    """The planned power holds: 80 % at the minimum detectable gain."""
    from harnesspro.core.stats import min_detectable_gain

    n, rng = 100, np.random.default_rng(9)
    gain = min_detectable_gain(n)
    seen = []
    for _ in range(800):
        delta = rng.normal(gain, math.sqrt(0.15**2 + 2 * 0.09), size=n)
        low = delta.mean() - 1.984 * delta.std(ddof=1) / math.sqrt(n)
        seen.append(low > 0)

    assert np.mean(seen) == pytest.approx(0.8, abs=0.04)
