"""Where a run stands, worked out from its events; and how that reads. Pure.

Events come from outside: a field that is missing or of another type counts as unknown.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from statistics import fmean, pstdev

from pydantic import JsonValue

from harnesspro.view import figures
from harnesspro.view.text import safe_text

Fields = Mapping[str, JsonValue]
_N_GAPS = 40
_MIN_GAPS = 3
_Z_80 = 1.2816
_TEXT = 100
_LONG_TEXT = 400
PHASE_WORDS = {
    "measure": "measuring the harness",
    "diagnose": "finding waste",
    "propose": "proposing changes",
    "race": "racing candidates",
    "admit checks": "trying the generated checks on known answers",
    "calibrate": "measuring the referee on probes",
    "confirm": "confirming the picks",
    "controls": "asking the original once more",
    "open vault": "opening the vault",
}


@dataclass(frozen=True, slots=True)
class Progress:
    """What is known so far. Times are seconds on one clock; None is unknown."""

    started_at: float
    harness: str = "harness"
    phase: str = ""
    round_number: int | None = None
    n_rounds: int | None = None
    plan_trials: int | None = None
    n_planned: int = 0
    n_done: int = 0
    last_done_at: float | None = None
    gaps_s: tuple[float, ...] = ()
    """Between the last trials that were really run."""
    n_candidates: int = 0
    n_dropped: int = 0
    cap_usd: float | None = None
    trial_usd: float = 0.0
    """Of the trials really run since the run last gave its own count."""
    attributed_usd: float | None = None
    paid_usd: float | None = None
    best_saving: float | None = None
    patterns: frozenset[str] = frozenset()
    latest: str = ""
    paused: str = ""
    """Why nothing is started for now; empty where all goes on."""
    stopped: bool = False

    @property
    def n_total(self) -> int:
        """Trials to run in all, as far as is known."""
        return max(self.n_planned, self.plan_trials or 0, self.n_done)

    @property
    def spent_usd(self) -> float:
        """Attributed dollars: the run's own last count and what the trials since then took."""
        return (self.attributed_usd or 0.0) + self.trial_usd


def after(progress: Progress, event: str, fields: Fields, *, now: float) -> Progress:
    """The state after an event; an unknown one changes nothing."""
    step = _STEPS.get(event)
    return progress if step is None else step(progress, fields, now)


def _started(progress: Progress, fields: Fields, now: float) -> Progress:
    return replace(
        progress,
        started_at=now,
        harness=_text(fields, "harness") or progress.harness,
        cap_usd=_number(fields, "cap_usd"),
        plan_trials=_whole(fields, "plan_trials"),
    )


def _phase(progress: Progress, fields: Fields, now: float) -> Progress:
    return replace(
        progress,
        phase=_text(fields, "name"),
        round_number=_whole(fields, "round"),
        n_rounds=_whole(fields, "n_rounds"),
        last_done_at=now if progress.last_done_at is not None else None,
    )


def _planned(progress: Progress, fields: Fields, now: float) -> Progress:
    return replace(
        progress, n_planned=progress.n_planned + (_whole(fields, "n") or 0), last_done_at=now
    )


def _paused(progress: Progress, fields: Fields, now: float) -> Progress:
    return replace(progress, paused=_text(fields, "why") or "waiting", last_done_at=None)


def _done(progress: Progress, fields: Fields, now: float) -> Progress:
    if fields.get("outcome") != "void":
        progress = replace(progress, paused="")
    if fields.get("replayed") is True:
        return replace(progress, n_done=progress.n_done + 1, last_done_at=now)
    gaps = progress.gaps_s
    if progress.last_done_at is not None:
        gaps = (*gaps, max(0.0, now - progress.last_done_at))[-_N_GAPS:]
    return replace(
        progress,
        n_done=progress.n_done + 1,
        last_done_at=now,
        gaps_s=gaps,
        trial_usd=progress.trial_usd + (_number(fields, "cost_usd") or 0.0),
    )


def _finding(progress: Progress, fields: Fields, now: float) -> Progress:
    del now
    pattern = _text(fields, "pattern")
    return replace(progress, patterns=progress.patterns | {pattern})


def _candidate(progress: Progress, fields: Fields, now: float) -> Progress:
    del now
    latest = f"trying: {_text(fields, 'summary')}"
    return replace(progress, n_candidates=progress.n_candidates + 1, latest=latest)


def _refused(progress: Progress, fields: Fields, now: float) -> Progress:
    del now
    latest = f"refused: {_text(fields, 'summary')} ({_text(fields, 'reason')})"
    return replace(progress, latest=latest)


def _dropped(progress: Progress, fields: Fields, now: float) -> Progress:
    del now
    latest = f"dropped: {_short(fields)} ({_text(fields, 'reason')})"
    return replace(progress, n_dropped=progress.n_dropped + 1, latest=latest)


def _front(progress: Progress, fields: Fields, now: float) -> Progress:
    del now
    saving = _number(fields, "best_saving")
    return replace(progress, best_saving=progress.best_saving if saving is None else saving)


def _spend(progress: Progress, fields: Fields, now: float) -> Progress:
    del now
    attributed, paid = _number(fields, "attributed_usd"), _number(fields, "paid_usd")
    if attributed is None:
        return replace(progress, paid_usd=paid)
    return replace(progress, attributed_usd=attributed, trial_usd=0.0, paid_usd=paid)


def _stopped(progress: Progress, fields: Fields, now: float) -> Progress:
    del fields, now
    return replace(progress, stopped=True)


_STEPS: dict[str, Callable[[Progress, Fields, float], Progress]] = {
    "run.started": _started,
    "phase": _phase,
    "trials.planned": _planned,
    "trial.done": _done,
    "paused": _paused,
    "finding": _finding,
    "candidate": _candidate,
    "refused": _refused,
    "race.dropped": _dropped,
    "front": _front,
    "spend": _spend,
    "run.stopped": _stopped,
}


# --- how it reads ------------------------------------------------------------------------------


def milestone(before: Progress, event: str, fields: Fields) -> str | None:
    """The line an event deserves for good: a start, a phase, a first finding, a verdict, the end."""
    if event == "run.started":
        return _started_line(fields)
    if event == "phase":
        line = phase_words(_phase(before, fields, before.started_at))
        return None if line == phase_words(before) else line
    if event == "finding":
        return None if _text(fields, "pattern") in before.patterns else _finding_line(fields)
    if event == "verdict":
        reason = safe_text(fields.get("reason") or "", limit=_LONG_TEXT)
        return f"verdict on {_short(fields)}: {_text(fields, 'kind')}. {reason}"
    if event == "paused":
        return None if before.paused else f"paused: {_text(fields, 'why')}; goes on by itself"
    if event == "trial.done" and before.paused and fields.get("outcome") != "void":
        return "answers again: going on"
    if event == "run.stopped":
        return f"stopped: {_text(fields, 'reason')}"
    return None


def _finding_line(fields: Fields) -> str:
    pattern, part = _text(fields, "pattern"), _text(fields, "part")
    cost, lost = _number(fields, "usd_per_1000"), _number(fields, "lost_success")
    facts = [f"{figures.usd(cost)} for 1,000 tasks"] if cost else []
    facts += [f"{figures.percent(lost)} of trials lost"] if lost else []
    return (
        f"found: {pattern}{f' ({part})' if part else ''}{': ' if facts else ''}{', '.join(facts)}"
    )


def _started_line(fields: Fields) -> str:
    sizes = [
        f"{_whole(fields, name)} {words}"
        for name, words in (("n_search", "search"), ("n_confirm", "confirm"))
        if _whole(fields, name) is not None
    ]
    parts = [f"{' and '.join(sizes)} tasks"] if sizes else []
    plan, cap = _whole(fields, "plan_trials"), _number(fields, "cap_usd")
    if plan is not None:
        parts.append(f"at most {figures.counted(plan, 'trial')}")
    if cap is not None:
        parts.append(f"spending at most {figures.usd(cap)}")
    name = _text(fields, "harness") or "run"
    return f"{name}: {', '.join(parts)}" if parts else name


def phase_words(progress: Progress) -> str:
    """`racing candidates, round 1 of 2`."""
    words = PHASE_WORDS.get(progress.phase, progress.phase) or "starting"
    if progress.paused:
        words = f"paused while {words}"
    if progress.round_number is None or progress.n_rounds is None:
        return words
    return f"{words}, round {progress.round_number} of {progress.n_rounds}"


def facts(progress: Progress) -> list[str]:
    """Short facts in order of interest: trials, candidates, spend, saving."""
    shown = [f"{progress.n_done} of {progress.n_total} trials"]
    if progress.n_candidates:
        alive = progress.n_candidates - progress.n_dropped
        shown.append(f"{alive} of {progress.n_candidates} candidates alive")
    places = min(4, figures.usd_decimals(progress.spent_usd))
    spent = figures.usd(progress.spent_usd, decimals=places)
    cap = f" of {figures.usd(progress.cap_usd)}" if progress.cap_usd is not None else ""
    shown.append(f"{spent}{cap} spent")
    if progress.best_saving is not None:
        shown.append(f"best saving {figures.percent(progress.best_saving)}")
    return shown


def status_line(progress: Progress, *, now: float) -> str:
    """The whole state on one line."""
    return "; ".join([phase_words(progress), *facts(progress), left_words(progress, now=now)])


def left_words(progress: Progress, *, now: float) -> str:
    """`3-5 min left`, or that it is not known yet."""
    left = time_left_s(progress, now=now)
    if left is None:
        return "time left not known yet"
    low, high = left
    if high < 90:
        low, high = (5 * round(low / 5), 5 * max(1, math.ceil(high / 5)))
        unit = "s"
    else:
        low, high = round(low / 60), max(1, math.ceil(high / 60))
        unit = "min"
    return f"{low} {unit} left" if low == high else f"{low}-{high} {unit} left"


def time_left_s(progress: Progress, *, now: float) -> tuple[float, float] | None:
    """An 80 % range of the seconds left, from the last trials' pace; None with too few of them.

    The high end is for the whole plan; a race may end early, so the low end is for half of what is
    left of it, or for the trials already asked for where they are more. The sum of r further gaps
    of mean m and deviation s, both known from k of them, has the standard error
    s * sqrt(r + r * r / k). Time already waited for the next trial counts.
    """
    gaps = progress.gaps_s
    if len(gaps) < _MIN_GAPS:
        return None
    waited = now - progress.last_done_at if progress.last_done_at is not None else 0.0
    n_high = max(0, progress.n_total - progress.n_done)
    n_low = max(n_high // 2, progress.n_planned - progress.n_done)
    low = _gap_sum(gaps, n_low, z=-_Z_80) - waited
    high = _gap_sum(gaps, n_high, z=_Z_80) - waited
    return max(0.0, low), max(0.0, high)


def _gap_sum(gaps: tuple[float, ...], n: int, *, z: float) -> float:
    return n * fmean(gaps) + z * pstdev(gaps) * math.sqrt(n + n * n / len(gaps))


# --- fields ------------------------------------------------------------------------------------


def _number(fields: Fields, name: str) -> float | None:
    value = fields.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None


def _whole(fields: Fields, name: str) -> int | None:
    value = _number(fields, name)
    return None if value is None else int(value)


def _short(fields: Fields) -> str:
    """The candidate's id as tables show it."""
    return _text(fields, "id").removeprefix("h-")[:6]


def _text(fields: Fields, name: str) -> str:
    value = fields.get(name)
    return "" if value is None else safe_text(value, limit=_TEXT)
