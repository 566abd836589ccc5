"""The cheap, loose choice inside a round: which candidates are worth all search tasks.

Pure: the next batch or the result follows from the plan and the table, so a resumed run goes on
where it was. A wrong drop only loses an opportunity; nothing is claimed from here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from harnesspro.core.front import COST_EPSILON, JointLaw, law, times_beaten
from harnesspro.core.hashing import seed_from
from harnesspro.core.table import Table, restrict

DROP_BELOW = 0.1
"""A candidate is dropped when its chance to matter falls under this."""
PROMOTE_FROM = 0.5
N_WORLDS = 1000


@dataclass(frozen=True, slots=True)
class RacePlan:
    """One race: who runs, on which tasks in which order, in how large steps."""

    baseline_id: str
    candidate_ids: tuple[str, ...]
    """Without the initial harness."""
    task_ids: tuple[str, ...]
    first_block: int
    reduction: int = 3
    seed: int = 0
    trusted: bool = False
    """Whether the round's referee may be believed on changed answers."""
    keeping: frozenset[str] = frozenset()
    """Candidates whose changes keep every answer by construction: never dropped, for where no judge
    is trusted they are what can be accepted, and replayed answers make them nearly free."""
    max_loss: float = 0.25
    """A loss of score (a fraction) beyond which no saving is worth more measuring."""

    def __post_init__(self) -> None:
        """A race has tasks, steps that grow, and a baseline apart from its candidates."""
        if not self.task_ids or self.first_block < 2 or self.reduction < 2:
            raise ValueError("a race needs tasks, a first block of 2 and a reduction of 2")
        if self.baseline_id in self.candidate_ids:
            raise ValueError("the initial harness is always in the race, not a candidate")

    @property
    def rungs(self) -> tuple[int, ...]:
        """How many tasks each step has covered: first block, times the reduction, ..., all."""
        sizes, size = [], self.first_block
        while size < len(self.task_ids):
            sizes.append(size)
            size *= self.reduction
        return (*sizes, len(self.task_ids))


@dataclass(frozen=True, slots=True)
class RaceBatch:
    """Run these candidates on these tasks next; what is recorded already costs nothing."""

    task_ids: tuple[str, ...]
    candidate_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RaceResult:
    """Who goes on. `open` is measured fully and undecided; `dropped` maps to the reason."""

    promoted: tuple[str, ...]
    open: tuple[str, ...]
    dropped: dict[str, str]


def next_step(
    plan: RacePlan, table: Table, *, lost: frozenset[tuple[str, str]] = frozenset()
) -> RaceBatch | RaceResult:
    """The next batch, or the result once every survivor stands on every task.

    `lost` holds (candidate_id, task_id) pairs that were tried and stayed void; they are not asked
    for again and are left out pairwise.
    """
    alive, dropped, done = plan.candidate_ids, dict[str, str](), 0
    for rung in plan.rungs:
        ids = (plan.baseline_id, *alive)
        missing = _missing(plan.task_ids[done:rung], ids, table, lost=lost)
        if missing:
            return RaceBatch(task_ids=missing, candidate_ids=ids)
        verdicts = _losers(plan, table, alive=alive, n_tasks=rung)
        dropped.update(verdicts)
        alive = tuple(key for key in alive if key not in verdicts)
        done = rung
    return _result(plan, table, alive=alive, dropped=dropped)


def _missing(
    task_ids: Sequence[str],
    ids: Sequence[str],
    table: Table,
    *,
    lost: frozenset[tuple[str, str]],
) -> tuple[str, ...]:
    """Tasks on which someone has still to run: a block is a task with all its variants."""
    return tuple(
        task
        for task in task_ids
        if any(task not in table.get(key, {}) and (key, task) not in lost for key in ids)
    )


def _joint(plan: RacePlan, table: Table, *, alive: Sequence[str], n_tasks: int) -> JointLaw | None:
    """None where there is nobody to compare or nothing to compare with."""
    part = restrict(
        table, candidate_ids=(plan.baseline_id, *alive), task_ids=plan.task_ids[:n_tasks]
    )
    if not alive or not part.get(plan.baseline_id):
        return None
    seed = seed_from("race", plan.seed, n_tasks)
    return law(part, plan.baseline_id, seed=seed, n_boot=N_WORLDS, trusted=plan.trusted)


def _losers(plan: RacePlan, table: Table, *, alive: Sequence[str], n_tasks: int) -> dict[str, str]:
    joint = _joint(plan, table, alive=alive, n_tasks=n_tasks)
    if joint is None:
        return {}
    chance, loss = matters(joint), _p_loss(joint, plan.max_loss)
    safe = plan.keeping | champions(table, joint.ids, plan.task_ids[:n_tasks])
    found: dict[str, str] = {}
    for key in alive:
        if key not in joint.ids:
            found[key] = "no task could be measured on it and on the initial harness"
        elif loss[joint.at(key)] >= 1 - DROP_BELOW:
            found[key] = f"loses more than {100 * plan.max_loss:.0f} points of score"
        elif chance[joint.at(key)] < DROP_BELOW and key not in safe:
            found[key] = (
                f"others are better on every count (chance to matter "
                f"{chance[joint.at(key)]:.2f} after {n_tasks} tasks)"
            )
    return found


def matters(joint: JointLaw) -> list[float]:
    """Each candidate's probability of being undominated or in the top third.

    The top third is by how many others dominate one, ties included; in it is whoever none does.
    """
    times = times_beaten(joint)[1:]
    n_top = math.ceil(len(joint.ids) / 3)
    threshold = np.sort(times, axis=1)[:, n_top - 1 : n_top]
    return [float(share) for share in (times <= threshold).mean(axis=0)]


def champions(table: Table, ids: Sequence[str], task_ids: Sequence[str]) -> frozenset[str]:
    """Those that are alone at the top of some task: in score, or cheaper by five percent than all.

    What wins one kind of task can be routed to it, though it loses on the whole. Measured with 8
    candidates on a first block of 12: this keeps one more alive in every third race.
    """
    found: set[str] = set()
    for task in task_ids:
        rows = [(key, table[key][task]) for key in ids if task in table.get(key, {})]
        if len(rows) < 2:
            continue
        rows.sort(key=lambda one: one[1].merit)
        if rows[-1][1].merit > rows[-2][1].merit:
            found.add(rows[-1][0])
        rows.sort(key=lambda one: one[1].cost_usd)
        if rows[0][1].cost_usd < (1 - COST_EPSILON) * rows[1][1].cost_usd:
            found.add(rows[0][0])
    return frozenset(found)


def _p_loss(joint: JointLaw, most: float) -> list[float]:
    lost = joint.score[1:] < joint.score[1:, :1] - most
    return [float(share) for share in lost.mean(axis=0)]


def _result(
    plan: RacePlan, table: Table, *, alive: Sequence[str], dropped: dict[str, str]
) -> RaceResult:
    joint = _joint(plan, table, alive=alive, n_tasks=len(plan.task_ids))
    if joint is None:
        return RaceResult(promoted=(), open=tuple(alive), dropped=dropped)
    chance = dict(zip(joint.ids, matters(joint), strict=True))
    return RaceResult(
        promoted=tuple(key for key in alive if chance[key] >= PROMOTE_FROM),
        open=tuple(key for key in alive if chance[key] < PROMOTE_FROM),
        dropped=dropped,
    )


def choose_parents(
    ends: Sequence[str], *, alive: Sequence[str], times_tried: Mapping[str, int], round_index: int
) -> tuple[str, ...]:
    """Whose patches come next: one end of the live front by turns, and the least tried of the living.

    `ends` are the cheapest, the knee and the best (equal ones count once), `times_tried` how many
    patches of a harness were raced; of equals the first of `alive` goes. One parent where both are
    the same; the one end where nobody else lives.
    """
    turns = tuple(dict.fromkeys(ends))
    end = turns[round_index % len(turns)]
    others = [key for key in alive if key != end]
    least = min(others, key=lambda key: times_tried.get(key, 0), default=end)
    return tuple(dict.fromkeys((end, least)))
