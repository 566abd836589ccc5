"""The documents a run leaves behind, as `show`, the page and `--json` read them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from harnesspro.core.records import (
    Calibration,
    Channel,
    Cheating,
    Check,
    Estimate,
    Finding,
    Price,
    Record,
    Refusal,
    Stamp,
    Verdict,
    VerdictKind,
)


class Point(Record):
    """One harness on the map of score and cost."""

    candidate_id: str
    parent_id: str | None
    generation: int
    summary: str
    proposer: str
    verdict: VerdictKind | None
    stamp: Stamp
    score: Estimate
    answers_changed: Estimate | None
    cost_usd_per_task: Estimate
    cost_ratio: float | None = None
    """Mean cost over the initial harness's on the same tasks; None for it, and without a cost."""
    latency_s: Estimate
    accuracy: Estimate | None = None
    p_on_front: float | None = None
    isolation: str = "S0"


class Picks(Record):
    """The three named points of a front; None where there is none."""

    knee: str | None
    cheapest_safe: str | None
    best: str | None


class Spend(Record):
    """Thinking, measuring, and the bill; the first two attributed."""

    improver_usd: float
    target_usd: float
    paid_usd: float
    n_ambiguous_calls: int = 0


class StopReason(Record):
    """Why the run ended."""

    reason: Literal["rounds", "budget", "time", "futile", "interrupted"]
    detail: str


class Levels(Record):
    """How strong the two walls really were."""

    isolation: str
    firewall: str


class Power(Record):
    """What so many tasks can show."""

    n_search: int
    n_confirm: int
    min_detectable_gain: float | None
    agreement_bound_at_zero: float | None
    """Upper bound of changed answers if none is seen to change."""
    n_reused: int = 0
    """Confirm tasks on which earlier runs in the same place wrote verdicts."""
    n_earlier_runs: int = 0
    """How many such runs the most used of them has seen."""


class RefereeReport(Record):
    """What the document says of the referee."""

    hash: str
    discordant_hit_rate: Estimate | None
    trusted: bool
    reason: str
    checks: tuple[Check, ...] = ()
    """Without their programs, which stand in the ledger."""
    channels: tuple[Channel, ...] = ()
    calibration: Calibration | None = None
    fitted: tuple[str, ...] = ()
    """Picks that gained more on the checks that may be shown than on those nobody sees."""
    cheating: tuple[Cheating, ...] = ()
    """How often each harness gave in to tasks that cannot be done, the initial one first."""
    diverged: str = ""
    """What score and monitor probes did in the last rounds, where they parted."""
    advice: tuple[str, ...] = ()
    """What the owner could add, and what it would buy, in words."""


class SealedReport(Record):
    """How far the label-free score agreed with the gold, computed after the one opening."""

    n_tasks: int
    """Tasks graded for the initial harness and every harness compared."""
    n_harnesses: int
    rank_correlation: float | None
    """Kendall's tau between score and accuracy over the harnesses; None under three."""
    discordant_hit_rate: Estimate | None
    """On pairs of differing answers of which exactly one is right: how often the referee said so."""
    auc: Estimate | None
    """Within-task AUC of the referee's merit, right against wrong answers."""


class Control(Record):
    """What the same money buys without any improvement, on the confirm tasks."""

    name: str
    score: Estimate
    cost_usd_per_task: Estimate
    answers_changed: Estimate | None
    accuracy: Estimate | None = None
    lead: Estimate
    """Share of the map of score and cost that the judged picks cover over it, in the same worlds."""
    words: str
    """One plain sentence."""


class CertificateSummary(Record):
    """What left the vault."""

    leaked_bits: float
    vault_openings: int
    canary_hits: int
    leak_bound: float | None = None
    """The most by which what earlier openings told can flatter this one's accuracy, as a fraction; None
    where nothing was opened.
    """


class RunDocument(Record):
    """`harnesspro/run@1`: what `improve --json`, `show --json` and `report.json` print."""

    document: Literal["harnesspro/run@1"] = Field(default="harnesspro/run@1", alias="schema")
    run_id: str
    harness: str
    harness_name: str
    models: dict[str, str]
    baseline: Point
    front: tuple[Point, ...]
    candidates: tuple[Point, ...]
    picks: Picks
    verdicts: tuple[Verdict, ...]
    findings: tuple[Finding, ...]
    n_diagnosed_trials: int
    diagnosed_usd: float
    refusals: tuple[Refusal, ...]
    spend: Spend
    stop: StopReason
    levels: Levels
    power: Power
    referee: RefereeReport
    certificate: CertificateSummary
    sealed: SealedReport | None = None
    """None where no gold was opened."""
    controls: tuple[Control, ...] = ()
    """Measured where they were asked for."""
    base_disagreement: float | None = None
    """Share of search tasks on which two draws of the initial harness differ; None = not measured."""
    prices: tuple[Price, ...]
    answered_as: tuple[tuple[str, str], ...] = ()
    """(asked, told): models that answered under another name; none of ours falls back to another."""
    seed: int
    n_rounds: int
    elapsed_s: float
    words: tuple[str, ...]
    """The report in plain sentences, in reading order."""
