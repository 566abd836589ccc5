"""A run's front among those harnesses that are fast enough. Pure.

Latency is the sum of a trial's model latencies; a replay counts what was recorded.
"""

from __future__ import annotations

from collections.abc import Sequence

from harnesspro.core.documents import Picks, Point, RunDocument
from harnesspro.view import figures


def within_latency(doc: RunDocument, seconds: float) -> RunDocument:
    """The same run with the front of those that take at most `seconds` a task on average.

    Members of the front that are fast enough stay; those that only slower harnesses beat, on means,
    join them. Everything else is as measured, the number of candidates compared among it.
    """
    points = {one.candidate_id: one for one in (doc.baseline, *doc.candidates, *doc.front)}
    fast = [one for one in points.values() if one.latency_s.mean <= seconds]
    slow = [one for one in points.values() if one.latency_s.mean > seconds]
    on_front = {one.candidate_id for one in doc.front}
    front = [
        one
        for one in fast
        if one.candidate_id in on_front or _freed(one, fast=fast, slow=slow, trusted=_trusted(doc))
    ]
    front.sort(key=lambda one: one.cost_usd_per_task.mean)
    return doc.model_copy(
        update={
            "front": tuple(front),
            "picks": _picks(doc, front, fast),
            "words": (_note(seconds, n_fast=len(fast), n_slow=len(slow)), *doc.words),
        }
    )


def _trusted(doc: RunDocument) -> bool:
    return doc.referee.trusted


def _freed(one: Point, *, fast: Sequence[Point], slow: Sequence[Point], trusted: bool) -> bool:
    """Whether only slower harnesses beat it."""
    if one.verdict == "reject":
        return False
    beaten = any(_beats(other, one, trusted=trusted) for other in fast)
    return not beaten and any(_beats(other, one, trusted=trusted) for other in slow)


def _beats(a: Point, b: Point, *, trusted: bool) -> bool:
    """Nowhere worse and somewhere better, on means; answers kept count while nobody can judge them."""
    left, right = _axes(a, trusted=trusted), _axes(b, trusted=trusted)
    return left != right and all(x >= y for x, y in zip(left, right, strict=True))


def _axes(point: Point, *, trusted: bool) -> tuple[float, ...]:
    """More is better on each."""
    kept = 1.0 if point.answers_changed is None else 1.0 - point.answers_changed.mean
    axes = (point.score.mean, -point.cost_usd_per_task.mean)
    return axes if trusted else (*axes, kept)


def _picks(doc: RunDocument, front: Sequence[Point], fast: Sequence[Point]) -> Picks:
    """The knee where it is fast enough; the best of this front; the cheapest fast one accepted."""
    ids = {one.candidate_id for one in front}
    accepted = [one for one in fast if one.verdict == "accept"]
    safe = min(accepted, key=lambda one: one.cost_usd_per_task.mean, default=None)
    if safe is None:
        safe = next((one for one in fast if one.candidate_id == doc.baseline.candidate_id), None)
    best = max(front, key=lambda one: one.score.mean, default=None)
    return Picks(
        knee=doc.picks.knee if doc.picks.knee in ids else None,
        cheapest_safe=safe.candidate_id if safe else None,
        best=best.candidate_id if best else None,
    )


def _note(seconds: float, *, n_fast: int, n_slow: int) -> str:
    limit = figures.seconds(seconds)
    if not n_fast:
        return f"No harness takes at most {limit} a task on average, so there is no front."
    slower = "none is slower" if not n_slow else f"{n_slow} slower left out of it"
    return f"The front is of harnesses that take at most {limit} a task on average; {slower}."
