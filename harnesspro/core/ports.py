"""The sockets between the judge's reasoning and the world.

Each Protocol says what an implementer owes. Implementations do not inherit. Ledger, call ledger,
meter and sandbox have a suite in `harnesspro.testing` that every implementation and every double
passes. All calls are synchronous.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, JsonValue

from harnesspro.core.documents import Spend
from harnesspro.core.hashing import content_id
from harnesspro.core.records import (
    Harness,
    KnobValue,
    Limits,
    Patch,
    Price,
    Record,
    Step,
    Task,
    Trial,
    Usage,
)

PurseName = Literal["improver", "target"]
ReplyT = TypeVar("ReplyT", bound=BaseModel)


# --- models ------------------------------------------------------------------------------------


class ChatRequest(Record):
    """One chat completion, resolved: the role is already a model, bounds already applied."""

    model: str
    messages: tuple[dict[str, JsonValue], ...]
    max_output_tokens: int
    temperature: float | None = None
    response_format: dict[str, JsonValue] | None = None
    tools: tuple[dict[str, JsonValue], ...] | None = None
    stop: tuple[str, ...] | None = None
    effort: str | None = None
    seed: int | None = None


class ChatReply(Record):
    """What a provider answered. `finish_reason` is `stop`, `length`, `tool_calls` or `other`."""

    text: str
    finish_reason: str
    usage: Usage
    model: str
    latency_s: float
    tool_calls: tuple[dict[str, JsonValue], ...] = ()
    response_id: str | None = None


class ModelProvider(Protocol):
    """A family of models chosen by name (`sim/NAME`, `local/NAME`, any LiteLLM name).

    Thread-safe: the broker calls `complete` from several threads.
    """

    def complete(self, request: ChatRequest, *, timeout_s: float) -> ChatReply:
        """One completion. The same request with the same seed should give the same reply.

        Raises:
            ProviderError: failed for good, key refused, or no reply within `timeout_s` seconds.
            ModelUnknown: the provider has no such model.
        """

    def price(self, model: str) -> Price | None:
        """List price, or None where it is unknown. Never a made-up zero. No network."""

    def check(self, model: str) -> None:
        """Return where the model could be called now; spends nothing.

        Raises:
            ModelUnknown: no such model, or it is not downloaded.
            ProviderError: no key, or the server does not answer.
        """


# --- trials ------------------------------------------------------------------------------------


PurseKind = Literal["run", "improver", "round", "candidate"]


class Purse(Record):
    """A purse a trial spends from, inside another: what it holds binds those within it."""

    path: str
    """Its name behind those it lies in, parted by `/`; `run` holds all others."""
    kind: PurseKind
    cap_nanos: int | None = None
    """The most it may hold and spend, attributed; None = only what it lies in binds it."""


class Grant(Record):
    """What one trial may do at the broker. The token that stands for it dies with the trial."""

    trial_id: str
    harness_id: str
    task_id: str
    draw: str
    """Part of the replay key: the same request in the same draw is one reply (see `Meter`)."""
    purse: PurseName
    within: tuple[Purse, ...] = ()
    """Purses of its own side that the trial spends from too, outermost first."""
    models: dict[str, str]
    """Role -> model."""
    max_output_tokens: dict[str, int]
    """Role -> bound."""
    limits: Limits


LimitHit = Literal[
    "usd", "calls", "run_budget", "improver_budget", "round_budget", "candidate_budget"
]


class Metered(Record):
    """What a trial used, by the broker's own count."""

    usage: Usage
    n_calls: int
    n_replayed: int
    cost_nanos: int
    """Attributed, replayed calls in full."""
    paid_nanos: int
    model_latency_s: float
    limit_hit: LimitHit | None = None
    ground_fault: str | None = None
    """Set when a provider failed for good during the trial: the trial is void."""


class Meter(Protocol):
    """The broker as the orchestrator sees it: the only door to models, and the purses.

    Replay: the key is (model, request, draw, n-th occurrence of this request in the trial); a
    recorded reply is handed out again, attributed in full and paid nothing.
    """

    def open_trial(self, grant: Grant) -> str:
        """A fresh token for one trial."""

    def close_trial(self, token: str) -> Metered:
        """Retire the token and give the count. Calls still in flight are waited for."""

    def spend(self) -> Spend:
        """The run's spend so far, attributed by purse, and paid."""


class Ledger(Protocol):
    """Facts under content keys. Nothing is ever changed or removed."""

    def get(self, kind: str, key: str) -> Any | None:
        """The JSON value recorded, or None."""

    def put(self, kind: str, key: str, value: Any) -> None:
        """Record durably before returning. The same value again is a no-op.

        Raises:
            IntegrityError: another value stands under this key.
        """

    def all(self, kind: str) -> list[tuple[str, Any]]:
        """Every (key, value) of a kind in the order written."""

    def steps(self, trial_id: str) -> tuple[Step, ...]:
        """The model calls of the trial's last attempt, in order."""


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """One model call a trial is about to make, with the worst it can cost."""

    trial_id: str
    attempt: int
    index: int
    """Order of the call within the attempt, from 0."""
    role: str
    draw: str
    purse: PurseName
    replay_key: str
    reserved_nanos: int
    paid: bool
    """Whether a bill arrives (`Price.paid`)."""
    request: ChatRequest
    within: tuple[Purse, ...] = (Purse(path="run", kind="run"),)
    """Every purse it is reserved from, the run's first, each inside the one before."""


@dataclass(frozen=True, slots=True)
class CallEnd:
    """How a sent call ended.

    `failed`: the provider refused and billed nothing. `ambiguous`: it may have billed; the call
    stays charged at its reservation.
    """

    state: Literal["done", "failed", "ambiguous"]
    reply: ChatReply | None = None
    """Set where, and only where, the call is done."""
    attributed_nanos: int = 0
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """A reply on record, and what the call it came from is attributed."""

    call_id: int
    reply: ChatReply
    attributed_nanos: int


class CallLedger(Protocol):
    """What the broker writes of model calls, and the run's purse. Thread-safe.

    A call that was sent when the writer died is found ambiguous when the ledger is opened again.
    Charged to the purses: attributed dollars of every call that was not replayed.
    """

    def open_attempt(self, grant: Grant) -> int:
        """Record that a trial begins; its attempt number, from 0."""

    def replay(self, call: PlannedCall) -> RecordedCall | None:
        """The done call under this replay key, recorded durably as replayed by `call`; or None."""

    def send(self, call: PlannedCall) -> int:
        """Reserve the worst case from every purse of the call and record it as sent, durably, in one
        step; its call id.

        Raises:
            BudgetExhausted: reserved and charged with this call would pass the cap of a purse, which
                the error names; nothing is reserved or recorded.
        """

    def settle(self, call_id: int, end: CallEnd) -> None:
        """Record the end durably, and exchange the reservation for the charge.

        Raises:
            IntegrityError: the call is not in flight.
        """

    def spend(self) -> Spend:
        """Attributed dollars by purse and dollars paid, replayed calls excluded.

        Ambiguous calls count at their reservation; calls in flight do not count yet.
        """


class RunLedger(CallLedger, Ledger, Protocol):
    """Both halves of a run's ledger in one object."""


@dataclass(frozen=True, slots=True)
class SandboxSpec:
    """One sandboxed start. Everything the code inside sees is named here."""

    name: str
    """For logs; unique within the run."""
    code_dir: str
    """Absolute host folder mounted read-only at /harness."""
    argv: tuple[str, ...] | None
    """A command, or None for the Python entry named in the payload."""
    payload: str
    """JSON text placed at /work/task.json."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Relative path -> text, placed under /work before the start."""
    broker: bool = True
    """Whether the broker's socket is mounted."""
    wall_s: float = 60.0
    cpu_s: float | None = None
    """Processor seconds of all its processes; None leaves it to the clock and the cores."""
    output_bytes: int = 1_000_000
    memory_bytes: int = 2_000_000_000
    """What all its processes may use together."""
    n_processes: int = 64
    disk_bytes: int = 256 << 20
    """Bounds each file and all files of /work together."""
    n_files: int = 20_000
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SandboxResult:
    """How it ended. `result` is the bytes of /work/answer.json, None where absent or unsafe."""

    ended: Literal["exited", "wall", "output", "killed", "refused"]
    """`killed`: over another limit, which stderr names, or the run was ended; `refused`: the
    sandbox itself could not start (the ground's fault).
    """
    exit_code: int | None
    result: bytes | None
    stderr: str
    """The last 4 kB, untrusted."""
    wall_s: float


class Sandbox(Protocol):
    """Starts untrusted code. Thread-safe. Never raises for what the code inside does."""

    @property
    def level(self) -> str:
        """`S3`, `S2r`, `S2` or `S0`."""

    def run(self, spec: SandboxSpec) -> SandboxResult:
        """Run to the end; the whole process tree is dead when this returns."""


@dataclass(frozen=True, slots=True)
class TrialJob:
    """One trial to run: the backend opens a grant, starts the sandbox, closes, records."""

    harness: Harness
    task: Task
    draw: str
    purse: PurseName
    models: Mapping[str, str]
    attempt: int = 0
    within: tuple[Purse, ...] = ()
    """Purses of its own side that it spends from too, outermost first."""

    @property
    def trial_id(self) -> str:
        """Content key: the same harness, task content, draw and models are the same trial."""
        models = dict(sorted(self.models.items()))
        return content_id("t", self.harness.harness_id, self.task.content_key, self.draw, models)


class Backend(Protocol):
    """Where trials run."""

    def run(self, jobs: Sequence[TrialJob]) -> Iterator[Trial]:
        """Each job's Trial as it ends, any order; recorded in the ledger before it is yielded.

        A job whose trial is recorded already is yielded from the ledger and costs nothing. `void`
        trials are retried once and yielded as void if they fail again.
        """


# --- storage -----------------------------------------------------------------------------------


class Trees(Protocol):
    """Candidate trees, by harness id."""

    def put(self, harness: Harness, *, message: str) -> None:
        """Keep the files as one commit whose parent is the parent's commit. Idempotent."""

    def files(self, harness_id: str) -> dict[str, str]:
        """The files of a kept harness.

        Raises:
            IntegrityError: not kept here, or the content does not hash to the id.
        """

    def stage(self, harness_id: str) -> str:
        """An absolute folder holding the files, written once, never changed, world-readable."""


class ArchiveEntry(Record):
    """What the archive knows of a harness that once stood on a front."""

    model_config = ConfigDict(allow_inf_nan=False)

    entry_id: str
    name: str
    """The harness's manifest name."""
    harness_id: str
    base_harness_id: str
    answer_kind: str
    models: dict[str, str]
    stamp: Literal["observed", "confirmed"]
    isolation: str
    summary: str
    edits_json: str
    """The lineage's patches from base to here, a JSON list of Patch, oldest first."""
    knobs: dict[str, KnobValue]
    cost_ratio: float
    answers_changed: float | None
    patterns: tuple[str, ...]
    search_task_keys: tuple[str, ...]
    """Content keys of the search tasks its lineage has seen; confirm excludes them."""
    price_table_hash: str
    run_id: str
    created_at: str
    lesson: str


class Archive(Protocol):
    """The memory. Append-only; an entry is placed whole or not at all."""

    def add(self, entry: ArchiveEntry, files: Mapping[str, str]) -> None:
        """Place an entry with its tree. The same entry again is a no-op.

        Raises:
            ConfigError: the entry was measured without isolation (S0 may not enter).
        """

    def entries(self) -> tuple[ArchiveEntry, ...]:
        """All entries, oldest first, the user's own and the shipped ones."""

    def files(self, entry_id: str) -> dict[str, str]:
        """The tree of an entry, its hash verified."""


# --- gold --------------------------------------------------------------------------------------


class GradeRequest(Record):
    """One stored answer to grade: the artefact digest binds the reply to the bytes sent."""

    digest: str
    task_id: str
    answer: JsonValue


class GradeReply(Record):
    """Fixed-size reply of the grader; no text, no timing, no expected value."""

    digest: str
    grade: Literal["right", "wrong", "no_gold"]


class Opening(Record):
    """Everything that comes back from the one opening of the vault."""

    replies: tuple[GradeReply, ...]
    n_openings: int
    """Openings of this task set so far, this one included."""
    canary_hits: int
    merkle_root: str


class Grader(Protocol):
    """The vault's door. Search never holds one."""

    def open_sealed(self, requests: Sequence[GradeRequest]) -> Opening:
        """Grade all at once, count the opening, scan the run folder for canaries.

        Raises:
            IntegrityError: the vault does not match the root committed in the run header.
        """


# --- the improver ------------------------------------------------------------------------------


class Dropped(Record):
    """An agent's reply that could not be used, on record."""

    agent: str
    reason: str


class Improver(Protocol):
    """The model-assisted layer: an agents/ folder run in the sandbox like any harness."""

    def ask(
        self, agent: str, question: BaseModel, reply: type[ReplyT], *, key: str
    ) -> ReplyT | Dropped:
        """The agent's typed reply: validated, repaired once with the message, else dropped.

        `key` makes the question's draw; the same question under the same key is paid once.
        """


class Proposer(Protocol):
    """One way of making patches."""

    @property
    def name(self) -> str:
        """As it stands in `Patch.proposer`."""

    def propose(self, question: Any) -> tuple[Patch, ...]:
        """Patches for the question's parent; may be empty, never raises for want of ideas."""


# --- ambient -----------------------------------------------------------------------------------


class EventSink(Protocol):
    """Progress for whoever watches. May drop; never raises; never answers."""

    def emit(self, event: str, **fields: JsonValue) -> None:
        """One event; `event` is a short noun-verb such as `trial.done`."""


class Clock(Protocol):
    """The only source of time for the loop."""

    def now(self) -> float:
        """Seconds since the epoch, UTC."""
