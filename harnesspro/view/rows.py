"""A run document as rows: the baseline, then the front by cost, then the rest; and as CSV.

Pure. Numbers stay numbers here; how they read is `figures` and `sentences`.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from harnesspro.core.documents import Point, RunDocument
from harnesspro.core.records import Estimate, Stamp, VerdictKind
from harnesspro.view.text import safe_text

Kind = Literal["baseline", "front", "other"]
BASELINE_NAME = "baseline"
PICK_NAMES = ("cheapest_safe", "knee", "best")
_MIN_SHORT = 6
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True, slots=True)
class Row:
    """One harness, as tables and charts show it."""

    candidate_id: str
    short_id: str
    """The fewest characters that tell it from the run's other candidates; `baseline` for it."""
    letter: str
    """`B` for the baseline, then `a`, `b`, ...: the mark in a small plot."""
    kind: Kind
    on_front: bool
    """True of the front's members; the baseline may be one."""
    picks: tuple[str, ...]
    """Which named points of the front it is: `cheapest_safe`, `knee`, `best`."""
    summary: str
    proposer: str
    verdict: VerdictKind | None
    stamp: Stamp
    score: Estimate
    answers_changed: Estimate | None
    """Share of tasks whose answer changed, `high` its upper 95 % bound: of the confirm tasks for a
    pick. None for the baseline and where not measured."""
    cost_per_1000: Estimate
    """Dollars for 1,000 tasks."""
    change: Estimate | None
    """Cost against the baseline's as a fraction, -0.6 = 60 % cheaper; None without a base cost."""
    confirmed_change: bool
    """Whether `change` is the paired ratio of the confirm tasks, with its interval."""
    latency_s: Estimate
    p_on_front: float | None
    """Probability that no other candidate dominates it."""
    accuracy: Estimate | None
    n_right: int | None
    isolation: str


def rows(doc: RunDocument) -> tuple[Row, ...]:
    """Every harness of the run once, in reading order."""
    front_ids = {point.candidate_id for point in doc.front}
    base_id = doc.baseline.candidate_id
    points = {p.candidate_id: p for p in (*doc.candidates, *doc.front)}
    points.pop(base_id, None)
    ranked = sorted(
        points.values(),
        key=lambda p: (p.candidate_id not in front_ids, p.cost_usd_per_task.mean, p.candidate_id),
    )
    short = short_ids([base_id, *points])
    named = [
        _row(doc, point, letter, short)
        for letter, point in zip(_letters(len(ranked)), ranked, strict=True)
    ]
    return (_row(doc, doc.baseline, "B", short), *named)


def _row(doc: RunDocument, point: Point, letter: str, short: dict[str, str]) -> Row:
    picks = doc.picks.model_dump()
    on_front = point.candidate_id in {member.candidate_id for member in doc.front}
    kind: Kind = "front" if on_front else "other"
    if point.candidate_id == doc.baseline.candidate_id:
        kind = "baseline"
    change, confirmed = _change(doc, point) if kind != "baseline" else (None, False)
    name = BASELINE_NAME if kind == "baseline" else short[point.candidate_id]
    accuracy = point.accuracy
    return Row(
        candidate_id=point.candidate_id,
        short_id=name,
        letter=letter,
        kind=kind,
        on_front=on_front,
        picks=tuple(pick for pick in PICK_NAMES if picks[pick] == point.candidate_id),
        summary=point.summary,
        proposer=point.proposer,
        verdict=point.verdict,
        stamp=point.stamp,
        score=point.score,
        answers_changed=_answers_changed(doc, point),
        cost_per_1000=scaled(point.cost_usd_per_task, 1000.0),
        change=change,
        confirmed_change=confirmed,
        latency_s=point.latency_s,
        p_on_front=point.p_on_front,
        accuracy=accuracy,
        n_right=round(accuracy.mean * accuracy.n) if accuracy else None,
        isolation=point.isolation,
    )


def _answers_changed(doc: RunDocument, point: Point) -> Estimate | None:
    for verdict in doc.verdicts:
        if verdict.candidate_id == point.candidate_id and verdict.n > 0:
            share = verdict.n_changed / verdict.n
            return Estimate(mean=share, low=0.0, high=verdict.changed_upper, n=verdict.n)
    return point.answers_changed


def _change(doc: RunDocument, point: Point) -> tuple[Estimate | None, bool]:
    """From the confirm tasks where the point was a pick, else on the search tasks.

    Reports that lack the ratio on the same tasks give that of the two means.
    """
    for verdict in doc.verdicts:
        ratio = verdict.cost_ratio
        if verdict.candidate_id == point.candidate_id and ratio is not None:
            shifted = {name: getattr(ratio, name) - 1.0 for name in ("mean", "low", "high")}
            return Estimate(n=ratio.n, **shifted), True
    base, cost = doc.baseline.cost_usd_per_task, point.cost_usd_per_task
    if base.mean <= 0:
        return None, False
    change = (cost.mean / base.mean if point.cost_ratio is None else point.cost_ratio) - 1.0
    return Estimate(mean=change, low=change, high=change, n=cost.n), False


def scaled(estimate: Estimate, factor: float) -> Estimate:
    """Mean and interval times a positive factor."""
    return Estimate(
        mean=estimate.mean * factor,
        low=estimate.low * factor,
        high=estimate.high * factor,
        n=estimate.n,
    )


def short_ids(ids: Iterable[str]) -> dict[str, str]:
    """Each id without its kind prefix, cut to the shortest length that keeps all apart."""
    full = {each: each.partition("-")[2] or each for each in ids}
    length = _MIN_SHORT
    while len({text[:length] for text in full.values()}) < len(set(full.values())):
        length += 1
    return {each: text[:length] for each, text in full.items()}


def _letters(n: int) -> list[str]:
    alphabet = "abcdefghijklmnopqrstuvwxyz"
    return [alphabet[i % 26] + (str(i // 26) if i >= 26 else "") for i in range(n)]


# --- CSV ---------------------------------------------------------------------------------------


def csv_text(doc: RunDocument) -> str:
    """The rows as CSV with a header; dollars per 1,000 tasks, shares as fractions.

    A text cell that a spreadsheet would take for a formula is prefixed with an apostrophe.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_HEADER)
    for row in rows(doc):
        writer.writerow(_cells(row))
    return out.getvalue()


_HEADER = (
    "candidate_id",
    "kind",
    "picks",
    "summary",
    "proposer",
    "verdict",
    "stamp",
    "isolation",
    "p_on_front",
    *(
        f"{name}_{part}"
        for name in (
            "score",
            "answers_changed",
            "cost_usd_per_1000",
            "cost_change",
            "latency_s",
            "accuracy",
        )
        for part in ("mean", "low", "high", "n")
    ),
)


def _cells(row: Row) -> list[str | float | int]:
    texts = (
        row.candidate_id,
        row.kind,
        " ".join(row.picks),
        row.summary,
        row.proposer,
        row.verdict or "",
        row.stamp,
        row.isolation,
    )
    cells: list[str | float | int] = [csv_cell(text) for text in texts]
    cells.append("" if row.p_on_front is None else row.p_on_front)
    for estimate in (
        row.score,
        row.answers_changed,
        row.cost_per_1000,
        row.change,
        row.latency_s,
        row.accuracy,
    ):
        cells += _numbers(estimate)
    return cells


def _numbers(estimate: Estimate | None) -> list[str | float | int]:
    if estimate is None:
        return ["", "", "", ""]
    return [estimate.mean, estimate.low, estimate.high, estimate.n]


def csv_cell(text: str) -> str:
    """The text as no spreadsheet reads a formula into it."""
    shown = safe_text(text)
    return f"'{shown}" if text.lstrip(" ").startswith(_FORMULA_STARTS) else shown
