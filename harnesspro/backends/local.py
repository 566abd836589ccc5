"""Trials on this machine: grant, sandbox, count, record; several at once on threads."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from threading import Event
from typing import Any

from harnesspro.core.errors import ProviderBusy, ProviderError
from harnesspro.core.ports import (
    Grant,
    Ledger,
    Meter,
    Metered,
    Sandbox,
    SandboxResult,
    SandboxSpec,
    Trees,
    TrialJob,
)
from harnesspro.core.records import Harness, Task, Trial

N_ATTEMPTS = 2
MOST_SILENCE_S = 600.0
"""How long a provider that answers nobody is waited for before the run ends."""
_FAULT_CHARS = 500
_MAX_DEPTH = 100
"""Levels of nesting an answer may have; what stores and compares it recurses."""

PayloadOf = Callable[[Harness, Task], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class LocalBackend:
    """Runs trials in order, `concurrency` at a time. Implements `core.ports.Backend`.

    `stop` or `purse_empty` set means: finish what is running, start nothing more; `run` then
    yields fewer trials than it was given jobs.
    """

    sandbox: Sandbox
    meter: Meter
    ledger: Ledger
    trees: Trees
    payload_of: PayloadOf
    concurrency: int
    stop: Event
    """Set from outside, to end early."""
    purse_empty: Event
    """Set here, once the run's cap refused a call."""
    round_empty: Event
    """Set here, once a round's cap did."""
    paused: Callable[[str], object] = lambda _why: None
    """Told why nothing is started for now; often, and from several threads."""
    poll_s: float = 1.0
    """Between two looks whether a provider answers again."""
    most_silence_s: float = MOST_SILENCE_S

    @property
    def ending(self) -> bool:
        """Whether nothing more may be started."""
        return any(e.is_set() for e in (self.stop, self.purse_empty, self.round_empty))

    def run(self, jobs: Sequence[TrialJob]) -> Iterator[Trial]:
        """Each job's trial as it ends; see the port."""
        waiting = iter(jobs)
        running: set[Future[Trial | None]] = set()
        with ThreadPoolExecutor(max_workers=self.concurrency) as pool:
            while True:
                while len(running) < self.concurrency and not self.ending:
                    job = next(waiting, None)
                    if job is None:
                        break
                    running.add(pool.submit(self._trial, job))
                if not running:
                    return
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    trial = future.result()
                    if trial is not None:
                        yield trial

    def _trial(self, job: TrialJob) -> Trial | None:
        recorded = self.ledger.get("trial", job.trial_id)
        if recorded is not None:
            return Trial.model_validate(recorded)
        trial, silence = None, _Silence(self.most_silence_s)
        attempt = n_counted = 0
        while n_counted < N_ATTEMPTS and not (self.ending and attempt):
            waited_s = silence.waited_s
            trial = self._attempt(job, attempt, silence)
            if trial is None or trial.outcome != "void":
                break
            attempt += 1
            n_counted += silence.waited_s == waited_s  # who only found out that it is still silent
        if trial is not None and trial.outcome != "void":
            self.ledger.put("trial", trial.trial_id, trial.model_dump(mode="json"))
        return trial

    def _attempt(self, job: TrialJob, attempt: int, silence: _Silence) -> Trial | None:
        """One try; None when the run's or the round's purse is empty, or it ended while a provider was
        waited for: nothing follows from it.
        """
        token = self._opened(job, silence)
        if token is None:
            return None
        try:
            result = self.sandbox.run(self._spec(job, token, attempt))
        finally:
            metered = self.meter.close_trial(token)
        empty = {"run_budget": self.purse_empty, "round_budget": self.round_empty}
        if metered.limit_hit in empty:
            empty[metered.limit_hit].set()
            return None
        return trial_from(job, result, metered, attempt=attempt, isolation=self.sandbox.level)

    def _opened(self, job: TrialJob, silence: _Silence) -> str | None:
        """The trial's token, once its models answer; None where the run ends before that.

        Raises:
            ProviderError: one has answered nobody for too long; everything measured is on record.
        """
        while True:
            try:
                return self.meter.open_trial(_grant(job))
            except ProviderBusy as error:
                silence.bear(error, self.poll_s)
                self.paused(error.found)
            if self.stop.wait(self.poll_s) or self.ending:
                return None

    def _spec(self, job: TrialJob, token: str, attempt: int) -> SandboxSpec:
        manifest = job.harness.manifest
        payload = self.payload_of(job.harness, job.task) | {"token": token}
        return SandboxSpec(
            name=f"{job.trial_id}-{attempt}",
            code_dir=self.trees.stage(job.harness.harness_id),
            argv=manifest.entry.command,
            payload=json.dumps(payload),
            files=job.task.files,
            wall_s=manifest.limits.wall_s,
            output_bytes=manifest.limits.output_bytes,
        )


@dataclass(slots=True)
class _Silence:
    """How long one trial has waited for a provider that answers nobody."""

    most_s: float
    waited_s: float = 0.0

    def bear(self, error: ProviderBusy, seconds: float) -> None:
        """Wait a little longer.

        Raises:
            ProviderError: it has been too long.
        """
        if self.waited_s >= self.most_s:
            raise ProviderError(
                error.where,
                f"{error.found}, {self.waited_s:.0f} s of them waited",
                expected="a provider that answers",
                fix="resume the run once it does",
            ) from error
        self.waited_s += seconds


def _grant(job: TrialJob) -> Grant:
    manifest = job.harness.manifest
    return Grant(
        trial_id=job.trial_id,
        harness_id=job.harness.harness_id,
        task_id=job.task.task_id,
        draw=job.draw,
        purse=job.purse,
        within=job.within,
        models=dict(job.models),
        max_output_tokens={name: role.max_output_tokens for name, role in manifest.roles.items()},
        limits=manifest.limits,
    )


def trial_from(
    job: TrialJob, result: SandboxResult, metered: Metered, *, attempt: int, isolation: str
) -> Trial:
    """The record of what happened; whatever the code inside claims is data, never trusted."""
    said = _said(result.result)
    outcome, fault = _outcome(result, metered, said)
    answer = said.get("answer") if outcome == "answered" else None
    notes = said.get("notes")
    return Trial(
        trial_id=job.trial_id,
        harness_id=job.harness.harness_id,
        task_id=job.task.task_id,
        draw=job.draw,
        attempt=attempt,
        outcome=outcome,
        answer=answer,
        usage=metered.usage,
        n_calls=metered.n_calls,
        n_replayed=metered.n_replayed,
        cost_nanos=metered.cost_nanos,
        paid_nanos=metered.paid_nanos,
        latency_s=metered.model_latency_s,
        fault=fault[:_FAULT_CHARS] if fault else None,
        notes=tuple(str(note)[:_FAULT_CHARS] for note in notes[:50])
        if isinstance(notes, list)
        else (),
        isolation=isolation,
    )


def _said(raw: bytes | None) -> Mapping[str, Any]:
    """The result as an object; empty where it is none, or holds what no record can: NaN, half a
    character, a depth nothing here recurses to.
    """
    if raw is None:
        return {}
    try:
        value = json.loads(raw)
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) and not _is_deeper(value, _MAX_DEPTH) else {}


def _is_deeper(value: object, most: int) -> bool:
    level = [value]
    for _ in range(most):
        level = [child for parent in level for child in _children(parent)]
    return bool(level)


def _children(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _outcome(
    result: SandboxResult, metered: Metered, said: Mapping[str, Any]
) -> tuple[Any, str | None]:
    if result.ended == "refused":
        return "void", f"sandbox: {result.stderr.strip()}"
    if metered.ground_fault is not None:
        return "void", metered.ground_fault
    if result.ended == "wall":
        return "limit", f"wall clock: over {result.wall_s:.0f} s"
    if result.ended == "output":
        return "limit", "output: over the byte limit"
    claimed, fault = str(said.get("outcome")), said.get("fault")
    text = fault if isinstance(fault, str) else None
    if metered.limit_hit is not None and claimed != "answered":
        return "limit", text or f"{metered.limit_hit} limit reached"
    if claimed == "answered" and said.get("answer") is not None:
        return "answered", None
    if claimed in {"malformed", "answered"}:
        return "malformed", text
    return "crashed", text or _last_line(result)


def _last_line(result: SandboxResult) -> str:
    lines = result.stderr.strip().splitlines()
    if lines:
        return lines[-1]
    left = "no answer" if result.result is None else "a result that is no JSON object of an answer"
    return f"ended with exit code {result.exit_code} and {left}"
