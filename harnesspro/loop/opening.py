"""The start of a sitting: splits, checks and referee fixed before any answer exists."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harnesspro.config import RunHeader
from harnesspro.core.alarms import with_shadow
from harnesspro.core.errors import IntegrityError, TasksError
from harnesspro.core.hashing import seed_from
from harnesspro.core.records import Candidate, Check, Harness, Referee, Task
from harnesspro.core.referee import freeze
from harnesspro.core.splits import Split, default_n_sealed, split
from harnesspro.loop.bench import Bench, Ports
from harnesspro.stages.check_answers import CheckBench, admit_programs, user_checks
from harnesspro.stages.write_checks import Written, write_checks

MIN_TASKS = 4


def open_bench(
    header: RunHeader,
    ports: Ports,
    *,
    base: Harness,
    tasks: Sequence[Task],
    run_dir: Path,
    firewall: str,
) -> Bench:
    """The run's bench; on a resumed run everything is read back and must agree.

    Raises:
        IntegrityError: the run folder's harness is not the one the run began with.
        TasksError: too few tasks.
    """
    if base.harness_id != header.base_harness_id:
        raise IntegrityError(
            str(run_dir / "base"),
            f"hashes to {base.harness_id}",
            expected=header.base_harness_id,
            fix="the folder was edited; start a new run",
        )
    parts = _split(header, ports, tasks, seen=_seen_in_archive(ports, base))
    ports.trees.put(base, message="initial harness")
    _put_baseline(ports, base)
    referee = _referee(header, ports, base, parts.search)
    sittings = ports.ledger.all("sitting")
    return Bench(
        header=header,
        ports=ports,
        base=base,
        search=parts.search,
        confirm=parts.confirm,
        sealed=parts.sealed,
        referee=referee,
        started_at=ports.clock.now(),
        spent_s=sum(float(value["elapsed_s"]) for _, value in sittings),
        run_dir=run_dir,
        firewall=firewall,
    )


def _split(
    header: RunHeader, ports: Ports, tasks: Sequence[Task], *, seen: frozenset[str]
) -> Split:
    """Search and confirm tasks; recorded by content key, so that they never reshuffle.

    A task whose content key is in `seen` never enters confirm.
    """
    config = header.config
    n_confirm = config.n_confirm if config.verb == "improve" else 0
    if len(tasks) < MIN_TASKS:
        raise TasksError(
            config.tasks_ref,
            f"{len(tasks)} tasks",
            expected=f"at least {MIN_TASKS}; 200 inputs from your logs are a good start",
        )
    kept = ports.ledger.get("split", "tasks")
    if kept is not None:
        by_key = {task.content_key: task for task in tasks}
        sealed = kept.get("sealed", [])
        if not by_key.keys() >= {*kept["search"], *kept["confirm"], *sealed}:
            raise IntegrityError(
                "tasks.jsonl of the run",
                "tasks the run began with are gone",
                expected="the file as it was",
                fix="restore it, or start a new run",
            )
        return Split(
            search=tuple(by_key[key] for key in kept["search"]),
            confirm=tuple(by_key[key] for key in kept["confirm"]),
            sealed=tuple(by_key[key] for key in sealed),
        )
    parts = split(
        tasks,
        split_key=header.split_key,
        n_search=config.n_search,
        n_confirm=n_confirm,
        n_sealed=_n_sealed(header, len(tasks)),
        exclude=seen,
    )
    value: dict[str, Any] = {
        "search": [task.content_key for task in parts.search],
        "confirm": [task.content_key for task in parts.confirm],
        "sealed": [task.content_key for task in parts.sealed],
    }
    ports.ledger.put("split", "tasks", value)
    return parts


def _n_sealed(header: RunHeader, n_tasks: int) -> int:
    """Tasks kept for the opening alone: where there is gold to open and no size was asked for."""
    config = header.config
    opens = header.has_gold and config.open_gold and config.verb == "improve"
    return default_n_sealed(n_tasks) if opens and config.n_confirm is None else 0


def _seen_in_archive(ports: Ports, base: Harness) -> frozenset[str]:
    """Search tasks of every lineage the archive may propose from: all with this kind of answer."""
    return frozenset(
        key
        for entry in ports.archive.entries()
        if entry.answer_kind == base.manifest.answer.kind
        for key in entry.search_task_keys
    )


def _put_baseline(ports: Ports, base: Harness) -> None:
    candidate = Candidate(
        candidate_id=base.harness_id,
        parent_id=None,
        generation=0,
        round_index=-1,
        patch=None,
        summary="the harness as it came",
        proposer="user",
    )
    ports.ledger.put("candidate", candidate.candidate_id, candidate.model_dump(mode="json"))


def _referee(header: RunHeader, ports: Ports, base: Harness, search: Sequence[Task]) -> Referee:
    kept = ports.ledger.get("referee", "frozen")
    if kept is not None:
        return Referee.model_validate(kept)
    seed = seed_from(header.config.seed, "checks")
    owners = user_checks(base.manifest)
    written = write_checks(base.manifest.answer, search, owners=owners, seed=seed)
    checks = _programs_admitted(header, ports, base, written, seed=seed)
    referee = freeze(with_shadow(checks))
    ports.ledger.put("referee", "frozen", referee.model_dump(mode="json"))
    return referee


def _programs_admitted(
    header: RunHeader, ports: Ports, base: Harness, written: Written, *, seed: int
) -> tuple[Check, ...]:
    """The checks, those that are programs measured in the sandbox on the written probes."""
    programs = tuple(check for check in written.checks if check.writer == "program")
    if not programs:
        return written.checks
    ports.events.emit("phase", name="admit checks", round=None, n_rounds=None)
    bench = CheckBench(
        sandbox=ports.sandbox,
        ledger=ports.ledger,
        manifest=base.manifest,
        code_dir=ports.trees.stage(base.harness_id),
        programs=programs,
        n_at_once=max(header.config.concurrency, os.cpu_count() or 1),  # no trial runs yet
    )
    return admit_programs(written.checks, written.probes, bench, seed=seed)
