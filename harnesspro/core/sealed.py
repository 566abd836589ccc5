"""After the one opening: how far the label-free score agreed with the gold on this very material.

Nothing here reaches a search; the verdicts were written before.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from statistics import fmean

from harnesspro.core.calibration import ALPHA, Pair, hit_rate, mark
from harnesspro.core.documents import SealedReport
from harnesspro.core.hashing import seed_from
from harnesspro.core.records import Estimate
from harnesspro.core.stats import lower_bound, upper_bound
from harnesspro.core.table import Row, Table

Grades = Mapping[tuple[str, str], bool]
"""(harness id, task id) -> whether the stored answer is right; tasks without gold are absent."""

LEAST_HARNESSES = 3
"""Under three harnesses an order says nothing."""
_SAME = 1e-9
"""Means nearer than this are equal; they differ by rounding alone."""


def sealed_report(
    table: Table, grades: Grades, baseline_id: str, *, seed: int = 0
) -> SealedReport | None:
    """Score against gold over the initial harness and the picks, on the tasks all were graded on.

    `table` holds the confirm rows under the frozen referee. Pairs of one task are not independent,
    so each task gives at most one, its variant drawn by seed. None where no task was graded for all.
    """
    ids = _graded_ids(table, grades, baseline_id)
    tasks = _graded_tasks(table, grades, ids) if baseline_id in ids else ()
    if not tasks:
        return None
    merits = _merits(table, ids, tasks)
    pairs = _pairs(table, grades, ids=ids, tasks=tasks, seed=seed)
    return SealedReport(
        n_tasks=len(tasks),
        n_harnesses=len(ids),
        rank_correlation=_rank_correlation(table, grades, ids=ids, tasks=tasks),
        discordant_hit_rate=hit_rate(mark(pairs, merits)),
        auc=merit_auc(merits, _right(table, grades, ids=ids, tasks=tasks)),
    )


def _graded_ids(table: Table, grades: Grades, baseline_id: str) -> tuple[str, ...]:
    """The harnesses with an answer and a grade, the initial one first."""
    graded = {harness_id for harness_id, task_id in grades if task_id in table.get(harness_id, {})}
    return tuple(sorted(graded, key=lambda key: (key != baseline_id, key)))


def _graded_tasks(table: Table, grades: Grades, ids: Sequence[str]) -> tuple[str, ...]:
    """The tasks on which each of these harnesses has a row and a grade."""
    return tuple(
        task
        for task in sorted(table[ids[0]])
        if all(task in table[key] and (key, task) in grades for key in ids)
    )


def _merits(table: Table, ids: Sequence[str], tasks: Sequence[str]) -> dict[str, dict[str, float]]:
    return {
        task: {table[key][task].cluster: table[key][task].merit for key in ids} for task in tasks
    }


def _pairs(
    table: Table, grades: Grades, *, ids: Sequence[str], tasks: Sequence[str], seed: int
) -> tuple[Pair, ...]:
    """At most one pair a task: the initial harness against one that differs, exactly one right.

    Both answers were given; that a missing one is wrong needs no referee.
    """
    base, *others = ids
    found = []
    for task in tasks:
        before = table[base][task]
        usable = [
            key
            for key in others
            if _differ(table[key][task], before) and grades[key, task] != grades[base, task]
        ]
        if usable:
            drawn = usable[seed_from(seed, task) % len(usable)]
            found.append(
                Pair(
                    probe_id=task,
                    cluster=table[drawn][task].cluster,
                    base_cluster=before.cluster,
                    variant_is_right=grades[drawn, task],
                )
            )
    return tuple(found)


def _differ(a: Row, b: Row) -> bool:
    return a.answered and b.answered and a.cluster != b.cluster


# --- rank --------------------------------------------------------------------------------------


def _rank_correlation(
    table: Table, grades: Grades, *, ids: Sequence[str], tasks: Sequence[str]
) -> float | None:
    if len(ids) < LEAST_HARNESSES:
        return None
    scores = [fmean(table[key][task].merit for task in tasks) for key in ids]
    return kendall_tau(scores, [fmean(grades[key, task] for task in tasks) for key in ids])


def kendall_tau(a: Sequence[float], b: Sequence[float]) -> float | None:
    """Kendall's tau-b of two equally long lists, in [-1, 1]; None where either has one value only.

    (C - D) / sqrt((n0 - n1)(n0 - n2)), n1 and n2 the pairs tied in each (Kendall 1945).
    """
    signs = [(_sign(a[i] - a[j]), _sign(b[i] - b[j])) for i, j in combinations(range(len(a)), 2)]
    untied = sum(x != 0 for x, _ in signs) * sum(y != 0 for _, y in signs)
    return sum(x * y for x, y in signs) / untied**0.5 if untied else None


def _sign(difference: float) -> int:
    return 0 if abs(difference) <= _SAME else (1 if difference > 0 else -1)


# --- within a task -----------------------------------------------------------------------------


def _right(
    table: Table, grades: Grades, *, ids: Sequence[str], tasks: Sequence[str]
) -> dict[str, dict[str, bool]]:
    """Task -> cluster -> whether it is right, of answers that were given.

    A missing answer is left out, since it takes no judge to tell that it is wrong; and so is a
    cluster whose members were graded both ways.
    """
    seen: dict[str, dict[str, set[bool]]] = {}
    for task in tasks:
        rows = [(key, table[key][task]) for key in ids]
        for key, row in rows:
            if row.answered:
                seen.setdefault(task, {}).setdefault(row.cluster, set()).add(grades[key, task])
    return {
        task: {cluster: True in held for cluster, held in of.items() if len(held) == 1}
        for task, of in seen.items()
    }


def merit_auc(
    merits: Mapping[str, Mapping[str, float]], right: Mapping[str, Mapping[str, bool]]
) -> Estimate | None:
    """Chance that merit puts a right answer of a task above a wrong one, a tie being half.

    The mean over the tasks that hold both, `n` of them; None where there is none. Between one-sided
    95 % bounds, exact for values that are 0 or 1 and wider than needed for those between.
    """
    values = [
        fmean((1 + _sign(merits[task][good] - merits[task][bad])) / 2 for good, bad in contrasts)
        for task, of in right.items()
        if (contrasts := _contrasts(of))
    ]
    if not values:
        return None
    n, total = len(values), sum(values)
    return Estimate(
        mean=total / n,
        low=lower_bound(math.floor(total + _SAME), n, alpha=ALPHA),
        high=upper_bound(math.ceil(total - _SAME), n, alpha=ALPHA),
        n=n,
    )


def _contrasts(right: Mapping[str, bool]) -> list[tuple[str, str]]:
    good = [cluster for cluster, held in right.items() if held]
    return [(one, other) for one in good for other, held in right.items() if not held]
