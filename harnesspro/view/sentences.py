"""What a run means, in sentences: what was saved and how sure that is, where money goes, the bill.

Pure. Every claim is no stronger than its evidence: accepted, observed, or nothing at all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from harnesspro.core.documents import RunDocument
from harnesspro.core.findings import per_thousand_tasks
from harnesspro.core.money import NANOS_PER_USD
from harnesspro.core.phrases import (
    own_noise,
    preferred_words,
    reuse_words,
    route_words,
    tipping_words,
)
from harnesspro.core.records import Verdict
from harnesspro.view import figures
from harnesspro.view.rows import Row, rows
from harnesspro.view.text import safe_text

Tone = Literal["accepted", "open", "nothing"]
VERDICT_WORDS = {
    "accept": "accepted",
    "reject": "rejected",
    "inconclusive": "inconclusive",
    None: "observed",
}
ISOLATION_WORDS = {
    "S3": "own namespaces, no network, nothing of the judge visible",
    "S2r": "own namespaces and Landlock, run by root",
    "S2": "Landlock and system call filter, no network",
    "S0": "no sandbox: these results are unsandboxed",
}
FIREWALL_WORDS = {
    "F3": "right answers on another machine",
    "F2": "right answers under another user id",
    "F1": "same user; the search gave up its access to them",
    "F0": "kept apart by convention only",
}


@dataclass(frozen=True, slots=True)
class Headline:
    """The first thing to read."""

    claim: str
    support: str
    tone: Tone


@dataclass(frozen=True, slots=True)
class Waste:
    """A finding as money for 1,000 tasks."""

    pattern: str
    part: str
    usd_per_1000: float
    share: float | None
    """Of everything the diagnosed trials cost."""
    lost_success: float
    advice: str


def sentence(text: str) -> str:
    """The text with a capital first and a full stop last, made safe; empty stays empty."""
    shown = safe_text(text).strip()
    ended = not shown or shown.endswith((".", "!", "?"))
    return shown[:1].upper() + shown[1:] + ("" if ended else ".")


def verdict_word(row: Row) -> str:
    """How far the row was judged, in one word (`baseline` for it)."""
    return "baseline" if row.kind == "baseline" else VERDICT_WORDS[row.verdict]


def lead_row(doc: RunDocument) -> Row | None:
    """The row a headline may speak of: accepted before observed, never rejected."""
    standing = [r for r in rows(doc)[1:] if r.kind == "front" and r.verdict != "reject"]
    accepted = [r for r in standing if r.verdict == "accept"]
    if accepted:
        named = [r for r in accepted if "cheapest_safe" in r.picks]
        return (named or accepted)[0]
    cheaper = [r for r in standing if r.change is not None and r.change.mean < 0]
    bound = [r for r in cheaper if "cheapest_safe" in r.picks]
    knee = [r for r in cheaper if "knee" in r.picks]
    return next(iter([*bound, *knee, *cheaper]), None)


def headline(doc: RunDocument) -> Headline:
    """What was saved, and how sure that is."""
    row = lead_row(doc)
    if row is None:
        return _nothing(doc)
    verdict = next((v for v in doc.verdicts if v.candidate_id == row.candidate_id), None)
    if row.verdict == "accept":
        return Headline(_claim(doc, row, sure=True), _accepted(doc, row, verdict), "accepted")
    return Headline(_claim(doc, row, sure=False), _open(doc, row, verdict), "open")


def _claim(doc: RunDocument, row: Row, *, sure: bool) -> str:
    base = rows(doc)[0].cost_per_1000.mean
    cost = row.cost_per_1000.mean
    places = figures.usd_decimals(base, cost)
    both = (
        f"{figures.usd(cost, decimals=places)} instead of "
        f"{figures.usd(base, decimals=places)} for 1,000 tasks"
    )
    verb = "is" if sure else "looks"
    if row.change is None:
        return f"{doc.harness_name} {verb} improved: {both}."
    if row.change.mean >= 0:
        scores = f"{figures.score(row.score.mean)} against {figures.score(doc.baseline.score.mean)}"
        return f"{doc.harness_name} {verb} better, score {scores}: {both}."
    return f"{doc.harness_name} {verb} {figures.percent(-row.change.mean)} cheaper: {both}."


def _accepted(doc: RunDocument, row: Row, verdict: Verdict | None) -> str:
    if verdict is None:
        return f"Accepted. {_agreement(doc, row)}".strip()
    claim = "cheaper, and not worse" if verdict.claim == "cost" else "better"
    interval = ""
    if row.change is not None and row.confirmed_change and row.change.mean < 0:
        low, high = figures.percent(-row.change.high), figures.percent(-row.change.low)
        interval = f" The saving lies between {low} and {high}."
    seen = "that earlier runs had used" if doc.power.n_reused else "it had never seen"
    tasks = figures.counted(verdict.n, "task")
    said = f"Accepted on {tasks} {seen}: {claim}.{interval} {_agreement(doc, row)}".strip()
    if verdict.route != "referee":
        return said
    return f"{said} {sentence(f'{preferred_words(verdict)}{tipping_words(verdict)}')}"


def own_disagreement(doc: RunDocument) -> float | None:
    """Share of tasks on which the original disagrees with itself; None where not measured."""
    measured = (doc.base_disagreement, *(verdict.base_disagreement for verdict in doc.verdicts))
    return next((share for share in measured if share is not None), None)


def _agreement(doc: RunDocument, row: Row) -> str:
    changed = row.answers_changed
    if changed is None:
        return ""
    return (
        f"Answers changed on {figures.count_changed(changed)} tasks; with 95 % confidence accuracy "
        f"has moved by at most {figures.points(changed.high)} ({own_noise(own_disagreement(doc))})."
    )


def n_compared(doc: RunDocument) -> int:
    """How many candidates a number that no confirm task has seen is the best of."""
    return len(rows(doc)) - 1


def _open(doc: RunDocument, row: Row, verdict: Verdict | None) -> str:
    if verdict is None:
        return (
            f"Observed on {figures.counted(row.score.n, 'search task')}, best of "
            f"{figures.counted(n_compared(doc), 'candidate')}; not confirmed. {_agreement(doc, row)}"
        ).strip()
    more = ""
    if verdict.n_more_tasks:
        more = f"; about {figures.counted(verdict.n_more_tasks, 'more task')} would decide"
    tasks = figures.counted(verdict.n, "task")
    return f"Not settled on {tasks}{more}. {_agreement(doc, row)}".strip()


def verdict_sentences(verdict: Verdict) -> str:
    """What confirm found, by what it stands, and the original's own noise beside it."""
    noise = own_noise(verdict.base_disagreement) if verdict.n else ""
    said = (verdict.reason, route_words(verdict), noise)
    return " ".join(sentence(part) for part in said if part)


def _nothing(doc: RunDocument) -> Headline:
    n_tried = n_compared(doc)
    tried = figures.counted(n_tried, "candidate") if n_tried else "no candidate"
    cost = figures.usd(doc.baseline.cost_usd_per_task.mean * 1000)
    found = wastes(doc)
    waste = sum(each.usd_per_1000 for each in found)
    support = f"It costs {cost} for 1,000 tasks"
    if found:
        causes = figures.counted(len(found), "finding")
        support += f"; {causes} put {figures.usd(waste)} of that down as waste"
    return Headline(
        f"Nothing beat {doc.harness_name} as it is ({tried} tried).", f"{support}.", "nothing"
    )


def wastes(doc: RunDocument) -> tuple[Waste, ...]:
    """The findings, dearest first, then by lost success."""
    n = doc.n_diagnosed_trials
    made = [
        Waste(
            pattern=finding.pattern,
            part=finding.part or figures.NOTHING,
            usd_per_1000=per_thousand_tasks(finding, n) if n else 0.0,
            share=finding.wasted_usd / doc.diagnosed_usd if doc.diagnosed_usd > 0 else None,
            lost_success=finding.lost_success,
            advice=finding.advice,
        )
        for finding in doc.findings
    ]
    return tuple(sorted(made, key=lambda waste: (-waste.usd_per_1000, -waste.lost_success)))


def break_even_tasks(doc: RunDocument) -> int | None:
    """After how many tasks the saving has paid for thinking and measuring; None without a saving."""
    row = lead_row(doc)
    saved = doc.baseline.cost_usd_per_task.mean
    if row is None:
        return None
    saved -= row.cost_per_1000.mean / 1000
    spent = doc.spend.improver_usd + doc.spend.target_usd
    return math.ceil(spent / saved) if saved > 1 / NANOS_PER_USD else None


def paid_back_words(doc: RunDocument) -> str:
    """When the saving has paid for the run, certain only where it was accepted; empty without one."""
    row, tasks = lead_row(doc), break_even_tasks(doc)
    if row is None or tasks is None:
        return ""
    after = f"paid back after {figures.counted(tasks, 'task')}"
    return after if row.verdict == "accept" else f"if it holds, {after}"


def spend_words(doc: RunDocument) -> tuple[str, ...]:
    """Thinking, measuring, the bill, and when it has paid off."""
    spend = doc.spend
    places = figures.usd_decimals(spend.improver_usd, spend.target_usd)
    lines = [
        f"{figures.usd(spend.improver_usd, decimals=places)} on thinking, "
        f"{figures.usd(spend.target_usd, decimals=places)} on measuring (at list prices); "
        f"{figures.usd(spend.paid_usd)} billed."
    ]
    paid_back = paid_back_words(doc)
    if paid_back:
        lines.append(sentence(paid_back))
    if spend.n_ambiguous_calls:
        calls = figures.counted(spend.n_ambiguous_calls, "call")
        lines.append(f"{calls} may have been paid without an answer.")
    return tuple(lines)


def level_words(doc: RunDocument) -> tuple[str, str]:
    """The two walls as they really were: isolation, firewall."""
    isolation, firewall = doc.levels.isolation, doc.levels.firewall
    return (
        f"{isolation} ({ISOLATION_WORDS.get(isolation, 'unknown level')})",
        f"{firewall} ({FIREWALL_WORDS.get(firewall, 'unknown level')})",
    )


def model_words(doc: RunDocument) -> str:
    """Who answered under another name than it was asked by; empty where nobody did."""
    if not doc.answered_as:
        return ""
    names = "; ".join(f"{asked} answered as {told}" for asked, told in doc.answered_as)
    return f"{names}: see that this is the model you mean"


def firewall_words(doc: RunDocument) -> str:
    """What came out of the vault."""
    certificate = doc.certificate
    openings = figures.counted(certificate.vault_openings, "opening")
    hits = figures.counted(certificate.canary_hits, "canary hit")
    told = f"{certificate.leaked_bits:g} bits back to the search, {openings} of the vault so far, {hits}"
    if not certificate.leak_bound:
        return told
    return (
        f"{told}; what earlier openings told their readers can flatter this accuracy by at most "
        f"{100 * certificate.leak_bound:.0f} points"
    )


def power_words(doc: RunDocument) -> str:
    """What so many tasks can show."""
    power = doc.power
    sizes = f"{power.n_search} search and {power.n_confirm} confirm tasks"
    shown = []
    if power.agreement_bound_at_zero is not None:
        bound = figures.points(power.agreement_bound_at_zero)
        shown.append(f"no changed answer would bound the loss at {bound}")
    if power.min_detectable_gain is not None:
        shown.append(f"gains from {figures.points(power.min_detectable_gain)} can be seen")
    said = f"{sizes}: {'; '.join(shown)}" if shown else sizes
    reused = reuse_words(power)
    return f"{said}. {sentence(reused)}" if reused else said
