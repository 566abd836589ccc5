"""How a generated program is started on an answer, and what its report is worth.

The report is signed with a key that is gone before the answer runs, so the answer cannot write one.
"""

from __future__ import annotations

import hmac
import json
import os
import secrets
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import JsonValue

from harnesspro.checks.code_suite import signed
from harnesspro.core.errors import HarnessProError
from harnesspro.core.ports import Sandbox, SandboxResult, SandboxSpec
from harnesspro.core.records import AnswerSpec, Task

WALL_S, OUTPUT_BYTES = 60.0, 1_000_000
_SUFFIXES = {"json": "json", "code": "py", "files": "json"}
A = TypeVar("A")
B = TypeVar("B")


@dataclass(frozen=True, slots=True)
class Start:
    """A program about to judge one answer."""

    program: str
    names: tuple[str, ...]
    """What it is asked to decide; its arguments."""
    task: Task
    answer: JsonValue
    spec: AnswerSpec
    code_dir: str
    key: str = field(default_factory=lambda: secrets.token_hex(16))

    def sandbox_spec(self) -> SandboxSpec:
        """The start: the answer beside the task's files; the key in `task.json`."""
        return SandboxSpec(
            name=f"program-{'-'.join(self.names)}"[:60],
            code_dir=self.code_dir,
            argv=_argv(self.program, self.names),
            payload=json.dumps(
                {"task_id": self.task.task_id, "input": self.task.input, "key": self.key}
            ),
            files={
                **self.task.files,
                answer_name(self.spec): answer_text(self.spec, self.answer),
            },
            broker=False,
            wall_s=WALL_S,
            output_bytes=OUTPUT_BYTES,
        )

    def report(self, result: SandboxResult) -> Mapping[str, Any] | None:
        """What the program reported by name; None where it did not, or another wrote it."""
        found = _signed_body(self.key, result)
        return found if isinstance(found, dict) else None


@dataclass(frozen=True, slots=True)
class SharedStart:
    """A program about to judge several answers, all made by this program itself: they share a start.

    An answer of a harness gets a `Start` of its own, so that it can reach no other's.
    """

    program: str
    names: tuple[str, ...]
    answers: tuple[tuple[Task, JsonValue], ...]
    """Of tasks without files."""
    spec: AnswerSpec
    code_dir: str
    key: str = field(default_factory=lambda: secrets.token_hex(16))

    def sandbox_spec(self) -> SandboxSpec:
        """The start: answers and key in `task.json`."""
        many = [
            {"input": task.input, "answer": answer_text(self.spec, answer)}
            for task, answer in self.answers
        ]
        return SandboxSpec(
            name=f"program-on-{len(many)}",
            code_dir=self.code_dir,
            argv=_argv(self.program, self.names),
            payload=json.dumps({"many": many, "key": self.key}),
            broker=False,
            wall_s=WALL_S * len(many),
            output_bytes=OUTPUT_BYTES,
        )

    def reports(self, result: SandboxResult) -> list[Mapping[str, Any]] | None:
        """What the program reported of each answer by name; None where it did not."""
        found = _signed_body(self.key, result)
        if not isinstance(found, list) or len(found) != len(self.answers):
            return None
        return found if all(isinstance(each, dict) for each in found) else None


def _argv(program: str, names: Sequence[str]) -> tuple[str, ...]:
    python = os.path.realpath(getattr(sys, "_base_executable", "") or sys.executable)
    return (python, "-I", "-S", "-B", "-c", program, *names)


def _signed_body(key: str, result: SandboxResult) -> Any | None:
    try:
        report = json.loads(result.result or b"")
        body, mark = str(report["body"]), str(report["mark"])
        if not hmac.compare_digest(mark.encode(), signed(key, body).encode()):
            return None
        return json.loads(body)
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def run_to_end(sandbox: Sandbox, start: SandboxSpec, *, where: str) -> SandboxResult:
    """The result of a start that came to be; a refused one is tried once more.

    Raises:
        HarnessProError: it was refused twice; that says nothing of the answer.
    """
    result = sandbox.run(start)
    if result.ended == "refused":
        result = sandbox.run(start)
    if result.ended == "refused":
        raise HarnessProError(
            where,
            f"the sandbox did not start it ({result.stderr.strip()})",
            fix="mend the cause and resume; nothing recorded is lost",
        )
    return result


def side_by_side(work: Callable[[A], B], items: Iterable[A], *, n_at_once: int) -> Iterator[B]:
    """The results in order, so many worked on at once."""
    if n_at_once <= 1:
        yield from map(work, items)
        return
    with ThreadPoolExecutor(n_at_once) as pool:
        yield from pool.map(work, items)


def answer_name(spec: AnswerSpec) -> str:
    """The file the answer lies in."""
    return f"answer.{_SUFFIXES.get(spec.kind, 'txt')}"


def answer_text(spec: AnswerSpec, answer: JsonValue) -> str:
    """The answer as that file holds it."""
    if isinstance(answer, str) and spec.kind != "json":
        return answer
    return json.dumps(answer, ensure_ascii=False)
