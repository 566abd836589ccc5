"""Have the diagnosis agent read raw trials; what comes back is findings of a fixed type.

The reader holds no tool: it sees excerpts, fenced, and its reply is validated. A finding stands on
steps it was shown and on parts that exist, claims no dollars, and names no task and no address.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

from pydantic import Field, JsonValue

from harnesspro.core.findings import Place, finding_of
from harnesspro.core.hashing import canonical_json
from harnesspro.core.ports import Dropped, Improver
from harnesspro.core.reach import addresses
from harnesspro.core.records import Finding, Harness, Record, Span, Step, Trajectory
from harnesspro.core.untrusted import fence_of, fenced, visible_text

AGENT = "diagnosis"
DETECTOR = "agent"
MAX_TRIALS, MAX_STEPS = 8, 6
MAX_SPAN_CHARS, MAX_PART_CHARS = 2_000, 6_000
MAX_FINDINGS, MAX_PATTERN_CHARS, MAX_ADVICE_CHARS = 8, 200, 400

Cause = Literal["harness_defect", "model_limit", "environment_fault", "waste"]


class ReadPart(Record):
    """A part of the harness as its reader sees it."""

    name: str
    kind: str
    text: str


class ReadFinding(Record):
    """What a detector found, without its evidence."""

    pattern: str
    part: str | None
    wasted_usd: float
    lost_success: float


class ReadStep(Record):
    """One model call; `asked` and `replied` stand between fences."""

    step: int
    finish_reason: str
    cost_usd: float
    asked: str
    """The last message of the prompt."""
    replied: str


class ReadTrial(Record):
    """One trial; `answer` and `fault` stand between fences."""

    trial_id: str
    outcome: str
    cost_usd: float
    answer: str
    fault: str
    steps: tuple[ReadStep, ...]


class ReaderQuestion(Record):
    """Everything the reader is told."""

    name: str
    about: str
    fence: str
    """The line around all text that others wrote."""
    parts: tuple[ReadPart, ...]
    findings: tuple[ReadFinding, ...]
    trials: tuple[ReadTrial, ...]


class ReaderEvidence(Record):
    """A step that shows it."""

    trial_id: str
    step: Annotated[int, Field(ge=0)]


class ReaderFinding(Record):
    """One thing the reader saw."""

    pattern: Annotated[str, Field(min_length=1, max_length=MAX_PATTERN_CHARS)]
    cause: Cause
    part: str | None
    advice: Annotated[str, Field(max_length=MAX_ADVICE_CHARS)]
    evidence: Annotated[tuple[ReaderEvidence, ...], Field(min_length=1, max_length=50)]
    confidence: Annotated[float, Field(ge=0, le=1)]


class ReaderReply(Record):
    """What the reader may say."""

    findings: Annotated[tuple[ReaderFinding, ...], Field(max_length=MAX_FINDINGS)]


def read_trials(
    improver: Improver,
    harness: Harness,
    trajectories: Sequence[Trajectory],
    *,
    found: Sequence[Finding],
    key: str,
) -> tuple[Finding, ...]:
    """The reader's findings that hold up, in its order; none where its reply was dropped.

    `found` is what the detectors say of these trials; `key` names the question's draw.
    """
    asked = reader_question(harness, trajectories, found)
    reply = improver.ask(AGENT, asked, ReaderReply, key=key)
    if isinstance(reply, Dropped):
        return ()
    shown = {trial.trial_id: {step.step for step in trial.steps} for trial in asked.trials}
    failed = {one.trial.trial_id for one in trajectories if one.trial.outcome != "answered"}
    names = {one.trial.task_id for one in trajectories} | {
        one.trial.trial_id for one in trajectories
    }
    return tuple(
        _finding(harness, said, failed=failed, n_trials=len(trajectories))
        for said in reply.findings
        if _holds(said, harness, shown) and not any(n in said.pattern + said.advice for n in names)
    )


def _holds(said: ReaderFinding, harness: Harness, shown: dict[str, set[int]]) -> bool:
    """Whether part and every step it names are real, and it points nowhere outside."""
    real = all(one.step in shown.get(one.trial_id, ()) for one in said.evidence)
    known = said.part is None or said.part in harness.manifest.parts
    new = addresses(f"{said.pattern}\n{said.advice}") - addresses("\n".join(harness.files.values()))
    return real and known and not new


def _finding(harness: Harness, said: ReaderFinding, *, failed: set[str], n_trials: int) -> Finding:
    trials = {one.trial_id for one in said.evidence}
    detail: dict[str, JsonValue] = {"cause": said.cause, "confidence": said.confidence}
    return finding_of(
        harness,
        detector=DETECTOR,
        pattern=visible_text(said.pattern, limit=MAX_PATTERN_CHARS),
        advice=visible_text(said.advice, limit=MAX_ADVICE_CHARS),
        place=Place(part=said.part),
        evidence=[Span(trial_id=one.trial_id, step=one.step) for one in said.evidence],
        lost_success=len(trials & failed) / n_trials,
        detail=detail,
    )


# --- what it is told -----------------------------------------------------------------------------


def reader_question(
    harness: Harness, trajectories: Sequence[Trajectory], found: Sequence[Finding]
) -> ReaderQuestion:
    """Failed trials first, then the dearest; of each its last steps."""
    ranked = sorted(
        trajectories,
        key=lambda one: (
            one.trial.outcome == "answered",
            -one.trial.cost_nanos,
            one.trial.trial_id,
        ),
    )[:MAX_TRIALS]
    fence = fence_of([_spoken(one) for one in ranked])
    return ReaderQuestion(
        name=harness.manifest.name,
        about=harness.manifest.about,
        fence=fence,
        parts=tuple(_parts(harness)),
        findings=tuple(
            ReadFinding(
                pattern=one.pattern,
                part=one.part,
                wasted_usd=one.wasted_usd,
                lost_success=one.lost_success,
            )
            for one in found[:MAX_FINDINGS]
        ),
        trials=tuple(_trial(one, fence) for one in ranked),
    )


def _parts(harness: Harness) -> Iterator[ReadPart]:
    for part in harness.manifest.parts.values():
        text = visible_text(harness.files[part.path], limit=MAX_PART_CHARS)
        yield ReadPart(name=part.name, kind=part.kind, text=text)


def _trial(one: Trajectory, fence: str) -> ReadTrial:
    trial = one.trial
    answer = trial.answer if isinstance(trial.answer, str) else canonical_json(trial.answer)
    return ReadTrial(
        trial_id=trial.trial_id,
        outcome=trial.outcome,
        cost_usd=trial.cost_usd,
        answer=fenced(answer, fence, limit=MAX_SPAN_CHARS),
        fault=fenced(trial.fault or "", fence, limit=MAX_SPAN_CHARS),
        steps=tuple(_step(step, fence) for step in one.steps[-MAX_STEPS:]),
    )


def _step(step: Step, fence: str) -> ReadStep:
    return ReadStep(
        step=step.index,
        finish_reason=step.finish_reason,
        cost_usd=step.cost_nanos / 1e9,
        asked=fenced(_last_message(step), fence, limit=MAX_SPAN_CHARS),
        replied=fenced(step.reply, fence, limit=MAX_SPAN_CHARS),
    )


def _last_message(step: Step) -> str:
    messages = step.request.get("messages")
    last = messages[-1] if isinstance(messages, list) and messages else ""
    content = last.get("content") if isinstance(last, dict) else last
    return content if isinstance(content, str) else canonical_json(content)


def _spoken(one: Trajectory) -> list[JsonValue]:
    replies: list[JsonValue] = [step.reply for step in one.steps]
    return [one.trial.trial_id, one.trial.answer, one.trial.fault, *replies]
