"""Answers of the embedded model on file: what was asked, what came back, and afterwards which were right.

While they are made they lie in a folder as plain lines; packed into one file they need neither the
model nor the source of the tasks any more.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harnesspro.core.records import Task

RECORDED = Path(__file__).parent / "recorded"
ANSWERS, LOOKS = "answers.jsonl", "looks.jsonl"

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Recording:
    """Everything kept of one material."""

    tasks: dict[str, Task]
    """The real tasks, by id."""
    answers: dict[tuple[str, str], Row]
    """(variant, kind/task_id) -> answer; those to real tasks say whether they are `right`."""
    looks: tuple[Row, ...]

    def of_kind(self, kind: str) -> dict[tuple[str, str], Row]:
        """(variant, task_id) -> answer to that kind of item."""
        return {
            (variant, task_id): row
            for (variant, key), row in self.answers.items()
            for found, _, task_id in [key.partition("/")]
            if found == kind
        }


def rows(path: Path) -> list[Row]:
    """Every line on file; a half-written last line is left out."""
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line.endswith("}")]


def append(path: Path, row: Row) -> None:
    """One more line."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")


def telling(answers: Iterable[Row], is_right: Callable[[str, Any], bool]) -> set[str]:
    """The tasks to which the variants gave both a right answer and a wrong one.

    Only there can a channel be right or wrong, so only there is asking further worth its time.
    """
    found: dict[str, set[bool]] = {}
    for row in answers:
        kind, _, task_id = row["item"].partition("/")
        if kind == "real" and row["outcome"] == "answered":
            found.setdefault(task_id, set()).add(is_right(task_id, row["answer"]))
    return {task_id for task_id, seen in found.items() if len(seen) > 1}


def pack(path: Path, *, tasks: Sequence[Task], answers: Sequence[Row], looks: Sequence[Row]) -> int:
    """Write one file, the same bytes for the same rows; its size in bytes."""
    lines = [
        *({"task": task.model_dump(mode="json", exclude_defaults=True)} for task in tasks),
        *({"answer": row} for row in answers),
        *({"look": row} for row in looks),
    ]
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(gzip.compress(text.encode(), compresslevel=9, mtime=0))
    return path.stat().st_size


def unpack(path: Path) -> Recording:
    """What `pack` wrote."""
    lines = [json.loads(line) for line in gzip.decompress(path.read_bytes()).decode().splitlines()]
    tasks = [Task.model_validate(line["task"]) for line in lines if "task" in line]
    answers = [line["answer"] for line in lines if "answer" in line]
    return Recording(
        tasks={task.task_id: task for task in tasks},
        answers={(row["variant"], row["item"]): row for row in answers},
        looks=tuple(line["look"] for line in lines if "look" in line),
    )
