"""Live progress: a few lines redrawn on a terminal, a line now and then without one, never an error."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue
from rich.console import Console

from harnesspro.view.live import LiveProgress
from harnesspro.view.progress import (
    Progress,
    after,
    left_words,
    milestone,
    status_line,
    time_left_s,
)


class Ticking:
    """A clock moved by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def plain() -> tuple[LiveProgress, Ticking, io.StringIO]:
    clock, out = Ticking(), io.StringIO()
    return LiveProgress(Console(file=out, width=80), clock=clock), clock, out


def played(
    *events: tuple[str, dict[str, JsonValue]], every_s: float = 2.0
) -> tuple[Progress, float]:
    progress, now = Progress(started_at=0.0), 0.0
    for event, fields in events:
        now += every_s
        progress = after(progress, event, fields, now=now)
    return progress, now


START: tuple[str, dict[str, JsonValue]] = (
    "run.started",
    {"harness": "toy", "n_search": 32, "n_confirm": 64, "cap_usd": 1.0, "plan_trials": 60},
)
DONE: tuple[str, dict[str, JsonValue]] = ("trial.done", {"cost_usd": 0.001, "replayed": False})


def test_without_a_terminal_milestones_are_lines_and_trials_are_throttled() -> None:
    live, clock, out = plain()
    live.emit(START[0], **START[1])
    live.emit("phase", name="measure", round=1, n_rounds=2)
    live.emit("trials.planned", n=12)
    for _ in range(12):
        clock.now += 4
        live.emit("trial.done", cost_usd=0.001, replayed=False)
    live.emit("finding", pattern="samples agree", part="flow", usd_per_1000=0.0806)
    live.emit("finding", pattern="samples agree", part="flow", usd_per_1000=0.0806)
    live.emit("run.stopped", reason="rounds")
    assert out.getvalue().splitlines() == [
        "00:00  toy: 32 search and 64 confirm tasks, at most 60 trials, spending at most $1.00",
        "00:00  measuring the harness, round 1 of 2",
        "00:12  measuring the harness, round 1 of 2; 3 of 60 trials; $0.0030 of $1.00 spent; "
        "2-4 min left",
        "00:24  measuring the harness, round 1 of 2; 6 of 60 trials; $0.0060 of $1.00 spent; "
        "2-4 min left",
        "00:36  measuring the harness, round 1 of 2; 9 of 60 trials; $0.0090 of $1.00 spent; "
        "2-4 min left",
        "00:48  measuring the harness, round 1 of 2; 12 of 60 trials; $0.0120 of $1.00 spent; "
        "2-4 min left",
        "00:48  found: samples agree (flow): $0.0806 for 1,000 tasks",
        "00:48  stopped: rounds",
    ]


def test_on_a_terminal_the_state_is_redrawn_and_taken_away_at_the_end() -> None:
    out = io.StringIO()
    live = LiveProgress(Console(file=out, force_terminal=True, width=80), clock=Ticking())
    live.emit(START[0], **START[1])
    live.emit("phase", name="race", round=2, n_rounds=2)
    live.emit("candidate", id="h-1", summary="One sample.", proposer="operator:x")
    live.emit("run.stopped", reason="rounds")
    text = out.getvalue()
    assert "racing candidates, round 2 of 2" in text
    assert "trying: One sample." in text
    assert text.rstrip().endswith("\x1b[2K")  # the live lines were erased


def test_leaving_the_context_stops_the_redrawing() -> None:
    out = io.StringIO()
    with LiveProgress(Console(file=out, force_terminal=True, width=80)) as live:
        live.emit("phase", name="race", round=1, n_rounds=1)
    redrawing = [t for t in threading.enumerate() if type(t).__module__ == "rich.live"]
    for thread in redrawing:
        thread.join(timeout=5)
    assert not [thread for thread in redrawing if thread.is_alive()]
    assert out.getvalue().endswith("\x1b[2K")


def test_a_terminal_that_goes_away_does_not_stop_the_run() -> None:
    live, _, out = plain()
    out.close()
    live.emit(START[0], **START[1])
    live.emit("run.stopped", reason="rounds")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=3,
)
EVENTS = st.sampled_from(
    [
        *("run.started", "phase", "trials.planned", "trial.done", "finding", "candidate"),
        *("refused", "race.dropped", "front", "verdict", "spend", "run.stopped", "mystery"),
    ]
)
FIELDS = st.dictionaries(
    st.sampled_from(
        [
            *("harness", "n_search", "cap_usd", "plan_trials", "name", "round", "n_rounds", "n"),
            *("cost_usd", "replayed", "pattern", "usd_per_1000", "part", "id", "summary"),
            *("reason", "best_saving", "kind", "attributed_usd", "paid_usd", "other"),
        ]
    ),
    JSON,
)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(EVENTS, FIELDS), max_size=8))
def test_any_event_with_any_fields_is_taken(events: list[tuple[str, dict[str, JsonValue]]]) -> None:
    live, clock, out = plain()
    for event, fields in events:
        clock.now += 6
        live.emit(event, **fields)
    assert "\x1b" not in out.getvalue()


def test_an_unknown_event_changes_nothing() -> None:
    progress = Progress(started_at=0.0)
    assert after(progress, "mystery", {"n": 1}, now=5.0) == progress
    assert milestone(progress, "mystery", {"n": 1}) is None


def test_candidates_spend_and_saving_are_counted() -> None:
    progress, now = played(
        START,
        ("phase", {"name": "race", "round": 1, "n_rounds": 2}),
        ("candidate", {"id": "h-1", "summary": "One."}),
        ("candidate", {"id": "h-2", "summary": "Two."}),
        ("race.dropped", {"id": "h-2", "reason": "dearer"}),
        ("front", {"size": 2, "best_saving": 0.67}),
        ("trial.done", {"cost_usd": 0.5, "replayed": False}),
        ("spend", {"attributed_usd": 0.0042, "paid_usd": 0.0}),
        ("trial.done", {"cost_usd": 0.001, "replayed": False}),
        ("trial.done", {"cost_usd": 0.001, "replayed": True}),
    )
    assert status_line(progress, now=now) == (
        "racing candidates, round 1 of 2; 3 of 60 trials; 1 of 2 candidates alive; "
        "$0.0052 of $1.00 spent; best saving 67 %; time left not known yet"
    )


def steady(n: int) -> Iterator[tuple[str, dict[str, JsonValue]]]:
    yield START
    yield ("trials.planned", {"n": 40})
    yield from [DONE] * n


def test_a_steady_pace_gives_the_exact_time_left() -> None:
    progress, now = played(*steady(20))
    assert time_left_s(progress, now=now) == (40.0, 80.0)  # 20 asked for, 40 planned, 2 s each
    assert left_words(progress, now=now) == "40-80 s left"


def test_time_waited_for_the_next_trial_counts() -> None:
    progress, now = played(*steady(20))
    assert time_left_s(progress, now=now + 10) == (30.0, 70.0)


def test_too_few_trials_or_replayed_ones_give_no_forecast() -> None:
    few, now = played(*steady(2))
    assert time_left_s(few, now=now) is None
    replayed: tuple[str, dict[str, JsonValue]] = ("trial.done", {"replayed": True})
    none, now = played(START, ("trials.planned", {"n": 9}), *[replayed] * 9)
    assert left_words(none, now=now) == "time left not known yet"


def test_a_run_that_is_done_has_nothing_left() -> None:
    progress, now = played(*steady(60))
    assert time_left_s(progress, now=now) == (0.0, 0.0)


@given(
    st.lists(st.floats(min_value=0, max_value=60), min_size=3, max_size=50),
    st.integers(min_value=0, max_value=500),
)
def test_the_range_is_never_upside_down(gaps: list[float], n_planned: int) -> None:
    progress = Progress(
        started_at=0.0, n_done=3, n_planned=n_planned, gaps_s=tuple(gaps), last_done_at=0.0
    )
    left = time_left_s(progress, now=1.0)
    assert left is not None
    assert 0.0 <= left[0] <= left[1]


@pytest.mark.parametrize(
    ("seconds", "words"), [(1.0, "20-40 s left"), (3.0, "1-2 min left"), (60.0, "20-40 min left")]
)
def test_short_times_are_seconds_and_long_ones_minutes(seconds: float, words: str) -> None:
    progress = Progress(
        started_at=0.0, n_done=20, plan_trials=60, gaps_s=(seconds,) * 5, last_done_at=0.0
    )
    assert left_words(progress, now=0.0) == words


@pytest.mark.parametrize(
    ("event", "fields", "line"),
    [
        ("finding", {"pattern": "p", "usd_per_1000": 0.0}, "found: p"),
        ("finding", {"pattern": "p", "lost_success": 0.042}, "found: p: 4.2 % of trials lost"),
        (
            "verdict",
            {"id": "h-cd45c0b2bbcb5b63", "kind": "accept", "reason": "0 of 64 answers changed"},
            "verdict on cd45c0: accept. 0 of 64 answers changed",
        ),
        ("phase", {"name": "open vault", "round": None, "n_rounds": None}, "opening the vault"),
        (
            "phase",
            {"name": "calibrate", "round": None, "n_rounds": None},
            "measuring the referee on probes",
        ),
        ("phase", {"name": "novel", "round": 1, "n_rounds": 2}, "novel, round 1 of 2"),
        ("trial.done", {"cost_usd": 1.0}, None),
    ],
)
def test_milestones_say_what_is_known(
    event: str, fields: dict[str, JsonValue], line: str | None
) -> None:
    assert milestone(Progress(started_at=0.0), event, fields) == line
