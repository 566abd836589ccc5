"""The run's facts as one document: points with intervals, named picks, and the report in words.

Headlines come from confirm data; a point measured on search tasks alone is stamped `observed`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harnesspro.core.findings import per_thousand_tasks
from harnesspro.core.front import (
    JointLaw,
    best,
    estimates,
    front_ids,
    knee,
    p_cheaper,
    p_on_front,
)
from harnesspro.core.money import format_usd
from harnesspro.core.records import (
    Candidate,
    Estimate,
    Finding,
    Picks,
    Point,
    Refusal,
    Spend,
    Stamp,
    Verdict,
)

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
    return "; then ".join(_bare(one.summary) for one in line) or known[candidate_id].summary


def _bare(text: str) -> str:
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
        knee=knee(chart.search, ids), cheapest_safe=_safe(chart), best=best(chart.search, ids)
    )


def _safe(chart: Map) -> str:
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


# --- words -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Story:
    """What the words are made of, beside the map."""

    findings: tuple[Finding, ...]
    n_diagnosed_trials: int
    diagnosed_usd: float
    refusals: tuple[Refusal, ...]
    dropped_ids: frozenset[str]
    """Candidates that a race dropped; one the run never came to is not among them."""
    spend: Spend
    referee_reason: str
    referee_trusted: bool


def words(chart: Map, front: Sequence[Point], story: Story) -> tuple[str, ...]:
    """The report in plain sentences, in reading order."""
    lines = [_headline(chart, front)]
    lines += [_verdict_words(chart, verdict) for verdict in chart.verdicts]
    lines += _observed_words(chart, front)
    lines += _finding_words(story)
    lines += _vain_words(chart, story)
    lines += _trust_words(story)
    lines.append(_money_words(chart, story))
    return tuple(lines)


def _saving(chart: Map, candidate_id: str) -> float:
    joint = chart.law_of(candidate_id)
    base = joint.place(chart.baseline_id).cost_usd
    return 1 - joint.place(candidate_id).cost_usd / base if base else 0.0


def _headline(chart: Map, front: Sequence[Point]) -> str:
    accepted = [v for v in chart.verdicts if v.kind == "accept"]
    if accepted:
        lead = max(accepted, key=lambda verdict: _saving(chart, verdict.candidate_id))
        bound = f"no more than {100 * lead.changed_upper:.1f} points of accuracy can be lost"
        if lead.route != "agreement":
            bound = "judged not worse by the referee"
        return (
            f"Accepted: {_cheaper(_saving(chart, lead.candidate_id))}; "
            f"{lead.n_changed} of {lead.n} answers changed, so {bound}."
        )
    better = [one for one in front if beats(chart, one.candidate_id)]
    if better:
        cheapest = min(better, key=lambda one: one.cost_usd_per_task.mean)
        changed = cheapest.answers_changed
        share = f" with {changed.mean:.0%} of answers changed" if changed else ""
        return (
            f"Nothing was accepted. Observed: {_cheaper(_saving(chart, cheapest.candidate_id))}"
            f"{share}; whether those answers are as good needs your checks, an independent "
            f"model, or more tasks."
        )
    return "No change beat the harness as it came."


def _cheaper(saving: float) -> str:
    return f"{100 * abs(saving):.0f} % {'cheaper' if saving >= 0 else 'dearer'}"


def _verdict_words(chart: Map, verdict: Verdict) -> str:
    summary = whole_summary(chart.known, verdict.candidate_id)
    ratio = verdict.cost_ratio
    cost = (
        f"cost {ratio.mean:.2f} times the original's [{ratio.low:.2f}, {ratio.high:.2f}]"
        if ratio
        else "cost not compared"
    )
    noise = (
        f" The original disagrees with itself on {verdict.base_disagreement:.0%}."
        if verdict.base_disagreement is not None
        else ""
    )
    return f"{verdict.kind.capitalize()}: {summary}: {cost}. {_bare(verdict.reason)}.{noise}"


def _observed_words(chart: Map, front: Sequence[Point]) -> list[str]:
    judged = {verdict.candidate_id for verdict in chart.verdicts}
    n = chart.search.n_compared
    return [
        f"Observed, best of {n}: {one.summary}: {_cheaper(_saving(chart, one.candidate_id))}, "
        f"{one.answers_changed.mean:.0%} of answers changed on {one.answers_changed.n} "
        f"search tasks."
        for one in front
        if one.candidate_id not in judged
        and one.candidate_id != chart.baseline_id
        and one.answers_changed is not None
    ]


def _finding_words(story: Story) -> list[str]:
    n = story.n_diagnosed_trials
    if not n or not story.findings:
        return ["The detectors found no waste and no loss they could price."]
    lines = []
    for finding in story.findings[:5]:
        price = ""
        if finding.wasted_nanos:
            per_1000 = per_thousand_tasks(finding, n)
            share = finding.wasted_usd / story.diagnosed_usd if story.diagnosed_usd else 0.0
            price = f" ({format_usd(per_1000)} per 1,000 tasks, {share:.0%} of the spend)"
        lost = f" It lost {finding.lost_success:.0%} of trials." if finding.lost_success else ""
        lines.append(f"Found: {_bare(finding.pattern)}{price}. {_bare(finding.advice)}.{lost}")
    return lines


def _vain_words(chart: Map, story: Story) -> list[str]:
    tried = [
        candidate
        for candidate in chart.known.values()
        if candidate.candidate_id in story.dropped_ids
    ]
    lines = [f"Tried in vain: {_bare(candidate.summary)}." for candidate in tried[:5]]
    if story.refusals:
        first = story.refusals[0]
        said = f"{_bare(first.patch.summary)}: {first.reason}"
        if len(story.refusals) == 1:
            lines.append(f"One patch was refused before it cost anything ({said}).")
        else:
            n = len(story.refusals)
            lines.append(f"{n} patches were refused before they cost anything (the first: {said}).")
    return lines


def _trust_words(story: Story) -> list[str]:
    if story.referee_trusted:
        return [f"The referee is trusted: {story.referee_reason}."]
    return [
        f"The referee is not trusted ({story.referee_reason.rstrip('.')}), so this run claims "
        f"cost and agreement only."
    ]


def _money_words(chart: Map, story: Story) -> str:
    spend = story.spend
    total = spend.improver_usd + spend.target_usd
    line = (
        f"Spent {format_usd(spend.target_usd)} on measuring and {format_usd(spend.improver_usd)} "
        f"on thinking at list prices; {format_usd(spend.paid_usd)} will be billed."
    )
    safe = _safe(chart)
    if safe == chart.baseline_id:
        return line
    joint = chart.law_of(safe)
    saved = joint.place(chart.baseline_id).cost_usd - joint.place(safe).cost_usd
    if saved <= 0:
        return line
    return f"{line} It has paid for itself after {total / saved:,.0f} tasks."
