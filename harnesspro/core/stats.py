"""The statistics everything else is made of: exact bounds, power, paired resampling.

Chance comes in as a seed. scipy is imported on first use, so that looking at a run needs none.
Shares are fractions in [0, 1]; `alpha` is the error allowed, one-sided where a bound is asked for
and two-sided where an interval is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from harnesspro.core.documents import Power
from harnesspro.core.records import Estimate

Floats = NDArray[np.float64]

N_BOOT = 2000
REACH = 1.75
"""The tail of a cost or a time that was not seen is granted to reach so many times the most seen.

With less a heavy tail passes for a saving too often at 40 tasks; with more the sure saving of a quarter
is missed at 60.
"""
MOST_TASKS = 20_000
"""Above this, "more tasks" is no advice."""


# --- counts ------------------------------------------------------------------------------------


def upper_bound(k: int, n: int, *, alpha: float = 0.05) -> float:
    """Exact (Clopper-Pearson) upper 1 - alpha bound of a share seen k times in n."""
    from scipy.special import betaincinv

    _counted(k, n)
    return 1.0 if k == n else float(betaincinv(k + 1, n - k, 1 - alpha))


def lower_bound(k: int, n: int, *, alpha: float = 0.05) -> float:
    """Exact (Clopper-Pearson) lower 1 - alpha bound of a share seen k times in n."""
    from scipy.special import betaincinv

    _counted(k, n)
    return 0.0 if k == 0 else float(betaincinv(k, n - k + 1, alpha))


def exact_share(k: int, n: int, *, alpha: float = 0.05) -> Estimate:
    """A share with its exact two-sided 1 - alpha interval; [0, 1] where nothing was seen."""
    low, high = lower_bound(k, n, alpha=alpha / 2), upper_bound(k, n, alpha=alpha / 2)
    return Estimate(mean=k / n if n else 0.0, low=low, high=high, n=n)


def _counted(k: int, n: int) -> None:
    if not 0 <= k <= n:
        raise ValueError(f"{k} of {n} is no count")


def agreement_upper(changed: int, n: int, *, alpha: float = 0.05) -> float:
    """The most accuracy can have moved when `changed` of `n` answers differ (as a fraction).

    |acc(v) - acc(v0)| <= P(answers differ): no judge is needed.
    """
    return upper_bound(changed, n, alpha=alpha)


def agreement_p(changed: int, n: int, *, eps: float) -> float:
    """P-value against "the share of changed answers is above eps"; <= alpha iff the bound <= eps."""
    from scipy.special import bdtr

    _counted(changed, n)
    return float(bdtr(changed, n, eps)) if n else 1.0


def tasks_needed(
    changed_now: int, n_now: int, *, changed_share: float, eps: float, alpha: float = 0.05
) -> int | None:
    """How many more tasks let the agreement bound pass if answers go on changing at this share.

    0 where it passes already; None where no number of tasks would do.
    """
    if changed_share >= eps:
        return None

    def passes(more: int) -> bool:
        changed = changed_now + math.ceil(changed_share * more - 1e-9)
        return agreement_p(changed, n_now + more, eps=eps) <= alpha

    if passes(0):
        return 0
    return next((more for more in range(1, MOST_TASKS) if passes(more)), None)


def first_where(holds: Callable[[int], bool], *, after: int, upto: int) -> int | None:
    """The first integer in (after, upto] for which a rising statement holds; None where none does.

    Rising: once it holds, it goes on holding.
    """
    if upto <= after or not holds(upto):
        return None
    low, high = after, upto
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def min_detectable_gain(
    n: int,
    *,
    repeats: int = 1,
    alpha: float = 0.05,
    power: float = 0.8,
    task_sd: float = 0.15,
    run_variance: float = 0.09,
) -> float:
    """The gain (a fraction) that n paired tasks find with this power, two-sided.

    (z_{1-a/2} + z_{1-b}) * sqrt((sd_delta^2 + (s_a^2 + s_b^2) / k) / n): `task_sd` is the spread of
    the true difference over tasks, `run_variance` that of one run in each arm.
    """
    from scipy.special import ndtri

    z = float(ndtri(1 - alpha / 2) + ndtri(power))
    return z * math.sqrt((task_sd**2 + 2 * run_variance / repeats) / n)


def power_of(*, n_search: int, n_confirm: int, repeats: int = 1) -> Power:
    """What so many tasks can show, for the document."""
    return Power(
        n_search=n_search,
        n_confirm=n_confirm,
        min_detectable_gain=min_detectable_gain(n_confirm, repeats=repeats) if n_confirm else None,
        agreement_bound_at_zero=agreement_upper(0, n_confirm) if n_confirm else None,
    )


# --- means -------------------------------------------------------------------------------------


def boot_counts(n: int, *, seed: int, n_boot: int = N_BOOT) -> Floats:
    """How often each of n tasks is drawn in each bootstrap world: n_boot x n, rows sum to n."""
    rng = np.random.default_rng(seed)
    return rng.multinomial(n, np.full(n, 1 / n), size=n_boot).astype(np.float64)


def widened_tail(tail: float, n: int) -> float:
    """The tail to read off a percentile bootstrap of n so that it holds for small n.

    The expanded percentile interval: ndtr(sqrt(n / (n - 1)) * t_{tail, n - 1}).
    """
    from scipy.special import ndtr, stdtrit

    return float(ndtr(math.sqrt(n / (n - 1)) * stdtrit(n - 1, tail))) if n > 1 else 0.0


def percentile_estimate(mean: float, draws: Floats, *, n: int, alpha: float = 0.05) -> Estimate:
    """A mean over n tasks with an interval from its bootstrap draws.

    The wider of the expanded percentile and Student's t. Where nearly all tasks have one value, or a
    rare one is far off, it covers too seldom: see `bounded_estimate`.
    """
    from scipy.special import stdtrit

    tail = widened_tail(alpha / 2, n)
    low, high = np.quantile(draws, [tail, 1 - tail])
    half = 0.0
    if n > 1:
        half = -float(stdtrit(n - 1, alpha / 2)) * float(draws.std()) * math.sqrt(n / (n - 1))
    return Estimate(
        mean=mean, low=min(float(low), mean - half), high=max(float(high), mean + half), n=n
    )


def bounded_estimate(
    mean: float,
    draws: Floats,
    *,
    n: int,
    alpha: float = 0.05,
    least: float | None = None,
    most: float | None = None,
) -> Estimate:
    """The same where a task's value is at least `least` or at most `most`; None: no bound is known.

    On a bounded side one unseen task is granted the bound, with the weight it has in a Bayesian
    bootstrap (Gaffke 2005): this covers at any n.
    """
    unseen = np.random.default_rng(n).beta(1, n, size=draws.size)
    found = percentile_estimate(mean, draws, n=n, alpha=alpha)
    low, high = found.low, found.high
    if least is not None:
        low = min(mean, float(np.quantile(draws + unseen * (least - draws), alpha / 2)))
    if most is not None:
        high = max(mean, float(np.quantile(draws + unseen * (most - draws), 1 - alpha / 2)))
    return Estimate(mean=mean, low=low, high=high, n=n)


def mean_interval(
    values: Sequence[float] | Floats,
    *,
    seed: int,
    alpha: float = 0.05,
    n_boot: int = N_BOOT,
    least: float | None = None,
    most: float | None = None,
) -> Estimate:
    """The mean of the values, one a task, with a bootstrap interval over tasks.

    `least` and `most` bound what a value can be; with them the interval covers at any number of tasks.

    Raises:
        ValueError: there is no value.
    """
    data = np.asarray(values, dtype=np.float64)
    if not data.size:
        raise ValueError("no values, so no mean")
    draws = boot_counts(data.size, seed=seed, n_boot=n_boot) @ data / data.size
    mean = float(data.mean())
    return bounded_estimate(mean, draws, n=data.size, alpha=alpha, least=least, most=most)
