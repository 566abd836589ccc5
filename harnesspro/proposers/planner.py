"""The planner brain as a proposer: it reads priced findings, texts, dials and measured history, and
writes patches for the parts it chooses. A reply that cannot be used makes no patch.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field, JsonValue

from harnesspro.core.ports import Dropped, Improver
from harnesspro.core.records import Edit, Finding, Harness, Knob, KnobValue, Patch, Record
from harnesspro.proposers.question import CheckShown, Question, Tried

PlannerDirection = Literal["cost", "success"]
MAX_FINDINGS = 8
MAX_HISTORY = 20
MAX_PART_CHARACTERS = 6000


class PlannerPart(Record):
    """A part as the planner sees it."""

    name: str
    path: str
    kind: str
    paid: str
    text: str
    """Cut at `MAX_PART_CHARACTERS`."""


class PlannerKnob(Record):
    """A dial as the planner sees it: `choices`, or numbers from `low` to `high`."""

    name: str
    part: str
    value: KnobValue
    low: float | None = None
    high: float | None = None
    whole: bool = False
    choices: tuple[KnobValue, ...] | None = None


class PlannerFinding(Record):
    """A priced observation without its evidence: no task reaches the planner."""

    finding_id: str
    detector: str
    part: str | None
    knob: str | None
    pattern: str
    advice: str
    wasted_usd: float
    lost_success: float
    detail: dict[str, JsonValue] = Field(default_factory=dict)


class PlannerCheck(Record):
    """A check the answers are held to; `failed` is the share of them that fail it."""

    name: str
    family: str
    failed: float | None


class PlannerTried(Record):
    """What an earlier change did: ratios against the initial harness, None = not measured."""

    summary: str
    knobs: dict[str, KnobValue]
    cost_ratio: float | None
    score: float | None
    changed: float | None
    status: str


class PlannerQuestion(Record):
    """Everything the planner is told."""

    direction: PlannerDirection
    name: str
    about: str
    answer_kind: str
    models: dict[str, str]
    edit_budget: int
    """Changes a patch may make; edits come first, then knobs, and those beyond are left out."""
    parts: tuple[PlannerPart, ...]
    knobs: tuple[PlannerKnob, ...]
    findings: tuple[PlannerFinding, ...]
    checks: tuple[PlannerCheck, ...]
    history: tuple[PlannerTried, ...]


class PlannerPatch(Record):
    """One proposal of the planner."""

    edits: tuple[Edit, ...] = ()
    knobs: dict[str, KnobValue] = Field(default_factory=dict)
    summary: Annotated[str, Field(min_length=1, max_length=300)]
    hypothesis: Annotated[str, Field(max_length=600)] = ""
    finding_ids: tuple[str, ...] = ()
    expected_cost_ratio: float | None = None


class PlannerReply(Record):
    """Patches, or the legal answer that nothing should change."""

    patches: Annotated[tuple[PlannerPatch, ...], Field(max_length=3)] = ()
    keep: bool = False


class PlannerProposer:
    """Asks the planner agent in one direction; at most three patches a question."""

    def __init__(
        self, improver: Improver, direction: PlannerDirection, *, agent: str = "planner"
    ) -> None:
        self.improver, self.direction, self.agent = improver, direction, agent

    @property
    def name(self) -> str:
        """`planner:cost` or `planner:success`."""
        return f"planner:{self.direction}"

    def propose(self, question: Question) -> tuple[Patch, ...]:
        """The reply's patches on the question's parent, those on record left out."""
        asked = planner_question(question, self.direction)
        key = f"{self.direction}/{question.round_index}/{question.parent.harness_id}"
        reply = self.improver.ask(self.agent, asked, PlannerReply, key=key)
        if isinstance(reply, Dropped) or reply.keep:
            return ()
        patches = {patch.patch_id: patch for patch in self._patches(reply, question, asked)}
        return tuple(patch for key, patch in patches.items() if key not in question.tried_ids)

    def _patches(
        self, reply: PlannerReply, question: Question, asked: PlannerQuestion
    ) -> Iterator[Patch]:
        known = {finding.finding_id for finding in asked.findings}
        for planned in reply.patches:
            edits = planned.edits[: asked.edit_budget]
            room = asked.edit_budget - len(edits)
            knobs = dict(list(_moved(planned.knobs, question.parent).items())[:room])
            if edits or knobs:
                yield Patch(
                    parent_id=question.parent.harness_id,
                    edits=edits,
                    knobs=knobs,
                    direction=self.direction,
                    proposer=self.name,
                    summary=planned.summary,
                    hypothesis=planned.hypothesis,
                    finding_ids=tuple(f for f in planned.finding_ids if f in known),
                    expected_cost_ratio=_ratio(planned.expected_cost_ratio),
                )


def reply_schema() -> dict[str, JsonValue]:
    """The JSON Schema of a reply with every key required, so that a bound model leaves out none."""
    schema: dict[str, JsonValue] = PlannerReply.model_json_schema()
    definitions = schema["$defs"]
    assert isinstance(definitions, dict)
    for place in (schema, *definitions.values()):
        if isinstance(place, dict) and isinstance(place.get("properties"), dict):
            place["required"] = list(place["properties"])  # type: ignore[arg-type]
    return schema


def edit_budget(round_index: int, n_rounds: int) -> int:
    """Changes a patch may make: 3 in the first round, 1 in the last, falling evenly between."""
    if n_rounds <= 1:
        return 3
    share = min(max(round_index / (n_rounds - 1), 0.0), 1.0)
    return 3 - round(2 * share)


def planner_question(question: Question, direction: PlannerDirection) -> PlannerQuestion:
    """What the planner is told of a question."""
    manifest = question.parent.manifest
    return PlannerQuestion(
        direction=direction,
        name=manifest.name,
        about=manifest.about,
        answer_kind=manifest.answer.kind,
        models=dict(question.models),
        edit_budget=edit_budget(question.round_index, question.n_rounds),
        parts=_parts(question.parent),
        knobs=tuple(
            _knob(knob, question.parent.knob_values[name]) for name, knob in manifest.knobs.items()
        ),
        findings=tuple(_finding(finding) for finding in question.findings[:MAX_FINDINGS]),
        checks=tuple(_check(check) for check in question.checks),
        history=tuple(_tried(tried) for tried in question.history[-MAX_HISTORY:]),
    )


def _parts(harness: Harness) -> tuple[PlannerPart, ...]:
    return tuple(
        PlannerPart(
            name=part.name,
            path=part.path,
            kind=part.kind,
            paid=part.paid,
            text=harness.files[part.path][:MAX_PART_CHARACTERS],
        )
        for part in harness.manifest.parts.values()
    )


def _knob(knob: Knob, value: KnobValue) -> PlannerKnob:
    bounds = knob.int_range or knob.float_range
    low, high = bounds or (None, None)
    return PlannerKnob(
        name=knob.name,
        part=knob.part,
        value=value,
        low=low,
        high=high,
        whole=knob.int_range is not None,
        choices=knob.choices,
    )


def _finding(finding: Finding) -> PlannerFinding:
    return PlannerFinding(
        finding_id=finding.finding_id,
        detector=finding.detector,
        part=finding.part,
        knob=finding.knob,
        pattern=finding.pattern,
        advice=finding.advice,
        wasted_usd=finding.wasted_usd,
        lost_success=finding.lost_success,
        detail=finding.detail,
    )


def _check(shown: CheckShown) -> PlannerCheck:
    return PlannerCheck(name=shown.name, family=shown.family, failed=shown.failed)


def _tried(tried: Tried) -> PlannerTried:
    return PlannerTried(
        summary=tried.summary,
        knobs=dict(tried.knob_values),
        cost_ratio=tried.cost_ratio,
        score=tried.score,
        changed=tried.changed,
        status=tried.status,
    )


def _moved(knobs: dict[str, KnobValue], parent: Harness) -> dict[str, KnobValue]:
    """Knobs that really move; one the harness does not have stays in, for admission to refuse."""
    return {name: value for name, value in knobs.items() if parent.knob_values.get(name) != value}


def _ratio(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) and value > 0 else None
