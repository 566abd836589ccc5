"""The referee of a run as facts to lay out: who is heard, how often it is right, what would help.

Pure. The sentences are the report's own.
"""

from __future__ import annotations

from dataclasses import dataclass

from harnesspro.core.phrases import (
    calibration_words,
    claim_words,
    sealed_words,
)
from harnesspro.core.records import Channel, RefereeReport, RunDocument
from harnesspro.view import figures
from harnesspro.view.rows import rows
from harnesspro.view.sentences import sentence

Fact = tuple[str, str]
"""Name and text."""


@dataclass(frozen=True, slots=True)
class ChannelLine:
    """A channel as a table shows it; every cell is text."""

    name: str
    kind: str
    auc: str
    naive: str
    """The strongest naive rule and its AUC on the same probes."""
    lead: str
    silent: str
    gain: str
    heard: str
    """`yes` or `no`."""
    reason: str


def channel_lines(referee: RefereeReport) -> tuple[ChannelLine, ...]:
    """Every channel that was measured, those that are heard first."""
    ordered = sorted(referee.channels, key=lambda one: (not one.admitted, one.name))
    return tuple(_line(channel) for channel in ordered)


def _line(channel: Channel) -> ChannelLine:
    return ChannelLine(
        name=channel.name,
        kind=channel.kind,
        auc=figures.share_interval(channel.auc),
        naive=_strongest(channel),
        lead=figures.signed_interval(channel.lead),
        silent=figures.NOTHING if channel.silent is None else figures.percent(channel.silent),
        gain=figures.signed_interval(channel.pick_gain),
        heard="yes" if channel.admitted else "no",
        reason=sentence(channel.reason),
    )


def _strongest(channel: Channel) -> str:
    if not channel.baselines:
        return figures.NOTHING
    rule = max(channel.baselines, key=channel.baselines.__getitem__)
    return f"{rule} {channel.baselines[rule]:.2f}"


def trust_facts(referee: RefereeReport) -> list[Fact]:
    """Trusted or not and what that allows, how it was measured, why measuring stopped."""
    facts = [
        ("referee", sentence(claim_words(trusted=referee.trusted))),
        ("reason", sentence(referee.reason)),
    ]
    calibration = referee.calibration
    if calibration is None:
        return [*facts, ("hit rate", "Not measured.")]
    facts.append(("hit rate", sentence(calibration_words(calibration))))
    probes = figures.counted(calibration.n_probes, "probe")
    stopped = f"{probes} after those that admitted the channels; stopped: {calibration.reason}"
    return [*facts, ("probes", sentence(stopped))]


def probe_facts(doc: RunDocument) -> list[Fact]:
    """How many probes each harness answered rightly, and which are vetoed; by its short id."""
    calibration = doc.referee.calibration
    if calibration is None:
        return []
    names = {row.candidate_id: row.short_id for row in rows(doc)}
    facts = []
    for key, share in calibration.probe_accuracy.items():
        veto = "; vetoed: it loses to the original" if key in calibration.vetoed else ""
        right = f"right on {round(share.mean * share.n)} of {share.n} probes"
        facts.append((names.get(key, key), f"{right} {figures.percent_interval(share)}{veto}"))
    return facts


def opened_facts(doc: RunDocument) -> tuple[str, ...]:
    """What the opening showed of the score; empty where no gold was opened."""
    if doc.sealed is None:
        return ()
    lines = sealed_words(doc.sealed, doc.referee.discordant_hit_rate)
    return tuple(sentence(line) for line in lines)
