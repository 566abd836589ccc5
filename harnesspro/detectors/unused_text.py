"""Always-paid paragraphs that no trial had a use for: their topic never came up.

A paragraph is unused when (nearly) none of the words that only it has occurs in what was asked
or in what was replied. Instructions are left alone, since their words need not occur anywhere to
do their work: paragraphs of few words, and those that speak of the answer's form.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from harnesspro.core.findings import Place, finding_of
from harnesspro.core.records import Finding, Harness, Step, Trajectory
from harnesspro.detectors.calls import input_cost, message_text, output_rates, prompt_text, span

MIN_TASKS = 5
"""Fewer tasks cannot show that a topic never comes up."""
MIN_DISTINCT_WORDS = 8
MAX_SEEN_SHARE = 0.1
_COMMON_WORDS = """
about above after again all also always another because been before being below between both
cannot could does doing done down during each even every from further given have having here into
itself just keep kind like made make many might more most much must need never only other over
please rather same shall should since some such sure take than that their them then there these
they thing this those through under unless until upon very want well were what when where whether
which while will with within without would your yours
"""
_FORM_WORDS = "answer choose format json option output pick reply respond return schema"
_COMMON = frozenset(_COMMON_WORDS.split())
_FORM = frozenset(word[:6] for word in _FORM_WORDS.split())


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A block of a part's text, exactly as it stands in the file, and its words' stems."""

    part: str
    text: str
    words: frozenset[str]


def detect(harness: Harness, trajectories: Sequence[Trajectory]) -> tuple[Finding, ...]:
    """One finding a paragraph, with its text in `detail`; claims its share of the prompt's price."""
    if len({one.trial.task_id for one in trajectories}) < MIN_TASKS:
        return ()
    calls = [(one, step) for one in trajectories for step in one.steps]
    paragraphs = _always_paid(harness)
    talk = _talk([step for _, step in calls], paragraphs)
    rates = output_rates(trajectories)
    unused = [one for one in paragraphs if _is_unused(one, paragraphs, talk)]
    sent = {one.text: _calls_that_always_carry(one.text, calls) for one in unused}
    return tuple(
        _finding(
            harness,
            paragraph,
            calls=sent[paragraph.text],
            rates=rates,
            others=[one.text for one in unused if one != paragraph and one.part == paragraph.part],
        )
        for paragraph in unused
        if sent[paragraph.text]
    )


def _finding(
    harness: Harness,
    paragraph: Paragraph,
    *,
    calls: Sequence[tuple[Trajectory, Step]],
    rates: dict[str, float],
    others: list[JsonValue],
) -> Finding:
    shares = [len(paragraph.text) / len(prompt_text(step)) for _, step in calls]
    return finding_of(
        harness,
        detector="unused_text",
        pattern="text sent with every call is about what no task asks",
        advice="Remove the paragraph, or load it only where its topic comes up.",
        place=Place(part=paragraph.part, excerpt=paragraph.text),
        evidence=[
            span(one, step, input_cost(step, rates) * share)
            for (one, step), share in zip(calls, shares, strict=True)
        ],
        detail={
            "paragraph": paragraph.text,
            "also_unused": others,
            "prompt_share": sum(shares) / len(shares),
        },
    )


def _always_paid(harness: Harness) -> list[Paragraph]:
    """The paragraphs of always-paid texts; those with a slot carry the task and are left out."""
    return [
        Paragraph(part.name, block.strip(), stems(block))
        for part in harness.manifest.parts.values()
        if part.paid == "always" and part.kind in ("prompt", "skill")
        for block in re.split(r"\n\s*\n", harness.files[part.path])
        if block.strip() and "{{" not in block
    ]


def stems(text: str) -> frozenset[str]:
    """The text's words of four letters and more, plural and ending cut, common ones left out."""
    words = set(re.findall(r"[^\W\d_]{4,}", text.lower())) - _COMMON
    return frozenset(word.rstrip("s")[:6] for word in words)


def _talk(steps: Sequence[Step], paragraphs: Sequence[Paragraph]) -> frozenset[str]:
    """Stems of all that was asked and replied, the paragraphs themselves taken out."""
    found: set[str] = set()
    for text in {prompt_text(step) for step in steps}:
        rest = text
        for paragraph in paragraphs:
            rest = rest.replace(paragraph.text, " ")
        found |= stems(rest)
    return frozenset(found.union(*(stems(step.reply) for step in steps)))


def _is_unused(paragraph: Paragraph, paragraphs: Sequence[Paragraph], talk: frozenset[str]) -> bool:
    if paragraph.words & _FORM:
        return False
    others = frozenset[str]().union(*(one.words for one in paragraphs if one != paragraph))
    distinct = paragraph.words - others
    if len(distinct) < MIN_DISTINCT_WORDS:
        return False
    return len(distinct & talk) <= MAX_SEEN_SHARE * len(distinct)


def _calls_that_always_carry(
    text: str, calls: Sequence[tuple[Trajectory, Step]]
) -> list[tuple[Trajectory, Step]]:
    """The calls of every role that never asks without this text."""
    without = {step.role for _, step in calls if text not in message_text(step)}
    return [(one, step) for one, step in calls if step.role not in without]
