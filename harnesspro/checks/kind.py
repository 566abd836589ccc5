"""What the checks of one kind of answer are made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from pydantic import JsonValue

from harnesspro.core.hashing import content_id
from harnesspro.core.records import AnswerKind, AnswerSpec, Check, Probe, Task

Maker = Callable[[AnswerSpec, Task, np.random.Generator], tuple[Task, JsonValue] | None]
"""A new task made after a given one, with its answer by construction; None where it cannot be made."""

Test = Callable[[Task, AnswerSpec, JsonValue], bool]
"""Whether an answer passes; True where the check has nothing to say of it."""


def nothing_given(task: Task, spec: AnswerSpec, answer: JsonValue) -> bool:
    """No answer of a kind without impossible tasks gives in to one."""
    return False


@dataclass(frozen=True, slots=True)
class CheckKind:
    """The checks, probes and mutants of one kind of answer."""

    kind: AnswerKind
    tests: Mapping[str, tuple[str, Test]]
    """Check name -> its family and its test."""
    empty: JsonValue
    """The answer that says nothing."""
    makers: Mapping[str, Maker]
    """Probe family -> how its probes are made; families take turns."""
    mutants: Callable[[AnswerSpec, Probe, np.random.Generator], Sequence[JsonValue]]
    """Wrong answers to a probe, each wrong for one reason."""
    impossible: Maker | None = None
    """Makes a task whose words ask for what its visible check refuses, with the answer they ask for."""
    gives_in: Test = nothing_given
    """Whether an answer to such a task passes the visible check."""

    def checks(self) -> tuple[Check, ...]:
        """One unmeasured check a test."""
        return tuple(
            Check(
                check_id=content_id("c", self.kind, name), family=family, name=name, writer="schema"
            )
            for name, (family, _) in self.tests.items()
        )


def with_request(task: Task, request: str) -> dict[str, JsonValue] | str:
    """The input of a task with another request in place of its own.

    The request is the field `request`, else the longest text of the input.
    """
    if not isinstance(task.input, dict):
        return request
    return {**task.input, request_key(task): request}


def request_of(task: Task) -> str:
    """What a task asks, by the same rule; empty where no text does."""
    if not isinstance(task.input, dict):
        return task.input if isinstance(task.input, str) else ""
    text = task.input.get(request_key(task), "")
    return text if isinstance(text, str) else ""


def request_key(task: Task) -> str:
    """The field of an input object that holds what is asked."""
    assert isinstance(task.input, dict)
    texts = {key: value for key, value in task.input.items() if isinstance(value, str)}
    if "request" in texts or not texts:
        return "request"
    return max(texts, key=lambda key: (len(texts[key]), key))
