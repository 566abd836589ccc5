"""`tasks.jsonl`: public tasks, one JSON object a line. Gold in a public file is refused, not read."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import ValidationError

from harnesspro.core.errors import TasksError
from harnesspro.core.hashing import canonical_json, content_hash, content_id
from harnesspro.core.records import Task

PUBLIC_FIELDS = frozenset({"task_id", "family", "input", "files"})
_GOLD_NAMES = frozenset(
    {
        "gold",
        "answer",
        "answers",
        "target",
        "solution",
        "expected",
        "expected_output",
        "ground_truth",
        "possible_answer",
        "canonical_solution",
        "label",
        "test",
        "tests",
    }
)


def load_tasks(path: str | Path) -> tuple[Task, ...]:
    """The tasks of a sealed (public) file, in file order.

    Raises:
        TasksError: a line does not parse, an id stands twice, or gold stands in a public field.
    """
    file = Path(path)
    try:
        lines = file.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise TasksError(str(file), f"cannot be read: {error}", fix="name a tasks.jsonl") from error
    tasks = [
        parse_task(line, where=f"{file}:{number}")
        for number, line in enumerate(lines, 1)
        if line.strip()
    ]
    if not tasks:
        raise TasksError(str(file), "no tasks", expected='lines like {"input": ...}')
    seen: set[str] = set()
    for task in tasks:
        if task.task_id in seen:
            raise TasksError(
                str(file), f"task_id {task.task_id} stands twice", expected="unique ids"
            )
        seen.add(task.task_id)
    return tuple(tasks)


def parse_task(line: str, *, where: str) -> Task:
    """One line of a public task file.

    Raises:
        TasksError: not a task, or it carries more than public fields.
    """
    try:
        raw = json.loads(line)
        canonical_json(raw).encode()
    except (ValueError, RecursionError) as error:  # a NaN or half a character is no JSON either
        raise TasksError(where, f"not JSON ({error})", expected='{"input": ...}') from error
    if not isinstance(raw, dict) or "input" not in raw:
        raise TasksError(where, "no `input`", expected='an object like {"input": ...}')
    extra = sorted(set(raw) - PUBLIC_FIELDS)
    if extra:
        raise TasksError(
            where,
            f"field `{extra[0]}` is not public",
            expected=", ".join(sorted(PUBLIC_FIELDS)),
            fix=f"run: harnesspro seal {Path(where.rpartition(':')[0]).name}",
        )
    hidden = sorted(gold_names(raw["input"]))
    if hidden:
        raise TasksError(
            where,
            f"`input.{hidden[0]}` looks like a right answer",
            expected="only what the harness may see",
            fix="rename the field, or move it to `gold` and run: harnesspro seal",
        )
    raw.setdefault("task_id", content_id("task", raw["input"]))
    try:
        return Task.model_validate(raw)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        raise TasksError(
            f"{where}: {key}", repr(first.get("input"))[:120], expected=first["msg"]
        ) from error


def gold_names(value: object) -> set[str]:
    """Top-level keys of an input that are the field's usual names for a right answer."""
    if not isinstance(value, dict):
        return set()
    return {key for key in value if key.lower() in _GOLD_NAMES}


def answered_inputs(text: str) -> set[str]:
    """Hashes of the inputs of JSON Lines that carry a right answer beside their input."""
    found: set[str] = set()
    for line in text.split("\n"):
        try:
            record = json.loads(line)
            if isinstance(record, dict) and "input" in record and gold_names(record):
                found.add(content_hash(record["input"]))
        except (ValueError, RecursionError):
            continue
    return found


def task_line(task: Task) -> str:
    """The line `load_tasks` reads back."""
    return task.model_dump_json(exclude_defaults=True)
