"""Stand-ins that keep to the contracts of `core.ports`, for tests that need no disk and no model."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, JsonValue, ValidationError

from harnesspro.core.documents import Spend
from harnesspro.core.errors import BudgetExhausted, HarnessProError, IntegrityError, UsageError
from harnesspro.core.hashing import canonical_json
from harnesspro.core.money import usd_from_nanos
from harnesspro.core.ports import (
    CallEnd,
    ChatReply,
    ChatRequest,
    Dropped,
    Grant,
    Metered,
    PlannedCall,
    PurseName,
    RecordedCall,
    ReplyT,
    SandboxResult,
    SandboxSpec,
)
from harnesspro.core.records import Harness, Price, Step, Usage

Script = str | ChatReply | HarnessProError | Callable[[ChatRequest], ChatReply]


class MemoryLedger:
    """A `Ledger` and `CallLedger` that lives as long as the object."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._records: dict[tuple[str, str], str] = {}
        self._attempts: dict[str, int] = {}
        self._calls: list[PlannedCall] = []
        self._ends: dict[int, CallEnd] = {}
        self._replays: dict[int, RecordedCall] = {}

    def get(self, kind: str, key: str) -> Any | None:
        return dict(self.all(kind)).get(key)

    def put(self, kind: str, key: str, value: Any) -> None:
        text = canonical_json(value)
        with self._lock:
            if self._records.setdefault((kind, key), text) != text:
                raise IntegrityError(f"ledger: {kind} {key}", "another value is recorded")

    def all(self, kind: str) -> list[tuple[str, Any]]:
        with self._lock:
            found = [(key, text) for (its, key), text in self._records.items() if its == kind]
        return [(key, json.loads(text)) for key, text in found]

    def steps(self, trial_id: str) -> tuple[Step, ...]:
        with self._lock:
            attempt = self._attempts.get(trial_id)
            found = [
                self._step(call_id, call)
                for call_id, call in enumerate(self._calls)
                if (call.trial_id, call.attempt) == (trial_id, attempt) and self._is_done(call_id)
            ]
        return tuple(sorted(found, key=lambda step: step.index))

    def open_attempt(self, grant: Grant) -> int:
        with self._lock:
            attempt = self._attempts.get(grant.trial_id, -1) + 1
            self._attempts[grant.trial_id] = attempt
        return attempt

    def replay(self, call: PlannedCall) -> RecordedCall | None:
        with self._lock:
            for call_id, end in self._ends.items():
                if end.reply and self._calls[call_id].replay_key == call.replay_key:
                    found = RecordedCall(call_id, end.reply, end.attributed_nanos)
                    self._replays[len(self._calls)] = found
                    self._calls.append(call)
                    return found
        return None

    def send(self, call: PlannedCall) -> int:
        with self._lock:
            for purse in call.within:
                held = self._held(purse.path)
                if purse.cap_nanos is not None and held + call.reserved_nanos > purse.cap_nanos:
                    error = BudgetExhausted(f"budget of {purse.path}", "the next call may pass it")
                    error.purse_path = purse.path
                    raise error
            self._calls.append(call)
            return len(self._calls) - 1

    def settle(self, call_id: int, end: CallEnd) -> None:
        with self._lock:
            if call_id in self._ends or not 0 <= call_id < len(self._calls):
                raise IntegrityError(f"ledger: call {call_id}", "not in flight")
            self._ends[call_id] = end

    def spend(self) -> Spend:
        with self._lock:
            ended = [(self._calls[each], self._committed(each)) for each in self._ends]
            n_ambiguous = sum(end.state == "ambiguous" for end in self._ends.values())

        def total(purse: PurseName) -> float:
            return usd_from_nanos(sum(nanos for call, nanos in ended if call.purse == purse))

        return Spend(
            improver_usd=total("improver"),
            target_usd=total("target"),
            paid_usd=usd_from_nanos(sum(nanos for call, nanos in ended if call.paid)),
            n_ambiguous_calls=n_ambiguous,
        )

    def _held(self, path: str) -> int:
        """What a purse's calls hold or took of it."""
        return sum(
            self._committed(call_id)
            for call_id, call in enumerate(self._calls)
            if path in {purse.path for purse in call.within}
        )

    def _committed(self, call_id: int) -> int:
        """What a call holds or took of the purse."""
        if call_id in self._replays:
            return 0
        end = self._ends.get(call_id)
        if end is None or end.state == "ambiguous":
            return self._calls[call_id].reserved_nanos
        return end.attributed_nanos

    def _is_done(self, call_id: int) -> bool:
        end = self._ends.get(call_id)
        return call_id in self._replays or (end is not None and end.state == "done")

    def _step(self, call_id: int, call: PlannedCall) -> Step:
        replayed, end = self._replays.get(call_id), self._ends.get(call_id)
        reply = replayed.reply if replayed else end.reply if end else None
        assert reply is not None
        nanos = replayed.attributed_nanos if replayed else end.attributed_nanos if end else 0
        return Step(
            index=call.index,
            role=call.role,
            model=call.request.model,
            request=call.request.model_dump(
                mode="json", exclude_none=True, exclude={"model", "seed"}
            ),
            reply=reply.text,
            finish_reason=reply.finish_reason,
            usage=reply.usage,
            cost_nanos=nanos,
            latency_s=reply.latency_s,
            replayed=replayed is not None,
        )


class ScriptedProvider:
    """A `ModelProvider` that answers from a list, in order, and keeps what it was asked.

    A text becomes a reply whose tokens are the words in and out; an error is raised; a function
    is called with the request. Asked once too often, it fails and names the call.
    """

    def __init__(self, script: Sequence[Script], *, price: Price | None = None) -> None:
        self.script = list(script)
        self.requests: list[ChatRequest] = []
        self._price = price
        self._lock = threading.Lock()

    def complete(self, request: ChatRequest, *, timeout_s: float) -> ChatReply:
        with self._lock:
            n_before = len(self.requests)
            self.requests.append(request)
        if n_before >= len(self.script):
            raise AssertionError(
                f"call {n_before + 1} to {request.model} is beyond the script of "
                f"{len(self.script)}: {request.messages[-1]}"
            )
        line = self.script[n_before]
        if isinstance(line, HarnessProError):
            raise line
        if isinstance(line, str):
            return reply_of(line, request)
        return line if isinstance(line, ChatReply) else line(request)

    def price(self, model: str) -> Price | None:
        return self._price

    def check(self, model: str) -> None:
        return None


class FixedClock:
    """A `Clock` that stands where it was set."""

    def __init__(self, now: float = 1_700_000_000.0) -> None:
        self.at = now

    def now(self) -> float:
        return self.at


class NullSink:
    """An `EventSink` for whoever does not watch."""

    def emit(self, event: str, **fields: JsonValue) -> None:
        return None


class ScriptedImprover:
    """An `Improver` that answers from a list, in order, and keeps what it was asked.

    A mapping is validated as the reply asked for, and dropped where it does not fit. Asked once too
    often, it fails and names the question.
    """

    def __init__(self, script: Sequence[BaseModel | Mapping[str, Any] | Dropped]) -> None:
        self.script = list(script)
        self.asked: list[tuple[str, BaseModel, str]] = []

    def ask(
        self, agent: str, question: BaseModel, reply: type[ReplyT], *, key: str
    ) -> ReplyT | Dropped:
        self.asked.append((agent, question, key))
        if len(self.asked) > len(self.script):
            raise AssertionError(
                f"question {len(self.asked)} to {agent} ({key}) is beyond the script of "
                f"{len(self.script)}"
            )
        line = self.script[len(self.asked) - 1]
        if isinstance(line, Dropped):
            return line
        try:
            return reply.model_validate(line.model_dump() if isinstance(line, BaseModel) else line)
        except ValidationError as error:
            return Dropped(agent=agent, reason=str(error.errors()[0]["msg"]))


class ScriptedSandbox:
    """A `Sandbox` that starts nothing: it answers from a list, in order, or by a function.

    Keeps what it was asked. Asked more often than the list is long, it fails and names the start.
    """

    def __init__(
        self,
        script: Sequence[SandboxResult] | Callable[[SandboxSpec], SandboxResult],
        *,
        level: str = "S3",
    ) -> None:
        self.script, self.specs, self._level = script, list[SandboxSpec](), level
        self._lock = threading.Lock()

    @property
    def level(self) -> str:
        return self._level

    def run(self, spec: SandboxSpec) -> SandboxResult:
        with self._lock:
            n_before = len(self.specs)
            self.specs.append(spec)
        if callable(self.script):
            return self.script(spec)
        if n_before >= len(self.script):
            raise AssertionError(
                f"start {n_before + 1} ({spec.name}) is beyond the script of {len(self.script)}"
            )
        return self.script[n_before]


class ScriptedMeter:
    """A `Meter` whose trials used what a list says, in the order they are closed, or a function.

    Keeps every grant. A trial closed beyond the list fails and is named.
    """

    def __init__(
        self,
        script: Sequence[Metered] | Callable[[Grant], Metered],
        *,
        spent: Spend | None = None,
    ) -> None:
        self.script, self.grants = script, list[Grant]()
        self.spent = spent or Spend(improver_usd=0.0, target_usd=0.0, paid_usd=0.0)
        self._open: dict[str, Grant] = {}
        self._n_closed = 0
        self._lock = threading.Lock()

    def open_trial(self, grant: Grant) -> str:
        with self._lock:
            self.grants.append(grant)
            token = f"token-{len(self.grants)}"
            self._open[token] = grant
        return token

    def close_trial(self, token: str) -> Metered:
        with self._lock:
            grant = self._open.pop(token, None)
            if grant is None:
                raise UsageError("trial token", "unknown or retired")
            n_before, self._n_closed = self._n_closed, self._n_closed + 1
        if callable(self.script):
            return self.script(grant)
        if n_before >= len(self.script):
            raise AssertionError(
                f"close {n_before + 1} ({grant.trial_id}) is beyond the script of "
                f"{len(self.script)}"
            )
        return self.script[n_before]

    def spend(self) -> Spend:
        return self.spent


class FolderTrees:
    """A `Trees` that writes each harness into a folder of its own, without history."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._kept: dict[str, dict[str, str]] = {}

    def put(self, harness: Harness, *, message: str) -> None:
        self._kept[harness.harness_id] = dict(harness.files)

    def files(self, harness_id: str) -> dict[str, str]:
        if harness_id not in self._kept:
            raise IntegrityError(f"tree {harness_id}", "not kept here")
        return dict(self._kept[harness_id])

    def stage(self, harness_id: str) -> str:
        folder = self._root / harness_id
        for path, text in self.files(harness_id).items():
            target = folder / path
            if not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(text, encoding="utf-8")
        return str(folder)


def reply_of(text: str, request: ChatRequest) -> ChatReply:
    """A reply saying `text`, its tokens counted as words, instantly."""
    asked = canonical_json(list(request.messages))
    usage = Usage(uncached_in_tokens=len(asked.split()), out_tokens=max(1, len(text.split())))
    return ChatReply(
        text=text, finish_reason="stop", usage=usage, model=request.model, latency_s=0.0
    )
