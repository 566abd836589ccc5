"""Run the owner's own checks on new answers, each in a fresh sandbox; facts go on record.

A check is a command that exits 0 when the answer is fine. It starts in /work, where the answer
lies as `answer.json`, `answer.txt` or `answer.py` by kind beside the task's files and `task.json`;
the harness folder is at /harness.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from harnesspro.core.answers import cluster
from harnesspro.core.errors import HarnessProError
from harnesspro.core.hashing import content_id
from harnesspro.core.ports import Ledger, Sandbox, SandboxSpec
from harnesspro.core.records import AnswerSpec, Check, Manifest, Task, Trial, UserCheck

KIND = "user_check"
_SUFFIXES = {"json": "json", "code": "py", "files": "json"}

Results = Mapping[tuple[str, str, str], bool]
"""(check_id, task_id, cluster) -> passed."""


def user_checks(manifest: Manifest) -> tuple[Check, ...]:
    """The manifest's `checks:` as the referee holds them."""
    return tuple(
        Check(
            check_id=_check_id(check),
            family="user",
            name=check.name,
            writer="user",
            admitted=True,
            reason="the owner's own check",
        )
        for check in manifest.checks
    )


def _check_id(check: UserCheck) -> str:
    return content_id("c", check.name, check.command)


@dataclass(frozen=True, slots=True)
class CheckBench:
    """Where the owner's checks run."""

    sandbox: Sandbox
    ledger: Ledger
    manifest: Manifest
    code_dir: str
    """The initial harness's files: a round cannot change what checks it."""


def check_answers(trials: Sequence[Trial], tasks: Mapping[str, Task], bench: CheckBench) -> None:
    """Put a result on record for every check and distinct answer that has none.

    Raises:
        HarnessProError: a check could not even be started; that says nothing of the answer.
    """
    spec = bench.manifest.answer
    done: set[tuple[str, str]] = set()
    for trial in trials:
        if trial.outcome != "answered":
            continue
        key = cluster(spec.kind, trial.outcome, trial.answer)
        if (trial.task_id, key) in done:
            continue
        done.add((trial.task_id, key))
        for check in bench.manifest.checks:
            record = f"{_check_id(check)}/{trial.task_id}/{key}"
            if bench.ledger.get(KIND, record) is None:
                passed = _passes(check, tasks[trial.task_id], trial.answer, bench=bench)
                bench.ledger.put(KIND, record, {"passed": passed})


def _passes(check: UserCheck, task: Task, answer: JsonValue, *, bench: CheckBench) -> bool:
    spec, limits = bench.manifest.answer, bench.manifest.limits
    start = SandboxSpec(
        name=f"check-{check.name}",
        code_dir=bench.code_dir,
        argv=check.command,
        payload=json.dumps({"task_id": task.task_id, "input": task.input}),
        files={**task.files, answer_name(spec): answer_text(spec, answer)},
        broker=False,
        wall_s=limits.wall_s,
        output_bytes=limits.output_bytes,
    )
    result = bench.sandbox.run(start)
    if result.ended == "refused":
        result = bench.sandbox.run(start)
    if result.ended == "refused":
        raise HarnessProError(
            f"check {check.name}",
            f"the sandbox did not start it ({result.stderr.strip()})",
            fix="mend the cause and resume; nothing recorded is lost",
        )
    return result.ended == "exited" and result.exit_code == 0


def answer_name(spec: AnswerSpec) -> str:
    """The file the answer lies in."""
    return f"answer.{_SUFFIXES.get(spec.kind, 'txt')}"


def answer_text(spec: AnswerSpec, answer: JsonValue) -> str:
    """The answer as that file holds it."""
    if isinstance(answer, str) and spec.kind != "json":
        return answer
    return json.dumps(answer, ensure_ascii=False)


def results_on_record(ledger: Ledger) -> Results:
    """What the owner's checks have said so far."""
    found: dict[tuple[str, str, str], bool] = {}
    for record, value in ledger.all(KIND):
        check_id, _, rest = record.partition("/")
        task_id, _, key = rest.rpartition("/")  # a task's own id may hold slashes
        found[check_id, task_id, key] = bool(value["passed"])
    return found
