"""A run document to look at: every field filled as a real run fills it, each part replaceable."""

from __future__ import annotations

from typing import Any

from harnesspro.core.documents import (
    CertificateSummary,
    Levels,
    Picks,
    Point,
    Power,
    RefereeReport,
    RunDocument,
    SealedReport,
    Spend,
    StopReason,
)
from harnesspro.core.records import (
    Calibration,
    Channel,
    Check,
    Estimate,
    Finding,
    Patch,
    Price,
    Refusal,
    Span,
    Verdict,
)

BASE_ID = "h-b0a5e11e00000000"
CHEAP_ID = "h-3f2a91c400000000"
BEST_ID = "h-7c01d2aa00000000"
LOSER_ID = "h-9e55aa0100000000"
TRAP_ID = "h-51b0c7d300000000"


def est(mean: float, low: float, high: float, n: int = 64) -> Estimate:
    return Estimate(mean=mean, low=low, high=high, n=n)


def point(candidate_id: str, cost: Estimate, score: Estimate, **more: Any) -> Point:
    values: dict[str, Any] = {
        "candidate_id": candidate_id,
        "parent_id": BASE_ID,
        "generation": 1,
        "summary": "One sample instead of three.",
        "proposer": "operator:fewer_samples",
        "verdict": None,
        "stamp": "observed",
        "score": score,
        "answers_changed": est(0.0, 0.0, 0.09, 32),
        "cost_usd_per_task": cost,
        "latency_s": est(1.6, 1.4, 1.9),
        "isolation": "S3",
    }
    return Point(**{**values, **more})


BASELINE = point(
    BASE_ID,
    est(1.258e-4, 1.21e-4, 1.31e-4),
    est(0.667, 0.57, 0.75),
    parent_id=None,
    generation=0,
    summary="The harness as given.",
    proposer="baseline",
    answers_changed=None,
    latency_s=est(5.9, 5.5, 6.4),
    accuracy=est(0.667, 0.54, 0.78),
)
CHEAP = point(
    CHEAP_ID,
    est(4.16e-5, 4.0e-5, 4.4e-5),
    est(0.69, 0.59, 0.78),
    summary="One call constrained by the function's schema instead of three samples with a vote.",
    verdict="accept",
    stamp="confirmed",
    answers_changed=est(2 / 96, 0.0, 0.064, 96),
    accuracy=est(0.703, 0.58, 0.81),
    p_on_front=0.99,
)
BEST = point(
    BEST_ID,
    est(6.9e-5, 6.6e-5, 7.2e-5),
    est(0.71, 0.61, 0.79),
    parent_id=CHEAP_ID,
    generation=2,
    summary="Ask again, once, where the call does not fit the schema.",
    proposer="planner:success",
    verdict="inconclusive",
    answers_changed=est(9 / 96, 0.04, 0.16, 96),
    accuracy=est(0.71, 0.59, 0.82),
    p_on_front=0.91,
)
LOSER = point(
    LOSER_ID,
    est(1.45e-4, 1.38e-4, 1.52e-4),
    est(0.64, 0.53, 0.74),
    summary="Reason step by step before the call.",
    answers_changed=est(0.25, 0.13, 0.40, 32),
)
TRAP = point(
    TRAP_ID,
    est(2.5e-5, 2.4e-5, 2.7e-5),
    est(0.54, 0.43, 0.65),
    summary="Functions shortened to one line each.",
    proposer="operator:drop_text",
    verdict="reject",
    answers_changed=est(41 / 96, 0.33, 0.53, 96),
)


def verdict(candidate_id: str = CHEAP_ID, **more: Any) -> Verdict:
    values: dict[str, Any] = {
        "candidate_id": candidate_id,
        "kind": "accept",
        "claim": "cost",
        "route": "agreement",
        "n": 96,
        "n_changed": 2,
        "changed_upper": 0.064,
        "base_disagreement": 0.03,
        "cost_ratio": est(0.331, 0.31, 0.352, 96),
        "log_cost_ratio": est(-1.106, -1.17, -1.04, 96),
        "cheaper": True,
        "not_worse": True,
        "smallest_margin": 0.064,
        "n_more_tasks": None,
        "reason": "Not worse by more than 6.4 points: 2 of 96 answers changed. Cheaper: "
        "the cost is 31-35 % of the initial harness's.",
    }
    return Verdict(**{**values, **more})


INCONCLUSIVE = verdict(
    BEST_ID,
    kind="inconclusive",
    n_changed=9,
    changed_upper=0.16,
    cost_ratio=est(0.549, 0.52, 0.58, 96),
    log_cost_ratio=est(-0.6, -0.65, -0.54, 96),
    not_worse=False,
    smallest_margin=0.16,
    n_more_tasks=212,
    reason="9 of 96 answers changed; the margin is 5 points; about 212 more tasks would decide",
)


def finding(pattern: str = "samples agree from the start", **more: Any) -> Finding:
    values: dict[str, Any] = {
        "finding_id": "f-1",
        "detector": "agreeing_samples",
        "part": "flow",
        "knob": "samples",
        "pattern": pattern,
        "advice": "take fewer samples",
        "evidence": (Span(trial_id="t-1", step=1, wasted_nanos=80_000),),
        "wasted_nanos": 2_580_000,
        "lost_success": 0.0,
    }
    return Finding(**{**values, **more})


def document(**more: Any) -> RunDocument:
    """A finished run: one accepted saving, one open question, one trap, one loser."""
    values: dict[str, Any] = {
        "run_id": "20261130-214611-7f3a",
        "harness": "builtin:toolcaller",
        "harness_name": "toolcaller",
        "models": {"caller": "local/qwen2.5-coder-0.5b"},
        "baseline": BASELINE,
        "front": (CHEAP, BEST),
        "candidates": (CHEAP, BEST, LOSER, TRAP),
        "picks": Picks(knee=CHEAP_ID, cheapest_safe=CHEAP_ID, best=BEST_ID),
        "verdicts": (verdict(), INCONCLUSIVE),
        "findings": (
            finding(),
            finding(
                "answers rejected for form only",
                finding_id="f-2",
                detector="form_rejections",
                part="system",
                knob=None,
                wasted_nanos=410_000,
                lost_success=0.03,
            ),
        ),
        "n_diagnosed_trials": 32,
        "diagnosed_usd": 0.004026,
        "refusals": (
            Refusal(
                patch=Patch(
                    parent_id=BASE_ID,
                    direction="cost",
                    proposer="planner:cost",
                    summary="Name the weather tool outright.",
                ),
                reason="quotes the text of a task",
            ),
        ),
        "spend": Spend(improver_usd=0.0012, target_usd=0.0391, paid_usd=0.0),
        "stop": StopReason(reason="rounds", detail="2 of 2 rounds done"),
        "levels": Levels(isolation="S3", firewall="F1"),
        "power": Power(
            n_search=32, n_confirm=96, min_detectable_gain=0.11, agreement_bound_at_zero=0.031
        ),
        "referee": RefereeReport(
            hash="5b1c0de" * 9,
            discordant_hit_rate=est(0.71, 0.6, 0.8, 88),
            trusted=False,
            reason="right on 71 % of 88 probe pairs, at least 100 pairs and a lower bound of 75 % needed",
            checks=(
                Check(
                    check_id="c-1",
                    family="format",
                    name="call fits its function's schema",
                    writer="schema",
                    false_reject_rate=est(0.0, 0.0, 0.03, 96),
                    kill_rate=0.94,
                    admitted=True,
                ),
            ),
        ),
        "certificate": CertificateSummary(
            leaked_bits=0.0, vault_openings=1, canary_hits=0, leak_bound=0.0
        ),
        "prices": (
            Price(
                model="local/qwen2.5-coder-0.5b",
                in_nanos_per_mtok=100_000_000,
                out_nanos_per_mtok=100_000_000,
                cache_read_nanos_per_mtok=100_000_000,
                cache_write_nanos_per_mtok=100_000_000,
                source="list price of a host, 2026-11",
                paid=False,
            ),
        ),
        "seed": 7,
        "n_rounds": 2,
        "elapsed_s": 1342.0,
        "words": (
            "The harness now costs a third of what it did and answers 94 of 96 tasks as before.",
            "Nothing was learnt from right answers: the vault was opened once, after the verdicts.",
        ),
    }
    return RunDocument(**{**values, **more})


def bare_document(**more: Any) -> RunDocument:
    """A run that found nothing and measured as little as a run can."""
    values: dict[str, Any] = {
        "baseline": BASELINE.model_copy(update={"accuracy": None}),
        "front": (),
        "candidates": (),
        "picks": Picks(knee=None, cheapest_safe=None, best=None),
        "verdicts": (),
        "findings": (),
        "n_diagnosed_trials": 0,
        "diagnosed_usd": 0.0,
        "refusals": (),
        "stop": StopReason(reason="futile", detail="no proposal was admitted"),
        "power": Power(
            n_search=8, n_confirm=0, min_detectable_gain=None, agreement_bound_at_zero=None
        ),
        "referee": RefereeReport(
            hash="", discordant_hit_rate=None, trusted=False, reason="no checks"
        ),
        "certificate": CertificateSummary(leaked_bits=0.0, vault_openings=0, canary_hits=0),
        "prices": (),
        "words": (),
    }
    return document(**{**values, **more})


CHECKS = Channel(
    name="checks",
    kind="checks",
    auc=est(0.81, 0.72, 0.89, 41),
    silent=0.22,
    baselines={"random": 0.5, "well-formed": 0.5, "shortest": 0.61},
    lead=est(0.2, 0.08, 0.31, 41),
    pick_gain=est(0.14, 0.05, 0.23, 41),
    admitted=True,
    reason="beats taking the shortest answer by 20 points (at least 8) on 41 probes",
)
JUDGE = Channel(
    name="judge:sim/judge",
    kind="judge",
    auc=est(0.55, 0.41, 0.68, 41),
    silent=0.0,
    baselines={"random": 0.5, "shortest": 0.61},
    lead=est(-0.06, -0.2, 0.07, 41),
    pick_gain=est(0.01, -0.06, 0.09, 41),
    reason="6 points behind taking the shortest answer on 41 probes",
)
MUTE = Channel(
    name="panel:sim/other",
    kind="panel",
    reason="no probe has both a right and a wrong answer, and 20 are asked for",
)
CALIBRATION = Calibration(
    n_probes=140,
    n_admitting=60,
    n_discordant=121,
    hit_rate=est(0.91, 0.848, 0.952, 104),
    tilt=est(0.02, -0.03, 0.07, 104),
    n_ties=3,
    probe_accuracy={BASE_ID: est(0.62, 0.55, 0.69, 200), BEST_ID: est(0.5, 0.43, 0.57, 200)},
    vetoed=(BEST_ID,),
    reason="104 pairs of differing answers",
)
SEALED = SealedReport(
    n_tasks=64,
    n_harnesses=3,
    rank_correlation=1 / 3,
    discordant_hit_rate=est(0.82, 0.64, 0.93, 22),
    auc=est(0.78, 0.6, 0.9, 20),
)
ADVICE = ("More inputs (no right answers needed): on 192 confirm tasks 4 changed answers pass.",)


def judged_document(*, trusted: bool = True, **more: Any) -> RunDocument:
    """A run with a measured referee that vouched for a pick, reused tasks and an opened vault."""
    vouched = verdict(
        route="referee",
        n_changed=9,
        changed_upper=0.16,
        n_better=6,
        n_worse=3,
        loss_upper=0.041,
        smallest_margin=0.045,
        tipping_hit_rate=0.74,
        cheaper_up_to_usd=0.012,
        reason="9 of 96 answers changed; by the referee (3 answers worse, 6 better) at most 4.1 "
        "points of accuracy are lost, as long as it is right on 74 % of them; not worse by more than 5 "
        "points, and it is cheaper as long as no trial costs more than $0.0120",
    )
    power = document().power.model_copy(update={"n_reused": 96, "n_earlier_runs": 2})
    referee = RefereeReport(
        hash="5b1c0de" * 9,
        discordant_hit_rate=CALIBRATION.hit_rate,
        trusted=trusted,
        reason="it was right often enough on pairs of answers whose truth is known",
        checks=document().referee.checks,
        channels=(JUDGE, MUTE, CHECKS),
        calibration=CALIBRATION,
        advice=ADVICE,
    )
    values: dict[str, Any] = {
        "verdicts": (vouched, INCONCLUSIVE.model_copy(update={"vetoed": True, "route": "none"})),
        "power": power,
        "referee": referee,
        "sealed": SEALED,
        "base_disagreement": 0.03,
    }
    return document(**{**values, **more})
