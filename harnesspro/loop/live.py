"""Who is alive: the observed front over everything measured on all search tasks, and its history."""

from __future__ import annotations

from collections import Counter

from harnesspro.core.front import (
    COST_EPSILON,
    SURE,
    JointLaw,
    best,
    front_ids,
    knee,
    law,
    p_cheaper,
)
from harnesspro.core.hashing import seed_from
from harnesspro.core.race import choose_parents
from harnesspro.core.report import lineage
from harnesspro.core.table import Table, restrict
from harnesspro.loop import scan
from harnesspro.loop.bench import Bench
from harnesspro.loop.tempting import quarantined
from harnesspro.operators import KEEPING_KNOBS
from harnesspro.proposers.question import Tried


def survivors(bench: Bench) -> tuple[str, ...]:
    """The initial harness and every candidate that no race dropped or quarantine holds, in the order
    made.
    """
    raced = {
        candidate_id
        for _, value in bench.ports.ledger.all("race")
        for candidate_id in (*value["promoted"], *value["open"])
    }
    alive = raced - dropped_ids(bench) - quarantined(bench) | {bench.base.harness_id}
    return tuple(candidate_id for candidate_id in scan.candidates(bench) if candidate_id in alive)


def dropped_ids(bench: Bench) -> frozenset[str]:
    """Every candidate that a race dropped."""
    races = bench.ports.ledger.all("race")
    return frozenset(candidate_id for _, value in races for candidate_id in value["dropped"])


def search_law(bench: Bench, table: Table) -> JointLaw | None:
    """The joint law of the survivors on the search tasks; None before the first trial.

    Every candidate that was ever raced counts as compared.
    """
    task_ids = [task.task_id for task in bench.search]
    part = restrict(table, candidate_ids=survivors(bench), task_ids=task_ids)
    if not part.get(bench.base.harness_id):
        return None
    n_raced = len([key for key in table if key != bench.base.harness_id])
    return law(
        part,
        bench.base.harness_id,
        seed=seed_from(bench.config.seed, "front"),
        trusted=bench.referee.trusted,
        n_compared=max(1, n_raced),
    )


def complexity(bench: Bench) -> dict[str, int]:
    """Candidate -> how many edits and knobs lie between it and the initial harness."""
    found: dict[str, int] = {}
    for candidate_id, candidate in scan.candidates(bench).items():
        own = 0
        if candidate.patch is not None:
            own = len(candidate.patch.edits) + len(candidate.patch.knobs)
        found[candidate_id] = own + found.get(candidate.parent_id or "", 0)
    return found


def live_ids(bench: Bench) -> tuple[str, ...]:
    """The observed front, cheapest first."""
    joint = search_law(bench, scan.table(bench, "search"))
    if joint is None:
        return (bench.base.harness_id,)
    ids = front_ids(joint, complexity=complexity(bench))
    base = joint.place(bench.base.harness_id).cost_usd
    cheapest = min(joint.place(candidate_id).cost_usd for candidate_id in ids)
    bench.ports.events.emit(
        "front", size=len(ids), best_saving=1 - cheapest / base if base else 0.0
    )
    return ids


def next_parents(bench: Bench, *, round_index: int) -> tuple[str, ...]:
    """Whose patches come in this round: an end of the front by turns, and the least tried alive.

    The ends are the cheapest, the safest saving, the knee and the best. The safest saving is the
    survivor with the fewest changed answers among those at least 5 % cheaper with probability 0.9:
    where no judge is trusted, it is the line that can be accepted.
    """
    live = live_ids(bench)
    joint = search_law(bench, scan.table(bench, "search"))
    if joint is None:
        return live
    ends = (live[0], _safest_saving(joint), knee(joint, live), best(joint, live))
    children = Counter(candidate.parent_id for candidate in scan.candidates(bench).values())
    return choose_parents(
        [key for key in ends if key is not None],
        alive=survivors(bench),
        times_tried={key: n for key, n in children.items() if key is not None},
        round_index=round_index,
    )


def _safest_saving(joint: JointLaw) -> str | None:
    saving = [key for key in joint.ids[1:] if p_cheaper(joint, key, by=COST_EPSILON) >= SURE]

    def caution(key: str) -> tuple[float, float]:
        seen = joint.counts[joint.at(key)]
        return seen.changed / seen.n, joint.place(key).cost_usd

    return min(saving, key=caution, default=None)


def tried(bench: Bench) -> tuple[Tried, ...]:
    """Every variant on record with its measured effect, in the order made."""
    table = scan.table(bench, "search")
    known = scan.candidates(bench)
    joint = search_law(bench, table)
    status = _statuses(bench)
    base_id = bench.base.harness_id
    history = []
    for candidate_id, candidate in known.items():
        measured = joint is not None and candidate_id in joint.ids
        place = joint.place(candidate_id) if joint is not None and measured else None
        base = joint.place(base_id) if joint is not None else None
        changed = None
        if joint is not None and measured:
            seen = joint.counts[joint.at(candidate_id)]
            changed = seen.changed / seen.n if seen.n else None
        history.append(
            Tried(
                knob_values=bench.harness(candidate_id).knob_values,
                patch_id=candidate.patch.patch_id if candidate.patch else "",
                summary=candidate.summary,
                proposer=candidate.proposer,
                score=place.score if place else None,
                cost_ratio=place.cost_usd / base.cost_usd
                if place and base and base.cost_usd
                else None,
                changed=changed,
                status=status.get(candidate_id, "baseline" if candidate_id == base_id else "open"),
                harness_id=candidate_id,
                lineage=tuple(c.patch for c in lineage(known, candidate_id) if c.patch is not None),
            )
        )
    return (*history, *_refused(bench))


def _statuses(bench: Bench) -> dict[str, str]:
    found: dict[str, str] = {}
    for _, value in bench.ports.ledger.all("race"):
        found |= dict.fromkeys(value["promoted"], "promoted")
        found |= dict.fromkeys(value["open"], "open")
        found |= dict.fromkeys(value["dropped"], "dropped")
    return found


def _refused(bench: Bench) -> tuple[Tried, ...]:
    return tuple(
        Tried(
            knob_values={},
            patch_id=refusal.patch.patch_id,
            summary=refusal.patch.summary,
            proposer=refusal.patch.proposer,
            score=None,
            cost_ratio=None,
            changed=None,
            status="refused",
        )
        for refusal in scan.refusals(bench)
    )


def keeping(bench: Bench) -> frozenset[str]:
    """Candidates that differ from the initial harness only in dials that keep every answer."""
    known = scan.candidates(bench)

    def keeps(candidate_id: str) -> bool:
        patches = [one.patch for one in lineage(known, candidate_id) if one.patch is not None]
        return all(
            not patch.edits and patch.knobs.items() <= KEEPING_KNOBS.items() for patch in patches
        )

    return frozenset(key for key in known if key != bench.base.harness_id and keeps(key))
