"""Run the owner's checks and the generated programs on new answers in the sandbox, on record.

An owner's check is a command that exits 0 when the answer is fine. It starts in /work, where the
answer lies as `answer.json`, `answer.txt` or `answer.py` by kind beside the task's files and
`task.json`; the harness folder is at /harness. A program starts likewise; exit code 77 means that
it has nothing to say of this task.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import JsonValue

from harnesspro.checks import empty_answer, mutants
from harnesspro.checks.code_admission import measured_program
from harnesspro.checks.code_program import takes_many
from harnesspro.checks.code_suite import SAYS_NOTHING
from harnesspro.core.answers import Behaviours, cluster, cluster_of
from harnesspro.core.hashing import content_id
from harnesspro.core.ports import Ledger, Sandbox, SandboxSpec
from harnesspro.core.records import AnswerSpec, Check, Manifest, Probe, Task, Trial, UserCheck
from harnesspro.stages.programs import (
    SharedStart,
    Start,
    answer_name,
    answer_text,
    run_to_end,
    side_by_side,
)

KIND, PROGRAM_KIND = "user_check", "program_check"
WRONG_A_PROBE = 2
MOST_SHARING = 40
"""Answers in one start."""

Results = Mapping[tuple[str, str, str], float]
"""(check_id, task_id, cluster) -> how far the answer passed; absent where the check is silent."""


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
    """Where answers are checked."""

    sandbox: Sandbox
    ledger: Ledger
    manifest: Manifest
    code_dir: str
    """The initial harness's files: a round cannot change what checks it."""
    programs: tuple[Check, ...] = ()
    """The checks written by `program`; those written otherwise are passed over."""
    behaviours: Behaviours | None = None
    n_at_once: int = 1


@dataclass(frozen=True, slots=True)
class _Answer:
    """An answer that stands for its cluster."""

    task: Task
    cluster: str
    value: JsonValue

    def record(self, check_id: str) -> str:
        return f"{check_id}/{self.task.task_id}/{self.cluster}"


def check_answers(trials: Sequence[Trial], tasks: Mapping[str, Task], bench: CheckBench) -> None:
    """Put a result on record for every check and distinct answer that has none.

    Raises:
        HarnessProError: a check could not even be started; that says nothing of the answer.
    """
    answers = list(_distinct(trials, tasks, bench))
    _record_owners(answers, bench)
    _record_programs(answers, bench)


def admit_programs(
    checks: Sequence[Check], probes: Sequence[Probe], bench: CheckBench, *, seed: int
) -> tuple[Check, ...]:
    """The checks as they are, those of `bench.programs` with what was measured of them on probes.

    Each program judges every probe's own answer, an empty one and up to `WRONG_A_PROBE` mutants. All
    of these are made here, so that many share a start where the program allows it; nothing is
    put on record.

    Raises:
        HarnessProError: a program could not be started.
    """
    spec = bench.manifest.answer
    right = [_probe_answer(probe, probe.answer, spec) for probe in probes]
    wrong = [
        _probe_answer(probe, value, spec)
        for probe in probes
        for value in [*mutants(probe, spec, seed=seed)[:WRONG_A_PROBE], empty_answer(spec)]
    ]
    said = _said_of_ours([*right, *wrong], bench)
    names = {check.check_id for check in bench.programs}
    return tuple(
        measured_program(
            check,
            [said[answer.record(check.check_id)] for answer in right],
            [said[answer.record(check.check_id)] for answer in wrong],
        )
        if check.check_id in names
        else check
        for check in checks
    )


def _probe_answer(probe: Probe, value: JsonValue, spec: AnswerSpec) -> _Answer:
    return _Answer(probe.task, cluster(spec.kind, "answered", value), value)


def _record_owners(answers: Sequence[_Answer], bench: CheckBench) -> None:
    for said in side_by_side(
        lambda answer: _owners_say(answer, bench), answers, n_at_once=bench.n_at_once
    ):
        for record, passed in said.items():
            bench.ledger.put(KIND, record, {"passed": passed})


def _record_programs(answers: Sequence[_Answer], bench: CheckBench) -> None:
    for shares in side_by_side(
        lambda answer: _programs_say(answer, bench), answers, n_at_once=bench.n_at_once
    ):
        for record, share in shares.items():
            bench.ledger.put(PROGRAM_KIND, record, {"share": share})


def _distinct(
    trials: Sequence[Trial], tasks: Mapping[str, Task], bench: CheckBench
) -> Iterator[_Answer]:
    done: set[tuple[str, str]] = set()
    for trial in trials:
        if trial.outcome != "answered":
            continue
        key = cluster_of(trial, bench.manifest.answer.kind, bench.behaviours)
        if (trial.task_id, key) not in done:
            done.add((trial.task_id, key))
            yield _Answer(tasks[trial.task_id], key, trial.answer)


# --- the owner's commands ------------------------------------------------------------------------


def _owners_say(answer: _Answer, bench: CheckBench) -> dict[str, bool]:
    found: dict[str, bool] = {}
    for check in bench.manifest.checks:
        record = answer.record(_check_id(check))
        if bench.ledger.get(KIND, record) is None:
            found[record] = _passes(check, answer.task, answer.value, bench=bench)
    return found


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
    result = run_to_end(bench.sandbox, start, where=f"check {check.name}")
    return result.ended == "exited" and result.exit_code == 0


# --- generated programs --------------------------------------------------------------------------


def _programs_say(answer: _Answer, bench: CheckBench) -> dict[str, float | None]:
    """Record -> share; checks that are one program are decided in one start."""
    new = [
        check
        for check in bench.programs
        if bench.ledger.get(PROGRAM_KIND, answer.record(check.check_id)) is None
    ]
    return {
        answer.record(check.check_id): share
        for program, checks in _by_program(new).items()
        for check, share in zip(checks, _shares(program, checks, answer, bench), strict=True)
    }


def _said_of_ours(answers: Sequence[_Answer], bench: CheckBench) -> dict[str, float | None]:
    """Record -> share, of answers made here."""
    distinct = list({(a.task.task_id, a.cluster): a for a in answers}.values())
    n_groups = max(bench.n_at_once, -(-len(distinct) // MOST_SHARING))
    dealt = [distinct[place::n_groups] for place in range(n_groups)]  # dear tasks lie together
    groups = [
        (program, checks, group)
        for program, checks in _by_program(bench.programs).items()
        for group in dealt
        if group
    ]
    found: dict[str, float | None] = {}
    for shares in side_by_side(
        lambda group: _shared(*group, bench=bench), groups, n_at_once=bench.n_at_once
    ):
        found |= shares
    return found


def _by_program(checks: Sequence[Check]) -> dict[str, list[Check]]:
    groups: dict[str, list[Check]] = {}
    for check in checks:
        if check.program is not None:
            groups.setdefault(check.program, []).append(check)
    return groups


def _shared(
    program: str, checks: Sequence[Check], answers: Sequence[_Answer], *, bench: CheckBench
) -> dict[str, float | None]:
    """In one start, or each answer in its own where the program cannot or did not report of all."""
    reports = _reports(program, checks, answers, bench)
    if reports is None:
        shares = [_shares(program, checks, answer, bench) for answer in answers]
    else:
        shares = [_read(report, checks) for report in reports]
    return {
        answer.record(check.check_id): share
        for answer, of_answer in zip(answers, shares, strict=True)
        for check, share in zip(checks, of_answer, strict=True)
    }


def _reports(
    program: str, checks: Sequence[Check], answers: Sequence[_Answer], bench: CheckBench
) -> list[Mapping[str, Any]] | None:
    if not takes_many(program) or any(answer.task.files for answer in answers):
        return None
    start = SharedStart(
        program=program,
        names=tuple(check.name for check in checks),
        answers=tuple((answer.task, answer.value) for answer in answers),
        spec=bench.manifest.answer,
        code_dir=bench.code_dir,
    )
    result = run_to_end(bench.sandbox, start.sandbox_spec(), where="trying the checks")
    return start.reports(result)


def _shares(
    program: str, checks: Sequence[Check], answer: _Answer, bench: CheckBench
) -> list[float | None]:
    """Of one check the exit code speaks where there is no report; several that gave none fail."""
    start = Start(
        program=program,
        names=tuple(check.name for check in checks),
        task=answer.task,
        answer=answer.value,
        spec=bench.manifest.answer,
        code_dir=bench.code_dir,
    )
    where = f"check {', '.join(start.names)}"
    result = run_to_end(bench.sandbox, start.sandbox_spec(), where=where)
    report = start.report(result)
    if report is not None:
        return _read(report, checks)
    if len(checks) == 1 and result.ended == "exited" and result.exit_code == SAYS_NOTHING:
        return [None]
    return [float(len(checks) == 1 and result.exit_code == 0)] * len(checks)


def _read(report: Mapping[str, Any], checks: Sequence[Check]) -> list[float | None]:
    return [_share(report.get(check.name, 0.0)) for check in checks]


def _share(said: object) -> float | None:
    return None if said is None else float(isinstance(said, int | float) and said)


def results_on_record(ledger: Ledger) -> Results:
    """What the owner's checks and the programs have said so far."""
    said = [(record, float(value["passed"])) for record, value in ledger.all(KIND)]
    shares = ((record, value["share"]) for record, value in ledger.all(PROGRAM_KIND))
    said += [(record, share) for record, share in shares if share is not None]
    found: dict[tuple[str, str, str], float] = {}
    for record, share in said:
        check_id, _, rest = record.partition("/")
        task_id, _, key = rest.rpartition("/")  # a task's own id may hold slashes
        found[check_id, task_id, key] = share
    return found
