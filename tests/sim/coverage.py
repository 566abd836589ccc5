"""How often each interval covers what it is about, and how often trust is given: one table each."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.random import Generator

from harnesspro.core.costs import compare_costs
from harnesspro.core.front import estimates, law
from harnesspro.core.records import Estimate
from harnesspro.core.stats import (
    agreement_upper,
    exact_share,
    mean_interval,
    min_detectable_gain,
)
from tests.sim.calibrating import trusted_in_runs
from tests.sim.sheets import Sheet, row, runs_words
from tests.sim.worlds import (
    ALPHA,
    Change,
    Eye,
    Variant,
    answer_table,
    draw_referees,
    lognormal,
)


def coverage_sheet(n_runs: int) -> Sheet:
    """Every interval against its nominal level."""
    rows = []
    sizes = (30, 100, 300)
    for true in (0.01, 0.05, 0.3):
        rows.append(
            row(f"exact share, true {true:g} (nominal .95)", [_shares(n, true) for n in sizes])
        )
        rows.append(
            row(f"agreement bound, true {true:g} (nominal .95)", [_bounds(n, true) for n in sizes])
        )
    rows.append(
        row(
            "mean of a skewed score (nominal .95)",
            [covers(lambda rng, n: rng.beta(4, 1, size=n), 0.8, n, n_runs=n_runs) for n in sizes],
        )
    )
    rows.append(
        row(
            "mean of a share of .7 (nominal .95)",
            [
                covers(lambda rng, n: (rng.random(n) < 0.7) * 1.0, 0.7, n, n_runs=n_runs)
                for n in sizes
            ],
        )
    )
    rows.append(
        row(
            "difference of scores, bootstrap of the joint law (nominal .95)",
            [score_difference_covers(n, n_runs=n_runs) for n in sizes],
        )
    )
    rows.append(
        row(
            "ratio of mean costs, upper bound (nominal .95), sigma .5",
            [ratio_covers(n, 0.5, n_runs=n_runs) for n in sizes],
        )
    )
    rows.append(
        row(
            "ratio of mean costs, upper bound (nominal .95), sigma 1.5",
            [ratio_covers(n, 1.5, n_runs=n_runs) for n in sizes],
        )
    )
    return Sheet(
        "Coverage of every interval",
        f"Shares exactly, by summing the binomial; the rest simulated. {runs_words(n_runs)}",
        ("", *(f"n {n}" for n in sizes)),
        tuple(rows),
    )


def _shares(n: int, true: float) -> float:
    def inside(k: int) -> bool:
        found = exact_share(k, n)
        return found.low <= true <= found.high

    return _binomial(n, true, inside)


def _bounds(n: int, true: float) -> float:
    return _binomial(n, true, lambda k: agreement_upper(k, n) >= true)


def _binomial(n: int, true: float, holds: Callable[[int], bool]) -> float:
    from scipy.stats import binom

    return float(sum(binom.pmf(k, n, true) for k in range(n + 1) if holds(k)))


def covers(
    draw: Callable[[Generator, int], np.ndarray], truth: float, n: int, *, n_runs: int
) -> float:
    """How often the interval of a mean holds the truth."""
    rng = np.random.default_rng([11, n])
    found = [mean_interval(draw(rng, n), seed=run, n_boot=500) for run in range(n_runs)]
    return float(np.mean([one.low <= truth <= one.high for one in found]))


def score_difference_covers(n: int, *, n_runs: int) -> float:
    """The score of a variant that loses 5 % and gains 12 %, merits .8 against .2 where they differ."""
    rng, hits, truth = np.random.default_rng([12, n]), 0, 0.0
    eye, change = Eye(0.9), Change(0.05, 0.12)
    truth = 0.3 * (change.won - change.lost) * (2 * eye.hit - 1)
    for run in range(n_runs):
        joint = law(
            answer_table(rng, n, {"v": Variant(change, 0.5)}, eye=eye),
            "base",
            seed=run,
            n_boot=500,
            trusted=True,
        )
        found = estimates(joint, "v").score
        hits += found.low <= 0.5 + truth <= found.high
    return hits / n_runs


def ratio_covers(n: int, sigma: float, *, n_runs: int) -> float:
    """The upper bound of the ratio of mean costs; true ratio one half."""
    rng = np.random.default_rng([13, n])
    found: list[Estimate] = []
    for _ in range(n_runs):
        own, base = 0.5 * lognormal(rng, n, sigma), lognormal(rng, n, sigma)
        found.append(compare_costs(own, base).ratio(ALPHA))
    return float(np.mean([one.high >= 0.5 for one in found]))


# --- power as planned, trust -------------------------------------------------------------------


def planned_power(n: int, *, n_runs: int) -> float:
    """How often the product's interval lies above 0 where the gain is the minimum detectable one."""
    rng, gain = np.random.default_rng([14, n]), min_detectable_gain(n)
    seen = [
        mean_interval(rng.normal(gain, np.sqrt(0.15**2 + 2 * 0.09), size=n), seed=run, n_boot=500)
        for run in range(n_runs)
    ]
    return float(np.mean([one.low > 0 for one in seen]))


def trusted_share(eye: Eye, *, n_runs: int, pairs: int = 100) -> float:
    """How often a referee is trusted after so many pairs."""
    drawn = draw_referees(np.random.default_rng(15), eye, n_runs=n_runs, pairs=pairs)
    return float(np.mean([one.trusted for one in drawn]))


def tilt_covers(eye: Eye, *, n_runs: int) -> float:
    """How often the upper bound of the tilt reaches what the formula subtracts for each change."""
    drawn = draw_referees(np.random.default_rng(16), eye, n_runs=n_runs)
    return float(np.mean([(one.tilt_upper or 0.0) >= eye.tilt for one in drawn]))


def trust_sheet(n_runs: int) -> Sheet:
    """Planned power, trust by hit rate, the bound of the tilt."""
    rows = [
        row(
            f"power at the minimum detectable gain (planned .80), n {n}",
            [planned_power(n, n_runs=n_runs)],
        )
        for n in (30, 100, 300)
    ]
    for hit in (0.70, 0.75, 0.80, 0.85, 0.90, 0.95):
        found = trusted_share(Eye(hit), n_runs=10 * n_runs)
        rows.append(row(f"trusted at a hit rate of {hit:.2f}, 100 pairs", [found], 4))
    for hit in (0.70, 0.90):
        found = trusted_in_runs(Eye(hit), n_runs=n_runs)
        rows.append(
            row(f"trusted at {hit:.2f}, probes in batches as a run measures them", [found], 4)
        )
    for lean in (0.0, 0.1, 0.2, 0.3):
        found = tilt_covers(Eye(0.85, lean), n_runs=10 * n_runs)
        rows.append(row(f"upper tilt >= the true {lean:g} (nominal .95), hit rate .85", [found]))
    return Sheet(
        "Power as planned, trust, tilt",
        f"{runs_words(n_runs)} Ten times as many for trust and tilt. The true tilt is the chance to err on a loss "
        "less the chance to err on a gain: what is taken from the surplus of verdicts for each changed answer.",
        ("", "share"),
        tuple(rows),
    )
