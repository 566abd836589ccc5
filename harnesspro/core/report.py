"""The run's map: points with intervals, the front, and named picks.

Headlines come from confirm data; a point measured on search tasks alone is stamped `observed`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harnesspro.core.documents import Picks, Point
from harnesspro.core.front import (
    JointLaw,
    best,
    estimates,
    front_ids,
    knee,
    p_cheaper,
    p_on_front,
)
from harnesspro.core.records import Candidate, Estimate, Stamp, Verdict

SURELY_CHEAPER = 0.95


@dataclass(frozen=True, slots=True)
class Map:
    """Everything the points are drawn from."""

    known: Mapping[str, Candidate]
    search: JointLaw
    """Over the initial harness and the survivors, on search tasks."""
    confirm: JointLaw | None
    """Over the initial harness and the picks, on confirm tasks."""
    verdicts: tuple[Verdict, ...]
    accuracy: Mapping[str, Estimate]
    isolation: str
    complexity: Mapping[str, int]
    base_disagreement: float | None = None
    """Share of search tasks on which the initial harness disagrees with itself; None = not measured."""

    @property
    def baseline_id(self) -> str:
        """The initial harness."""
        return self.search.baseline_id

    def verdict(self, candidate_id: str) -> Verdict | None:
        """What confirm said of a candidate, if it was picked."""
        return next((v for v in self.verdicts if v.candidate_id == candidate_id), None)

    def law_of(self, candidate_id: str) -> JointLaw:
        """Confirm data where there is any, else search data."""
        if self.confirm is not None and candidate_id in self.confirm.ids:
            return self.confirm
        return self.search


def point(chart: Map, candidate_id: str) -> Point:
    """One harness with its intervals."""
    candidate = chart.known[candidate_id]
    joint = chart.law_of(candidate_id)
    found = estimates(joint, candidate_id)
    verdict = chart.verdict(candidate_id)
    on_front = p_on_front(chart.search)
    return Point(
        candidate_id=candidate_id,
        parent_id=candidate.parent_id,
        generation=candidate.generation,
        summary=whole_summary(chart.known, candidate_id),
        proposer=candidate.proposer,
        verdict=verdict.kind if verdict else None,
        stamp=_stamp(chart, candidate_id),
        score=found.score,
        answers_changed=found.answers_changed,
        cost_usd_per_task=found.cost_usd_per_task,
        cost_ratio=_cost_ratio(joint, candidate_id),
        latency_s=found.latency_s,
        accuracy=chart.accuracy.get(candidate_id),
        p_on_front=on_front.get(candidate_id),
        isolation=chart.isolation,
    )


def _cost_ratio(joint: JointLaw, candidate_id: str) -> float | None:
    base = joint.place(joint.baseline_id).cost_usd
    if candidate_id == joint.baseline_id or not base:
        return None
    return joint.place(candidate_id).cost_usd / base


def lineage(known: Mapping[str, Candidate], candidate_id: str) -> tuple[Candidate, ...]:
    """The candidates from the initial harness (left out) to this one, oldest first."""
    line: list[Candidate] = []
    here: str | None = candidate_id
    while here is not None and here in known and known[here].patch is not None:
        line.append(known[here])
        here = known[here].parent_id
    return tuple(reversed(line))


def whole_summary(known: Mapping[str, Candidate], candidate_id: str) -> str:
    """All that lies between the initial harness and this one, in plain words."""
    line = lineage(known, candidate_id)
    return "; then ".join(bare(one.summary) for one in line) or known[candidate_id].summary


def bare(text: str) -> str:
    """A sentence to stand inside another: without the full stop its writer may have given it."""
    return text.rstrip(". ")


def _stamp(chart: Map, candidate_id: str) -> Stamp:
    if candidate_id in chart.accuracy:
        return "sealed"
    if chart.confirm is not None and candidate_id in chart.confirm.ids:
        return "confirmed"
    return "observed"


def front_points(chart: Map) -> tuple[Point, ...]:
    """The observed front without rejected picks, and every accepted one; cheapest first.

    An accepted pick stands on it whatever the race saw: a cheaper point that nobody could judge
    does not beat it. Never empty.
    """
    ids = front_ids(chart.search, complexity=chart.complexity)
    accepted = [v.candidate_id for v in chart.verdicts if v.kind == "accept"]
    kept = [key for key in dict.fromkeys((*ids, *accepted)) if not _rejected(chart, key)]
    points = [point(chart, candidate_id) for candidate_id in kept or [chart.baseline_id]]
    return tuple(sorted(points, key=lambda one: one.cost_usd_per_task.mean))


def _rejected(chart: Map, candidate_id: str) -> bool:
    verdict = chart.verdict(candidate_id)
    return verdict is not None and verdict.kind == "reject"


def named_picks(chart: Map, front: Sequence[Point]) -> Picks:
    """Knee, cheapest safe, best; safe is accepted at confirm, or else the baseline."""
    ids = [one.candidate_id for one in front]
    return Picks(
        knee=knee(chart.search, ids), cheapest_safe=safe_id(chart), best=best(chart.search, ids)
    )


def safe_id(chart: Map) -> str:
    """The cheapest accepted pick; without one the initial harness is the only safe choice."""
    accepted = [v.candidate_id for v in chart.verdicts if v.kind == "accept"]
    if not accepted:
        return chart.baseline_id
    return min(
        accepted,
        key=lambda candidate_id: chart.law_of(candidate_id).place(candidate_id).cost_usd,
    )


def beats(chart: Map, candidate_id: str) -> bool:
    """Whether a front point is worth having: accepted, or observed to be surely cheaper.

    An observed point may not have a score below the initial harness's whole interval; how far its
    changed answers can be trusted is for the verdict and the agreement bound to say.
    """
    if candidate_id == chart.baseline_id or _rejected(chart, candidate_id):
        return False
    verdict = chart.verdict(candidate_id)
    if verdict is not None:
        return verdict.kind == "accept" or (verdict.claim == "cost" and verdict.cheaper)
    joint = chart.search
    base = estimates(joint, chart.baseline_id).score
    level = 1 - (1 - SURELY_CHEAPER) / max(1, joint.n_compared)
    return (
        p_cheaper(joint, candidate_id) >= level
        and joint.place(candidate_id).score >= base.low - 1e-9
    )
