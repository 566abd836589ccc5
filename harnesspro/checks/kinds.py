"""The kinds of answer that have checks, and the one way to use them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pydantic import JsonValue

from harnesspro.checks import (
    choice_answers,
    code_answers,
    json_answers,
    number_answers,
    text_answers,
)
from harnesspro.checks.kind import CheckKind
from harnesspro.core.hashing import content_id
from harnesspro.core.records import AnswerSpec, Check, Probe, Task

KINDS: dict[str, CheckKind] = {
    module.KIND.kind: module.KIND
    for module in (json_answers, choice_answers, number_answers, text_answers, code_answers)
}


def checks_for(spec: AnswerSpec) -> tuple[Check, ...]:
    """The checks an answer of this kind can be held to, not yet measured; may be none."""
    kind = KINDS.get(spec.kind)
    return kind.checks() if kind else ()


def passes(check: Check, task: Task, spec: AnswerSpec, answer: JsonValue) -> bool:
    """Whether a given answer passes a check; a check with nothing to say passes.

    Raises:
        ValueError: the check is the owner's command or unknown: it is not run here.
    """
    kind = KINDS.get(spec.kind)
    if check.writer != "schema" or kind is None or check.name not in kind.tests:
        raise ValueError(f"check {check.name!r} of {check.writer} is not decided by a schema")
    _, test = kind.tests[check.name]
    return test(task, spec, answer)


def probes_for(spec: AnswerSpec, tasks: Sequence[Task], *, seed: int, n: int) -> tuple[Probe, ...]:
    """At most n new tasks made after the given ones in turn, each answer known by construction.

    Empty where the kind has none. A probe whose answer does not fit its own schema (conditions no
    generator knows, such as a pattern) is left out.
    """
    kind = KINDS.get(spec.kind)
    if kind is None or not tasks:
        return ()
    rng = np.random.default_rng(seed)
    found: list[Probe] = []
    for index in range(n):
        made = kind.probe(spec, tasks[index % len(tasks)], rng)
        if made is None or not json_answers.fits_schema(made[0], spec, made[1]):
            continue
        probe_id = content_id("probe", seed, index, made[0].input)
        task = made[0].model_copy(update={"task_id": probe_id})
        found.append(Probe(probe_id=probe_id, task=task, answer=made[1]))
    return tuple(found)


def mutants(probe: Probe, spec: AnswerSpec, *, seed: int) -> list[JsonValue]:
    """Wrong answers to a probe, each one step from the right one."""
    kind = KINDS.get(spec.kind)
    return list(kind.mutants(spec, probe, np.random.default_rng(seed))) if kind else []


def empty_answer(spec: AnswerSpec) -> JsonValue:
    """The answer that says nothing."""
    kind = KINDS.get(spec.kind)
    return kind.empty if kind else None
