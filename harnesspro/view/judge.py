"""The referee of a run as facts to lay out: who is heard, how often it is right, what would help.

Pure. The sentences are the report's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from harnesspro.core.documents import RefereeReport, RunDocument
from harnesspro.core.phrases import (
    calibration_words,
    claim_words,
    sealed_words,
)
from harnesspro.core.records import Channel, Estimate
from harnesspro.view import figures
from harnesspro.view.rows import rows, short_ids
from harnesspro.view.sentences import sentence

Fact = tuple[str, str]
"""Name and text."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A number and, below it, what belongs to it; both are text."""

    value: str = figures.NOTHING
    below: str = ""


@dataclass(frozen=True, slots=True)
class ChannelLine:
    """A channel as a table shows it."""

    name: str
    auc: Cell
    naive: Cell
    """AUC of the strongest naive rule on the same probes, and its name."""
    lead: Cell
    silent: Cell
    gain: Cell
    heard: bool
    reason: str


def channel_lines(referee: RefereeReport) -> tuple[ChannelLine, ...]:
    """Every channel that was measured, those that are heard first."""
    ordered = sorted(referee.channels, key=lambda one: (not one.admitted, one.name))
    return tuple(_line(channel) for channel in ordered)


def _line(channel: Channel) -> ChannelLine:
    auc, silent = channel.auc, channel.silent
    return ChannelLine(
        name=channel.name,
        auc=Cell(figures.score(auc.mean), figures.score_interval(auc)) if auc else Cell(),
        naive=_strongest(channel),
        lead=_difference(channel.lead),
        silent=Cell() if silent is None else Cell(figures.percent(silent)),
        gain=_difference(channel.pick_gain),
        heard=channel.admitted,
        reason=sentence(channel.reason),
    )


def _difference(estimate: Estimate | None) -> Cell:
    if estimate is None:
        return Cell()
    return Cell(f"{estimate.mean:+.2f}", figures.signed_interval(estimate))


def _strongest(channel: Channel) -> Cell:
    if not channel.baselines:
        return Cell()
    rule = max(channel.baselines, key=channel.baselines.__getitem__)
    return Cell(figures.score(channel.baselines[rule]), rule)


def heard_words(line: ChannelLine) -> str:
    """One line for a channel: heard or not, its AUC, the reason."""
    auc = f" AUC {line.auc.value} {line.auc.below}." if line.auc.below else ""
    return f"{'Heard' if line.heard else 'Not heard'}.{auc} {line.reason}"


def trust_facts(referee: RefereeReport) -> list[Fact]:
    """Trusted or not and what that allows, how it was measured, why measuring stopped."""
    facts = [
        ("referee", sentence(claim_words(trusted=referee.trusted))),
        ("reason", sentence(referee.reason)),
    ]
    calibration = referee.calibration
    if calibration is None:
        return [*facts, ("hit rate", "Not measured.")]
    if not calibration.n_probes and calibration.reason in referee.reason:
        return [*facts, ("hit rate", "Not measured.")]
    facts.append(("hit rate", sentence(calibration_words(calibration))))
    if not calibration.n_probes:
        return facts
    probes = (
        f"{figures.counted(calibration.n_admitting, 'probe')} admitted the channels, "
        f"{calibration.n_probes} more marked the referee; stopped: {calibration.reason}"
    )
    return [*facts, ("probes", sentence(probes))]


def probe_facts(doc: RunDocument) -> list[Fact]:
    """How many probes each harness answered rightly, and which are vetoed; by its short id."""
    calibration = doc.referee.calibration
    if calibration is None:
        return []
    shown = {row.candidate_id: row.short_id for row in rows(doc)}
    names = short_ids(calibration.probe_accuracy) | shown
    facts = []
    for key, share in calibration.probe_accuracy.items():
        veto = "; vetoed: it loses to the original" if key in calibration.vetoed else ""
        right = f"right on {round(share.mean * share.n)} of {share.n} probes"
        facts.append((names.get(key, key), f"{right} {figures.percent_interval(share)}{veto}"))
    fitted = "gained more on the checks that may be shown than on those nobody sees: worth a look"
    facts += [(names.get(key, key), fitted) for key in doc.referee.fitted]
    return [*facts, *alarm_facts(doc.referee, names)]


def alarm_facts(referee: RefereeReport, names: Mapping[str, str]) -> list[Fact]:
    """Who gave in to tasks that cannot be done, and whether score and probes parted."""
    facts = []
    for one in referee.cheating:
        more = "; more than the original: worth a look" if one.more_than_initial else ""
        given = f"gave in to {round(one.share.mean * one.share.n)} of {one.share.n} tasks that cannot be done"
        facts.append((names.get(one.candidate_id, one.candidate_id), f"{given}{more}"))
        if one.is_thief and one.took_honey is not None:
            took = f"gave the planted answer to {round(one.took_honey.mean * one.took_honey.n)} of {one.took_honey.n}"
            words = (
                f"{took}: it looked where nothing sent it, so it and its descendants are set aside"
            )
            facts.append((names.get(one.candidate_id, one.candidate_id), words))
    if referee.diverged:
        facts.append(("drift", sentence(referee.diverged)))
    return facts


def control_facts(doc: RunDocument) -> tuple[str, ...]:
    """What the same money buys without any improvement; empty where it was not asked for."""
    return tuple(sentence(control.words) for control in doc.controls)


def opened_facts(doc: RunDocument) -> tuple[str, ...]:
    """What the opening showed of the score; empty where no gold was opened."""
    if doc.sealed is None:
        return ()
    lines = sealed_words(doc.sealed, doc.referee.discordant_hit_rate)
    return tuple(sentence(line) for line in lines)
