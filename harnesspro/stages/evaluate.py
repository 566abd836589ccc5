"""Run harnesses on tasks and say how it goes. The only stage that runs target trials."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from harnesspro.core.decide import StopName
from harnesspro.core.errors import HarnessProError
from harnesspro.core.ports import Backend, EventSink, TrialJob
from harnesspro.core.records import Harness, Task, Trial

MAX_VOID_SHARE = 0.25


class Cut(Exception):
    """The run has to stop now. Everything measured so far is on record."""

    def __init__(self, reason: StopName, detail: str) -> None:
        """`reason` is the stop reason of the run document."""
        super().__init__(detail)
        self.reason: StopName = reason
        self.detail = detail


class RoundSpent(Cut):
    """The round's purse is used up: the search ends here, what is left of the run's cap confirms."""


def jobs_for(
    harnesses: Iterable[Harness],
    tasks: Sequence[Task],
    *,
    draws: Sequence[str],
    models: dict[str, str],
) -> tuple[TrialJob, ...]:
    """One block a task: every harness and draw on it, side by side."""
    variants = tuple(harnesses)
    return tuple(
        TrialJob(harness=harness, task=task, draw=draw, purse="target", models=models)
        for task in tasks
        for draw in draws
        for harness in variants
    )


def evaluate(
    jobs: Sequence[TrialJob],
    *,
    backend: Backend,
    events: EventSink,
    cut_now: Callable[[], Cut | None],
) -> tuple[Trial, ...]:
    """The jobs' trials, voids left out.

    Raises:
        Cut: time, money or the user ended the run; finished trials are on record.
        HarnessProError: so many trials were void that the ground itself is broken.
    """
    events.emit("trials.planned", n=len(jobs))
    trials: list[Trial] = []
    n_void = 0
    for trial in backend.run(jobs):
        events.emit(
            "trial.done",
            cost_usd=trial.cost_usd,
            paid_usd=trial.paid_nanos / 1e9,
            latency_s=trial.latency_s,
            outcome=trial.outcome,
            harness_id=trial.harness_id,
            replayed=trial.n_calls > 0 and trial.n_replayed == trial.n_calls,
        )
        if trial.outcome == "void":
            n_void += 1
            _refuse_broken_ground(n_void, len(jobs), trial)
        else:
            trials.append(trial)
        cut = cut_now()
        if cut is not None:
            raise cut
    if len(trials) + n_void < len(jobs):
        raise cut_now() or Cut("interrupted", "the backend ended before all trials were run")
    return tuple(trials)


def _refuse_broken_ground(n_void: int, n_jobs: int, trial: Trial) -> None:
    if n_void > max(2, MAX_VOID_SHARE * n_jobs):
        raise HarnessProError(
            "evaluate",
            f"{n_void} of {n_jobs} trials failed for reasons outside the harness "
            f"(last: {trial.fault or 'unknown'})",
            expected="a model and a sandbox that answer",
            fix="mend the cause and resume; nothing recorded is lost",
        )
