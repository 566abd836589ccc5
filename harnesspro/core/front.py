"""The joint law of score, cost and answers kept, and the front it makes.

Score is in the referee's units and scored against the initial harness; better is higher. Cost is
attributed dollars a task; better is lower.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from harnesspro.core.records import Estimate
from harnesspro.core.stats import (
    N_BOOT,
    REACH,
    Floats,
    boot_counts,
    bounded_estimate,
    exact_share,
    min_detectable_gain,
    upper_bound,
)
from harnesspro.core.table import Row, Rows, Table

Bools = NDArray[np.bool_]

ALPHA = 0.05
SURE = 0.9
"""The probability at which a point is said to stand on the front."""
COST_EPSILON = 0.05
"""Costs within five percent are the same cost."""


class Place(NamedTuple):
    """A point on the map."""

    score: float
    cost_usd: float


@dataclass(frozen=True, slots=True)
class Counts:
    """What was counted for one candidate against the initial harness, over shared tasks."""

    n: int
    changed: int
    could_lose: int
    """Changed tasks on which the initial harness had answered."""
    could_gain: int
    """Changed tasks on which the candidate answered."""
    dearest_usd: float = 0.0
    """Of the candidate, over these tasks."""
    slowest_s: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class JointLaw:
    """One bootstrap over tasks, the same worlds for all candidates.

    Arrays are worlds x candidates, candidates in the order of `ids` (the initial harness first);
    world 0 is the sample itself.
    """

    ids: tuple[str, ...]
    baseline_id: str
    score: Floats
    cost: Floats
    latency: Floats
    kept: Floats
    """Share of tasks whose answer is the initial harness's."""
    counts: tuple[Counts, ...]
    n_compared: int
    """How many candidates the observed numbers are the best of."""
    trusted: bool
    """Whether the referee's word on changed answers may be believed."""

    def at(self, candidate_id: str) -> int:
        """The column of a candidate."""
        return self.ids.index(candidate_id)

    @property
    def alpha(self) -> float:
        """Two-sided error of each interval, shared among all that were compared."""
        return ALPHA / max(1, self.n_compared)

    def place(self, candidate_id: str) -> Place:
        """Where the sample itself puts a candidate."""
        column = self.at(candidate_id)
        return Place(score=float(self.score[0, column]), cost_usd=float(self.cost[0, column]))


def law(
    table: Table,
    baseline_id: str,
    *,
    seed: int,
    n_boot: int = N_BOOT,
    trusted: bool = False,
    n_compared: int | None = None,
) -> JointLaw:
    """The joint law of all candidates that share a task with the initial harness.

    Paired score: same cluster d = 0, else d = r - r0; score(v) = score(v0) + mean d. Where a
    candidate lacks tasks, its means are over the tasks it shares with the initial harness, cost and
    latency as ratios there times the initial harness's mean. `n_compared` defaults to all.

    Raises:
        ValueError: the initial harness has no row.
    """
    base = table.get(baseline_id, {})
    if not base:
        raise ValueError(f"no row of the initial harness {baseline_id}")
    others = sorted(key for key in table if key != baseline_id and table[key].keys() & base.keys())
    ids, tasks = (baseline_id, *others), tuple(sorted(base))
    drawn = boot_counts(len(tasks), seed=seed, n_boot=n_boot)
    worlds = np.vstack([np.ones((1, len(tasks))), drawn])
    columns = [_column(table[key], base, tasks=tasks, worlds=worlds) for key in ids]
    return JointLaw(
        ids=ids,
        baseline_id=baseline_id,
        score=np.column_stack([column.score for column in columns]),
        cost=np.column_stack([column.cost for column in columns]),
        latency=np.column_stack([column.latency for column in columns]),
        kept=np.column_stack([column.kept for column in columns]),
        counts=tuple(count(table[key], base) for key in ids),
        n_compared=len(others) if n_compared is None else n_compared,
        trusted=trusted,
    )


class _Column(NamedTuple):
    score: Floats
    cost: Floats
    latency: Floats
    kept: Floats


def _column(rows: Rows, base: Rows, *, tasks: Sequence[str], worlds: Floats) -> _Column:
    """One candidate in every world."""
    measured = np.array([float(task in rows) for task in tasks])
    pairs = [(rows.get(task, base[task]), base[task]) for task in tasks]
    difference = np.array([gain(row, row0) for row, row0 in pairs])
    kept = np.array([float(row.cluster == row0.cluster) for row, row0 in pairs])
    anchor = _mean(worlds, np.array([row0.merit for _, row0 in pairs]), np.ones(len(tasks)))
    return _Column(
        score=anchor + _mean(worlds, difference, measured),
        cost=_level(worlds, [(a.cost_usd, b.cost_usd) for a, b in pairs], measured),
        latency=_level(worlds, [(a.latency_s, b.latency_s) for a, b in pairs], measured),
        kept=_mean(worlds, kept, measured),
    )


def gain(row: Row, base: Row) -> float:
    """What changing from the initial harness's answer to this one is worth, in [-1, 1]."""
    return 0.0 if row.cluster == base.cluster else row.merit - base.merit


def _mean(worlds: Floats, values: Floats, measured: Floats) -> Floats:
    """Mean over the measured tasks of each world; the sample's where a world drew none of them."""
    weight = worlds @ measured
    total = worlds @ (values * measured)
    fallback = np.full(len(total), total[0] / weight[0])
    mean: Floats = np.divide(total, weight, out=fallback, where=weight > 0)
    return mean


def _level(worlds: Floats, pairs: Sequence[tuple[float, float]], measured: Floats) -> Floats:
    """Mean level of the first of each pair, by its ratio to the second on the measured tasks."""
    own, base = np.array(pairs, dtype=np.float64).T
    mean_base = _mean(worlds, base, np.ones(len(base)))
    own_there, base_there = _mean(worlds, own, measured), _mean(worlds, base, measured)
    if measured.all() or not base_there.all():
        return own_there
    level: Floats = mean_base * own_there / base_there
    return level


def count(rows: Rows, base: Rows) -> Counts:
    """Changed answers of a candidate, and which way each could have gone."""
    pairs = [(rows[task], base[task]) for task in rows.keys() & base.keys()]
    differing = [(row, row0) for row, row0 in pairs if row.cluster != row0.cluster]
    return Counts(
        n=len(pairs),
        changed=len(differing),
        could_lose=sum(row0.answered for _, row0 in differing),
        could_gain=sum(row.answered for row, _ in differing),
        dearest_usd=max((row.cost_usd for row, _ in pairs), default=0.0),
        slowest_s=max((row.latency_s for row, _ in pairs), default=0.0),
    )


# --- intervals ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Estimates:
    """What the map says of one candidate; every interval is for all compared together."""

    score: Estimate
    cost_usd_per_task: Estimate
    latency_s: Estimate
    answers_changed: Estimate | None
    """Exact; None for the initial harness itself."""


def estimates(joint: JointLaw, candidate_id: str) -> Estimates:
    """Score, cost, latency and share of changed answers with intervals.

    Means cover with few tasks and heavy tails too: one unseen task is granted the worst score, the
    best, or 1.75 times the dearest (slowest) seen.
    Where the referee is not trusted, the score's interval reaches at least as far as the changed
    answers alone allow: what nobody can judge is drawn as unknown, not as equal.
    """
    column = joint.at(candidate_id)
    seen = joint.counts[column]
    of_baseline = candidate_id == joint.baseline_id
    alpha = ALPHA if of_baseline else joint.alpha

    def estimate(draws: Floats, *, most: float, least: float | None = None) -> Estimate:
        mean, drawn = float(draws[0, column]), draws[1:, column]
        return bounded_estimate(mean, drawn, n=seen.n, alpha=alpha, least=least, most=most)

    score = estimate(joint.score, least=0.0, most=1.0)
    if not of_baseline and not joint.trusted:
        score = _unjudged(score, seen, anchor=float(joint.score[0, 0]), alpha=alpha)
    return Estimates(
        score=score,
        cost_usd_per_task=estimate(joint.cost, most=REACH * seen.dearest_usd),
        latency_s=estimate(joint.latency, most=REACH * seen.slowest_s),
        answers_changed=None if of_baseline else exact_share(seen.changed, seen.n, alpha=alpha),
    )


def _unjudged(score: Estimate, seen: Counts, *, anchor: float, alpha: float) -> Estimate:
    loss = upper_bound(seen.could_lose, seen.n, alpha=alpha / 2)
    rise = upper_bound(seen.could_gain, seen.n, alpha=alpha / 2)
    return Estimate(
        mean=score.mean,
        low=min(score.low, max(0.0, anchor - loss)),
        high=max(score.high, min(1.0, anchor + rise)),
        n=score.n,
    )


# --- the front ---------------------------------------------------------------------------------


def score_epsilon(joint: JointLaw) -> float:
    """Scores nearer than half the minimum detectable gain are the same score."""
    return min_detectable_gain(joint.counts[0].n) / 2


def times_beaten(joint: JointLaw, *, epsilon: float = 0.0) -> NDArray[np.int64]:
    """How many others dominate each candidate, world by world (worlds x candidates).

    One dominates another if it is nowhere worse and somewhere materially better: cost by five
    percent, score by more than `epsilon`. While the referee is not trusted, the share of answers
    kept is a third axis: a cheaper variant that changed more answers is not better, it is unknown.
    """
    times = np.zeros(joint.score.shape, dtype=np.int64)
    for i, j in permutations(range(len(joint.ids)), 2):
        times[:, i] += _dominates(joint, j, i, epsilon=epsilon)
    return times


def _dominates(joint: JointLaw, j: int, i: int, *, epsilon: float) -> Bools:
    score, cost, kept = joint.score, joint.cost, joint.kept
    no_worse = (score[:, j] >= score[:, i]) & (cost[:, j] <= cost[:, i])
    better = (score[:, j] > score[:, i] + epsilon) | (cost[:, j] < cost[:, i] * (1 - COST_EPSILON))
    if not joint.trusted:
        no_worse &= kept[:, j] >= kept[:, i]
        better |= kept[:, j] > kept[:, i] + epsilon
    result: Bools = no_worse & better
    return result


def p_on_front(joint: JointLaw) -> dict[str, float]:
    """Probability that no candidate dominates this one."""
    alone = (times_beaten(joint, epsilon=score_epsilon(joint))[1:] == 0).mean(axis=0)
    return {key: float(share) for key, share in zip(joint.ids, alone, strict=True)}


def front_ids(joint: JointLaw, *, complexity: Mapping[str, int] | None = None) -> tuple[str, ...]:
    """The candidates on the front with probability at least 0.9, cheapest first; never empty.

    Of candidates within one box (half the minimum detectable gain, five percent of cost) the
    simplest stays: fewest changes by `complexity`, then the more probable.
    """
    chance = p_on_front(joint)
    most = max(chance.values())
    likely = [key for key in joint.ids if chance[key] >= min(SURE, most)]
    weight = complexity or {}
    order = {key: index for index, key in enumerate(joint.ids)}
    likely.sort(key=lambda key: (weight.get(key, 0), -chance[key], order[key]))
    standing: list[str] = []
    for key in likely:
        if not any(_one_box(joint, key, other) for other in standing):
            standing.append(key)
    return tuple(sorted(standing, key=lambda key: (joint.place(key).cost_usd, order[key])))


def _one_box(joint: JointLaw, a: str, b: str) -> bool:
    i, j, epsilon = joint.at(a), joint.at(b), score_epsilon(joint)
    (score_i, score_j), (cost_i, cost_j) = joint.score[0, [i, j]], joint.cost[0, [i, j]]
    near = abs(score_i - score_j) <= epsilon
    near &= abs(cost_i - cost_j) <= COST_EPSILON * max(cost_i, cost_j)
    return bool(near) and (joint.trusted or abs(joint.kept[0, i] - joint.kept[0, j]) <= epsilon)


def p_cheaper(joint: JointLaw, candidate_id: str, *, by: float = 0.0) -> float:
    """Probability that a candidate costs less than (1 - by) of the initial harness."""
    own, base = joint.cost[1:, joint.at(candidate_id)], joint.cost[1:, 0]
    return float((own < (1 - by) * base).mean())


def knee(joint: JointLaw, front: Sequence[str]) -> str | None:
    """Of the front, the most gained on both axes (cost in logarithms); None where it is empty."""
    if not front:
        return None
    places = [joint.place(key) for key in front]
    scores = _unit([place.score for place in places], least=score_epsilon(joint))
    logs = [math.log(max(place.cost_usd, 1e-12)) for place in places]
    costs = _unit(logs, least=COST_EPSILON)
    values = [score - cost for score, cost in zip(scores, costs, strict=True)]
    return front[max(range(len(front)), key=values.__getitem__)]


def best(joint: JointLaw, front: Sequence[str]) -> str | None:
    """The highest score of the front, the cheaper of equals; None where it is empty."""
    return max(
        front,
        key=lambda key: (joint.place(key).score, -joint.place(key).cost_usd),
        default=None,
    )


def _unit(values: Sequence[float], *, least: float) -> list[float]:
    """Values on a scale from the lowest, one unit being their span (at least `least`)."""
    low, span = min(values), max(*values, min(values) + least) - min(values)
    return [(value - low) / span for value in values]


def hypervolume(points: Iterable[Place], *, reference: Place) -> float:
    """Area between the points and a reference that is worse on both axes (score x dollars)."""
    inside = sorted(
        (p for p in points if p.score > reference.score and p.cost_usd < reference.cost_usd),
        key=lambda p: (p.cost_usd, -p.score),
    )
    area, best = 0.0, reference.score
    for point in inside:
        if point.score > best:
            area += (point.score - best) * (reference.cost_usd - point.cost_usd)
            best = point.score
    return area
