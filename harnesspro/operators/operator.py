"""What an operator is, and the few moves operators share: turn a knob, extend an instruction.

Pure. An operator never reads a task or a reply: only the harness and one finding.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from harnesspro.core.records import (
    Direction,
    Edit,
    Finding,
    Harness,
    Knob,
    KnobValue,
    Patch,
    ReplaceFile,
)


@dataclass(frozen=True, slots=True)
class Change:
    """What an operator wants done. `saved_nanos` is None where it promises no saving."""

    edits: tuple[Edit, ...] = ()
    knobs: Mapping[str, KnobValue] = field(default_factory=dict)
    saved_nanos: float | None = None
    """Of the spend diagnosed (`finding.detail["spend_nanos"]`)."""


@dataclass(frozen=True, slots=True)
class Operator:
    """A named way of changing a harness, and the findings that justify it."""

    name: str
    detectors: frozenset[str]
    direction: Direction
    summary: str
    """What changes, in plain words; the knobs' old and new values are added to it."""
    hypothesis: str
    change: Callable[[Harness, Finding], Change | None]
    """None where the harness gives no hold (no such knob, already so)."""
    keeps_answers: bool = False
    """Whether the same draws give the same answers by construction: only the cost can move."""

    def propose(self, harness: Harness, finding: Finding) -> Patch | None:
        """A patch for this harness that the finding justifies, or None."""
        change = self.change(harness, finding) if finding.detector in self.detectors else None
        if change is None or not (change.edits or change.knobs):
            return None
        return Patch(
            parent_id=harness.harness_id,
            edits=change.edits,
            knobs=dict(change.knobs),
            direction=self.direction,
            proposer=f"operator:{self.name}",
            summary=self.summary + _moves(harness, change.knobs),
            hypothesis=self.hypothesis,
            finding_ids=(finding.finding_id,),
            expected_cost_ratio=_cost_ratio(finding, change.saved_nanos),
        )


def _moves(harness: Harness, knobs: Mapping[str, KnobValue]) -> str:
    moves = [f"{name} {harness.knob_values[name]} -> {value}" for name, value in knobs.items()]
    return f" ({', '.join(moves)})" if moves else ""


def _cost_ratio(finding: Finding, saved_nanos: float | None) -> float | None:
    spend = number(finding, "spend_nanos")
    if saved_nanos is None or not spend:
        return None
    return min(max(1 - saved_nanos / spend, 0.0), 1.0)


def number(finding: Finding, name: str) -> float | None:
    """A number of the finding's detail, None where it is not there."""
    value = finding.detail.get(name)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def saving(finding: Finding) -> float:
    """What acting on this finding alone would save: its claim before others' claims were met."""
    claimed = number(finding, "claimed_nanos")
    return finding.wasted_nanos if claimed is None else claimed


# --- knobs -------------------------------------------------------------------------------------


def turned_to(harness: Harness, name: str, value: KnobValue) -> dict[str, KnobValue]:
    """The knob at this value; empty where there is no such knob, value, or difference."""
    knob = harness.manifest.knobs.get(name)
    if knob is None or not knob.admits(value) or harness.knob_values[name] == value:
        return {}
    return {name: value}


def turned_down(harness: Harness, name: str, floor: int) -> dict[str, KnobValue]:
    """The whole-number knob at its lowest value from `floor` up, if that is below the present."""
    knob, present = harness.manifest.knobs.get(name), harness.knob_values.get(name)
    values = [value for value in _whole_values(knob, floor) if value >= floor]
    if not values or not isinstance(present, int) or min(values) >= present:
        return {}
    return {name: min(values)}


def turned_up(harness: Harness, name: str, ceiling: int) -> dict[str, KnobValue]:
    """The whole-number knob at its highest value up to `ceiling`, if that is above the present."""
    knob, present = harness.manifest.knobs.get(name), harness.knob_values.get(name)
    values = [value for value in _whole_values(knob, ceiling) if value <= ceiling]
    if not values or not isinstance(present, int) or max(values) <= present:
        return {}
    return {name: max(values)}


def _whole_values(knob: Knob | None, near: int) -> list[int]:
    """Whole values the knob admits: all choices, or of a range the ends and the one nearest."""
    if knob is None:
        return []
    if knob.int_range is not None:
        low, high = knob.int_range
        return [low, min(max(near, low), high), high]
    return [value for value in knob.choices or () if type(value) is int]


# --- instructions ------------------------------------------------------------------------------


def appended(harness: Harness, finding: Finding, line: str) -> tuple[Edit, ...]:
    """The line at the end of the instructions; empty where there are none or it stands there."""
    name = instruction_part(harness, finding)
    if name is None or not line:
        return ()
    text = harness.part_text(name)
    if line in text:
        return ()
    path = harness.manifest.parts[name].path
    return (ReplaceFile(path=path, text=f"{text.rstrip()}\n\n{line}\n"),)


def instruction_part(harness: Harness, finding: Finding) -> str | None:
    """The prompt the finding names, else the one called `system`, else the first always paid."""
    prompts = [name for name, part in harness.manifest.parts.items() if part.kind == "prompt"]
    always = [name for name in prompts if harness.manifest.parts[name].paid == "always"]
    wanted = [name for name in (finding.part, "system") if name in prompts]
    return next(iter([*wanted, *always]), None)
