"""How the judge's numbers read: the same sentences in the report, on the terminal and on the page.

Pure and light: whoever only looks at a run loads no statistics for it. *Accuracy* is said of gold
alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from harnesspro.core.documents import Power, SealedReport
from harnesspro.core.records import Calibration, Channel, Estimate, Verdict

COIN = 0.5
"""The hit rate of a referee that knows nothing."""
_MANY = 6
"""Fewer harnesses than this agree in their order by luck too often to say much."""
_NAMED = 4
"""Channels that a sentence names; a table holds the rest."""


def percent(share: float) -> str:
    """`67 %`; one decimal below ten, `< 0.1 %` below a tenth."""
    value = 100 * share
    if 0 < abs(value) < 0.1:
        return "< 0.1 %"
    return f"{value:.0f} %" if abs(value) >= 10 or value == 0 else f"{value:.1f} %"


def points(share: float) -> str:
    """A share as points of accuracy: `6.4 points`."""
    value = f"{100 * share:.1f}".removesuffix(".0")
    return f"{value} point" if value == "1" else f"{value} points"


def counted(n: int, noun: str) -> str:
    """`1 task`, `1,200 tasks`."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def share_in_words(estimate: Estimate) -> str:
    """`91 % of 104 (at least 85 %)`; the bound is one-sided, 95 %."""
    return f"{percent(estimate.mean)} of {estimate.n} (at least {percent(estimate.low)})"


# --- the baseline's own noise ------------------------------------------------------------------


def own_noise(disagreement: float | None) -> str:
    """What stands beside every bound on changed answers."""
    if disagreement is None:
        return "how often the original disagrees with itself was not measured"
    if disagreement == 0:
        return "the original never disagreed with itself"
    return f"the original disagrees with itself on {percent(disagreement)}"


# --- the referee -------------------------------------------------------------------------------


def calibration_words(calibration: Calibration) -> str:
    """Hit rate and tilt on generated tasks, with interval and pairs; or why there is none."""
    rate = calibration.hit_rate
    if not calibration.n_probes:
        return f"not measured: {calibration.reason}"
    if rate is None:
        return (
            f"calibrated on {counted(calibration.n_probes, 'generated task')}: no pair of differing "
            "answers with exactly one of them right, so nothing is known of it"
        )
    ties = f", {counted(calibration.n_ties, 'tie')} counted half" if calibration.n_ties else ""
    said = (
        f"calibrated on generated tasks: right on {percent(rate.mean)} of {rate.n} pairs of "
        f"differing answers (between {percent(rate.low)} and {percent(rate.high)}){ties}"
    )
    tilt = tilt_words(calibration.tilt)
    return f"{said}; {tilt}" if tilt else said


def tilt_words(tilt: Estimate | None) -> str:
    """Which way it errs; empty where that was not measured."""
    if tilt is None:
        return ""
    most = percent(max(0.0, tilt.high))
    if tilt.mean < 0:
        return f"its errors favour the original by {percent(-tilt.mean)} (the change by at most {most})"
    return f"its errors favour the change by {percent(tilt.mean)} ({most} of pairs at most)"


def claim_words(*, trusted: bool) -> str:
    """What a run may claim with this referee."""
    if trusted:
        return "trusted, so it may vouch for changed answers"
    return "not trusted, so this run claims cost and agreement only"


def channel_words(channels: Sequence[Channel]) -> str:
    """Which channels were measured and which are heard; empty where none was."""
    if not channels:
        return ""
    heard = [channel.name for channel in channels if channel.admitted]
    others = [channel for channel in channels if not channel.admitted]
    said = f"heard: {', '.join(heard)}" if heard else "no channel is heard"
    refused = "; ".join(f"{one.name} is not: {one.reason}" for one in others[:_NAMED])
    return f"{said}; {refused}" if refused else said


# --- a verdict ---------------------------------------------------------------------------------


_ROUTES = {
    "agreement": "shown by agreement, no judge needed",
    "referee": "shown by the referee",
    "none": "shown by neither agreement nor the referee",
}


def route_words(verdict: Verdict) -> str:
    """By what "not worse" was shown, and the least margin the data support; empty without tasks."""
    if not verdict.n:
        return ""
    margin = points(loss_bound(verdict))
    return f"{_ROUTES[verdict.route]}; the smallest margin the data support is {margin}"


def preferred_words(verdict: Verdict) -> str:
    """What the referee says of the changed answers."""
    return f"the referee finds {verdict.n_better} of the changed better and {verdict.n_worse} worse"


def tipping_words(verdict: Verdict) -> str:
    """How bad the referee would have to be for the verdict to fall; empty where it does not rest on it."""
    if verdict.tipping_hit_rate is None:
        return ""
    return f"; the verdict falls if it is right on under {percent(verdict.tipping_hit_rate)} of such pairs"


def loss_bound(verdict: Verdict) -> float:
    """At most so much accuracy is lost; the smallest margin where no bound was written down."""
    return verdict.smallest_margin if verdict.loss_upper is None else verdict.loss_upper


# --- tasks -------------------------------------------------------------------------------------


def reuse_words(power: Power) -> str:
    """Whether the confirm tasks were new; empty where they were."""
    if not power.n_reused:
        return ""
    which = (
        f"all {power.n_confirm} confirm tasks"
        if power.n_reused >= power.n_confirm
        else f"{power.n_reused} of {power.n_confirm} confirm tasks"
    )
    runs = counted(power.n_earlier_runs, "earlier run")
    return f"{which} were already used by {runs}: the headline is new to this run, not to you"


# --- after the opening -------------------------------------------------------------------------


def sealed_words(sealed: SealedReport, calibrated: Estimate | None = None) -> tuple[str, ...]:
    """How far the label-free score may be trusted on this material, now that accuracy is known.

    `calibrated` is the hit rate on generated tasks, to be held against the one found here.
    """
    lines = [
        f"accuracy was opened once in this run, after the verdicts, on "
        f"{counted(sealed.n_tasks, 'task')}",
        _pairs_in_words(sealed.discordant_hit_rate),
    ]
    flattered = _flattered(sealed.discordant_hit_rate, calibrated)
    if flattered:
        lines.append(flattered)
    if sealed.auc is not None:
        lines.append(
            f"within a task it puts a right answer above a wrong one with "
            f"{percent(sealed.auc.mean)} [{percent(sealed.auc.low)}, {percent(sealed.auc.high)}] "
            f"({counted(sealed.auc.n, 'task')} with both)"
        )
    if sealed.rank_correlation is not None:
        few = "; too few to say much" if sealed.n_harnesses < _MANY else ""
        lines.append(
            f"score and accuracy put the {sealed.n_harnesses} harnesses in orders that agree with "
            f"tau {sealed.rank_correlation:+.2f}{few}"
        )
    return tuple(lines)


def _pairs_in_words(rate: Estimate | None) -> str:
    if rate is None:
        return (
            "no two answers differed with exactly one right, so nothing is learnt of the score "
            "without gold"
        )
    found = (
        f"where two answers differ and one is right, the score without gold preferred the right one "
        f"on {share_in_words(rate)}"
    )
    if rate.low > COIN:
        return f"{found}: better than chance"
    if rate.high < COIN:
        return f"{found}: worse than chance, so it points the wrong way here"
    return f"{found}: no better than chance is shown, so trust only cost and agreement here"


def _flattered(found: Estimate | None, calibrated: Estimate | None) -> str:
    if found is None or calibrated is None or found.high >= calibrated.low:
        return ""
    return (
        f"that is less than the {percent(calibrated.mean)} on generated tasks, which flatter the "
        "referee"
    )
