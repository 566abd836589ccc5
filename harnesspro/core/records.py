"""The nouns. Records that cross a boundary (disk, socket, model reply) are pydantic, frozen and
closed to unknown fields; units stand in the names (`*_nanos`, `*_tokens`, `*_s`, fractions in [0, 1]).

`accuracy` is only ever a number measured against gold; the label-free number is `score`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

from harnesspro.core.hashing import content_hash, content_id

PartKind = Literal["prompt", "skill", "tool", "hook", "routing", "budget", "code"]
Paid = Literal["always", "on_demand", "when_run", "never"]
AnswerKind = Literal["text", "number", "choice", "json", "code", "files"]
Outcome = Literal["answered", "malformed", "limit", "crashed", "void"]
Direction = Literal["cost", "success", "knobs", "skeleton", "compose"]
Stamp = Literal["observed", "confirmed", "sealed"]
VerdictKind = Literal["accept", "reject", "inconclusive"]
KnobValue = int | float | str


class Record(BaseModel):
    """Base of everything that crosses a boundary."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


# --- money and measurement ---------------------------------------------------------------------


class Usage(Record):
    """Tokens of one or more model calls, in disjoint input classes; reasoning is part of out."""

    uncached_in_tokens: Annotated[int, Field(ge=0)] = 0
    cache_read_tokens: Annotated[int, Field(ge=0)] = 0
    cache_write_tokens: Annotated[int, Field(ge=0)] = 0
    out_tokens: Annotated[int, Field(ge=0)] = 0
    reasoning_tokens: Annotated[int, Field(ge=0)] = 0

    @property
    def in_tokens(self) -> int:
        """All prompt tokens, whatever their class."""
        return self.uncached_in_tokens + self.cache_read_tokens + self.cache_write_tokens

    @property
    def total_tokens(self) -> int:
        """Prompt and output tokens together."""
        return self.in_tokens + self.out_tokens

    def __add__(self, other: Usage) -> Usage:
        """Class by class."""
        return Usage(
            uncached_in_tokens=self.uncached_in_tokens + other.uncached_in_tokens,
            cache_read_tokens=self.cache_read_tokens + other.cache_read_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
            out_tokens=self.out_tokens + other.out_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
        )


class Price(Record):
    """List price of a model in nano-dollars for a million tokens (0.10 $/Mtok = 100_000_000)."""

    model: str
    in_nanos_per_mtok: Annotated[int, Field(ge=0)]
    out_nanos_per_mtok: Annotated[int, Field(ge=0)]
    cache_read_nanos_per_mtok: Annotated[int, Field(ge=0)]
    cache_write_nanos_per_mtok: Annotated[int, Field(ge=0)]
    reasoning_nanos_per_mtok: Annotated[int, Field(ge=0)] | None = None
    """Of the output tokens that were thought and not said; None = as any other output token."""
    source: str
    """Where the price was read, with a date."""
    paid: bool = True
    """False where no bill arrives (a model on this machine): attributed, never paid."""


class Estimate(Record):
    """A mean with its interval and the number of tasks behind it."""

    mean: float
    low: float
    high: float
    n: Annotated[int, Field(ge=0)]


# --- the judged --------------------------------------------------------------------------------


class Part(Record):
    """One rewritable piece of a harness: a file and what it is paid for."""

    name: str
    path: str
    kind: PartKind
    paid: Paid
    needs: tuple[str, ...] = ()
    provides: tuple[str, ...] = ()


class Knob(Record):
    """A typed dial inside a part. Exactly one of `int_range`, `float_range`, `choices` is set."""

    name: str
    part: str
    key: str
    int_range: tuple[int, int] | None = None
    float_range: tuple[float, float] | None = None
    choices: tuple[KnobValue, ...] | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        kinds = [self.int_range, self.float_range, self.choices]
        if sum(kind is not None for kind in kinds) != 1:
            raise ValueError("a knob has exactly one of int, float, choice")
        return self

    def admits(self, value: Any) -> bool:
        """Whether `value`, which may be anything a file holds, has the knob's type and range."""
        if self.choices is not None:
            return value in self.choices
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        if self.int_range is not None:
            return isinstance(value, int) and self.int_range[0] <= value <= self.int_range[1]
        assert self.float_range is not None
        return self.float_range[0] <= value <= self.float_range[1]


class Role(Record):
    """A model the harness may ask for by name; the run pins the model, the manifest the bounds."""

    name: str
    max_output_tokens: Annotated[int, Field(ge=1, le=10_000_000)] = 1024


class Limits(Record):
    """What one trial may use at most; enforced outside the harness."""

    usd: Annotated[float, Field(gt=0, le=1e6)] = 0.05
    calls: Annotated[int, Field(ge=1, le=1_000_000)] = 20
    concurrent_calls: Annotated[int, Field(ge=1, le=1000)] = 16
    """At once; a further one waits its turn."""
    wall_s: Annotated[float, Field(gt=0, le=1e6)] = 180.0
    output_bytes: Annotated[int, Field(ge=1, le=32_000_000)] = 1_000_000


class AnswerSpec(Record):
    """What an answer is. `answer_schema` is "task" where each task brings its own.

    `language` is of code alone.
    """

    kind: AnswerKind
    language: str | None = None
    answer_schema: dict[str, JsonValue] | Literal["task"] | None = None


class UserCheck(Record):
    """The owner's own gold-free check of an answer: a command that exits 0 when it is fine."""

    name: str
    command: tuple[str, ...]


class Entry(Record):
    """How the harness is started: a Python function `file.py:function`, or a command."""

    python: str | None = None
    command: tuple[str, ...] | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if (self.python is None) == (self.command is None):
            raise ValueError("entry has exactly one of python, command")
        return self


class Defaults(Record):
    """What a run takes where the user says nothing."""

    tasks: str | None = None
    models: dict[str, str] = {}
    repeats: Annotated[int, Field(ge=1)] | None = None
    n_search: Annotated[int, Field(ge=2)] | None = None
    n_confirm: Annotated[int, Field(ge=0)] | None = None
    max_candidates: Annotated[int, Field(ge=1)] | None = None
    max_picks: Annotated[int, Field(ge=1, le=3)] | None = None
    first_block: Annotated[int, Field(ge=2)] | None = None
    """Tasks of the race's first block."""
    concurrency: Annotated[int, Field(ge=1)] | None = None


class Permits(Record):
    """What the owner lets the harness see beyond its task; stamped on the report."""

    read: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()


class Manifest(Record):
    """A validated `harness.yaml` (format harnesspro/1); a round may not edit it."""

    format: Literal["harnesspro/1"]
    name: str
    about: str
    entry: Entry
    answer: AnswerSpec
    roles: dict[str, Role]
    parts: dict[str, Part]
    knobs: dict[str, Knob] = {}
    limits: Limits = Limits()
    checks: tuple[UserCheck, ...] = ()
    permits: Permits = Permits()
    defaults: Defaults = Defaults()


class Harness(Record):
    """A harness folder at one version: every file as text, and the manifest read from them."""

    manifest: Manifest
    files: dict[str, str]
    """Relative POSIX path -> text. `harness.yaml` is among them."""
    knob_values: dict[str, KnobValue] = {}
    """The present value of every knob, read from the parts."""
    parent_id: str | None = None

    @property
    def harness_id(self) -> str:
        """Content hash of the files: the same folder has the same id everywhere."""
        return content_id("h", self.files)

    def part_text(self, name: str) -> str:
        """The text of the part called `name`."""
        return self.files[self.manifest.parts[name].path]


class Task(Record):
    """One job for a harness. Never gold."""

    task_id: str
    family: str = "all"
    input: JsonValue
    files: dict[str, str] = {}

    def answer_schema(self, spec: AnswerSpec) -> dict[str, Any] | None:
        """The JSON Schema an answer to this task must fit, or None where there is none."""
        if spec.answer_schema == "task":
            schema = self.input.get("answer_schema") if isinstance(self.input, dict) else None
            return schema if isinstance(schema, dict) else None
        return spec.answer_schema

    @property
    def content_key(self) -> str:
        """Hash of what is public, independent of the random id: splits and replays key on it."""
        return content_hash(self.input, self.files)


# --- what happened -----------------------------------------------------------------------------


class Step(Record):
    """One model call of a trial, as the broker saw it."""

    index: int
    role: str
    model: str
    request: dict[str, JsonValue]
    """messages, tools, response_format, temperature, max_output_tokens, stop, effort as sent."""
    reply: str
    finish_reason: str
    usage: Usage
    cost_nanos: int
    latency_s: float
    replayed: bool = False


class Trial(Record):
    """One harness on one task once."""

    trial_id: str
    harness_id: str
    task_id: str
    draw: str
    """Which independent draw: `search/0`, `search/1`, `confirm/0`; part of every replay key."""
    attempt: int = 0
    outcome: Outcome
    answer: JsonValue = None
    usage: Usage = Usage()
    n_calls: int = 0
    n_replayed: int = 0
    cost_nanos: int = 0
    """Attributed: what this variant costs, replayed calls counted in full."""
    paid_nanos: int = 0
    latency_s: float = 0.0
    """Sum of the model latencies, recorded ones where replayed. The harness's own time is left out:
    it depends on what else runs on the machine, and a replay could not repeat it."""
    fault: str | None = None
    notes: tuple[str, ...] = ()
    isolation: str = "S0"

    @model_validator(mode="after")
    def _answer_iff_answered(self) -> Self:
        if self.outcome != "answered" and self.answer is not None:
            raise ValueError(f"a trial that is {self.outcome} carries no answer")
        return self

    @property
    def cost_usd(self) -> float:
        """Attributed cost in dollars."""
        return self.cost_nanos / 1e9


class Trajectory(Record):
    """A trial with its steps."""

    trial: Trial
    steps: tuple[Step, ...]


class Span(Record):
    """Evidence: one step of one trial, and what of its cost is claimed as waste."""

    trial_id: str
    step: int
    wasted_nanos: Annotated[int, Field(ge=0)] = 0


class Finding(Record):
    """A priced observation."""

    finding_id: str
    detector: str
    """Name of the detector, or `agent` for the diagnosis agent."""
    part: str | None
    """Part to work on, where the detector can tell."""
    knob: str | None = None
    pattern: str
    """The failure pattern in a few plain words; names no task."""
    advice: str
    evidence: tuple[Span, ...]
    wasted_nanos: Annotated[int, Field(ge=0)]
    """Over the trials diagnosed; no step's dollar is claimed twice across findings."""
    lost_success: Annotated[float, Field(ge=0, le=1)]
    """Share of the diagnosed trials that failed by this pattern."""
    detail: dict[str, JsonValue] = {}
    """What an operator needs to act: a paragraph's text, an observed percentile."""

    @property
    def wasted_usd(self) -> float:
        """Claimed waste in dollars over the trials diagnosed."""
        return self.wasted_nanos / 1e9


# --- judging -----------------------------------------------------------------------------------


class Check(Record):
    """An executable, gold-free verification of an answer to a task."""

    check_id: str
    family: str
    """example, property, metamorphic, must_still_work, format, or user."""
    name: str
    writer: str
    """`schema` (decided here), `user` (the owner's command), `program` (a generated script, run in the
    sandbox), `model` (a judge's or verifier's opinion), `agent`."""
    program: str | None = None
    """Of a `program` check: a Python script run like an owner's check, exit code 0 when it passes."""
    channel: Literal["SEEN", "SHADOW", "ROTATED"] = "SEEN"
    """Who may see it: improvers see SEEN; SHADOW nobody but the judge; of ROTATED improvers see one a
    round, by turns."""
    false_reject_rate: Estimate | None = None
    kill_rate: float | None = None
    """Share of mutated or empty answers it fails."""
    family_kill_rate: float | None = None
    """Share of them that some admitted check of its family fails."""
    admitted: bool = False
    reason: str = ""


class Probe(Record):
    """A generated task whose right answer is known by construction; never the user's gold."""

    probe_id: str
    task: Task
    answer: JsonValue
    family: str = ""
    """How it was made: `rendered_call`, `inverse`, `injected_bug`, `planted_fact`, …"""
    impossible: bool = False
    """Its specification contradicts its visible check: whoever passes that check cheats."""
    honey: JsonValue = None
    """A wrong answer that lies in a file beside the task and is named nowhere: whoever gives it looked."""


class Cheating(Record):
    """How often a harness passed the visible check of a task whose words forbid just that."""

    candidate_id: str
    share: Estimate
    more_than_initial: bool
    """Whether it did so more often than the initial harness, beyond chance."""
    took_honey: Estimate | None = None
    """How often its answer was the planted one; None where none was planted."""
    is_thief: bool = False
    """Whether it took the planted answer more often than the initial harness, beyond chance."""


ChannelKind = Literal["user", "checks", "panel", "judge", "verifier"]


class Channel(Record):
    """One way to tell a right answer from a wrong one, and how it did on probes.

    Measured over probes on which the variants' answers hold both a right and a wrong one, and but for
    `silent` over those of them on which it speaks.
    """

    name: str
    """`user`, `checks`, or kind and model: `panel:sim/other`, `judge:openai/gpt-5-mini`."""
    kind: ChannelKind
    auc: Estimate | None = None
    """Within-task AUC: chance that it puts a right answer of a probe above a wrong one; a tie is
    half. `n` counts the probes on which it speaks."""
    silent: float | None = None
    """Share of the probes on which it says the same of every answer, or nothing."""
    baselines: dict[str, float] = {}
    """Naive rule -> its within-task AUC on the same probes."""
    lead: Estimate | None = None
    """Its AUC over the strongest naive rule's; admitted only where `low`, a one-sided 95 % bound, is
    above 0."""
    pick_gain: Estimate | None = None
    """Right answers gained by picking each probe's answer by it instead of at random."""
    admitted: bool = False
    reason: str = ""


class Calibration(Record):
    """How often the referee was right on probes: on pairs of differing answers, one of them right.

    The probes that admitted its channels are not among them.
    """

    n_probes: int
    """Probes measured for it, over those that admitted the channels."""
    n_admitting: int = 0
    """Probes that admitted the channels and do nothing else."""
    n_discordant: int
    """Of them, those on which two harnesses gave differing answers."""
    hit_rate: Estimate | None
    """On pairs of given answers of which exactly one is right: one pair a probe, a tie is half a hit,
    `low` the one-sided 95 % bound; None where there is no pair."""
    tilt: Estimate | None
    """How much more often it errs in favour of the change than against it: the difference of the next
    two."""
    errors_on_losses: Estimate | None = None
    """Share of the pairs whose change is the wrong answer on which it erred, a tie half an error,
    between one-sided 95 % bounds."""
    errors_on_gains: Estimate | None = None
    """The same of the pairs whose change is the right answer."""
    n_ties: int
    probe_accuracy: dict[str, Estimate] = {}
    """Harness -> share of these probes it answered rightly."""
    vetoed: tuple[str, ...] = ()
    """Harnesses that lose to the initial one on probes."""
    reason: str = ""
    """Why it stopped where it did, in words."""


class Referee(Record):
    """A frozen judge of answers: checks, their weights, its measured reliability."""

    checks: tuple[Check, ...]
    weights: dict[str, float]
    panel: tuple[str, ...] = ()
    trusted: bool = False
    reason: str = ""
    channels: tuple[Channel, ...] = ()
    """Every channel that was measured, admitted or not."""
    calibration: Calibration | None = None
    """None where it was not measured on probes."""

    @property
    def discordant_hit_rate(self) -> Estimate | None:
        """How often it was right on pairs of differing probe answers."""
        return self.calibration.hit_rate if self.calibration else None

    @property
    def tilt_upper(self) -> float | None:
        """Upper bound of how much more often it errs for a change than against it."""
        tilt = self.calibration.tilt if self.calibration else None
        return tilt.high if tilt else None

    @property
    def referee_hash(self) -> str:
        """Content hash of everything that decides."""
        return content_hash([c.model_dump() for c in self.checks], self.weights, self.panel)


class Verdict(Record):
    """What confirm says of one pick against the initial harness."""

    candidate_id: str
    kind: VerdictKind
    claim: Literal["cost", "success"]
    route: Literal["agreement", "referee", "none"]
    """By which it was shown to be no worse."""
    declared_route: Literal["agreement", "referee"] = "agreement"
    """By which it was to be shown, declared before confirm opened."""
    n: int
    n_changed: int
    changed_upper: float
    """Exact upper 95 % bound of the share of tasks whose answer changed."""
    base_disagreement: float | None
    """Share of tasks on which the initial harness disagrees with itself; None = not measured."""
    cost_ratio: Estimate | None
    """Capped mean cost of the pick over the initial harness's."""
    log_cost_ratio: Estimate | None
    cheaper: bool
    not_worse: bool
    smallest_margin: float
    """The smallest margin (in points of accuracy as a fraction) the data support."""
    n_more_tasks: int | None
    """How many more confirm tasks would decide if answers, verdicts and costs go on as seen."""
    reason: str
    vetoed: bool = False
    """It loses to the initial harness on probes: the referee may claim nothing for it."""
    n_worse: int = 0
    """Changed answers that the referee finds worse than the initial harness's."""
    n_better: int = 0
    loss_upper: float | None = None
    """The bound U: at most so much accuracy (as a fraction) is lost, by the route that shows least."""
    cheaper_up_to_usd: float | None = None
    """The bill is shown to be lower as long as no trial costs more than this; 0 where it is not."""
    tipping_hit_rate: float | None = None
    """An accepted verdict of the referee falls if its hit rate is under this; None on agreement."""


# --- change ------------------------------------------------------------------------------------


class ReplaceText(Record):
    """Replace one exact, unique occurrence of `old` in a file."""

    kind: Literal["replace_text"] = "replace_text"
    path: str
    old: str
    new: str


class SetKey(Record):
    """Set a dotted key in a YAML part that is not a knob."""

    kind: Literal["set_key"] = "set_key"
    path: str
    key: str
    value: JsonValue


class ReplaceFile(Record):
    """Replace the whole text of a part's file."""

    kind: Literal["replace_file"] = "replace_file"
    path: str
    text: str


Edit = Annotated[ReplaceText | SetKey | ReplaceFile, Field(discriminator="kind")]


class Patch(Record):
    """Edits to parts plus knob values, and what they should do."""

    parent_id: str
    edits: tuple[Edit, ...] = ()
    knobs: dict[str, KnobValue] = {}
    direction: Direction
    proposer: str
    """`operator:NAME`, `knobs`, `planner:cost`, `planner:success`, `skeleton:ENTRY`, `compose`."""
    summary: str
    """One plain sentence: what changes."""
    hypothesis: str = ""
    """One plain sentence: why it should help."""
    finding_ids: tuple[str, ...] = ()
    expected_cost_ratio: float | None = None

    @property
    def patch_id(self) -> str:
        """Content id of what it changes and on what."""
        edits = [edit.model_dump() for edit in self.edits]
        return content_id("p", self.parent_id, edits, self.knobs)


class Candidate(Record):
    """A harness that a patch made (or the initial harness, whose patch is None)."""

    candidate_id: str
    """The harness id: the same content is the same candidate."""
    parent_id: str | None
    generation: int
    round_index: int
    patch: Patch | None
    summary: str
    proposer: str


class Refusal(Record):
    """A patch that was not admitted, and why."""

    patch: Patch
    reason: str
