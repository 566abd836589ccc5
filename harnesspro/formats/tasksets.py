"""A task set's public side: the folder with `tasks.jsonl` and, where it was sealed, `seal.json`.

Finds one by the name a user wrote. Knows nothing of where right answers are kept.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from harnesspro.core.errors import ConfigError, TasksError
from harnesspro.core.records import AnswerKind, Record
from harnesspro.formats.paths import cache_dir, data_dir

TASKS_NAME = "tasks.jsonl"
SEAL_NAME = "seal.json"
_SET_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class Seal(Record):
    """What is public of a sealed task set (`seal.json`)."""

    format: Literal["harnesspro/seal@1"] = "harnesspro/seal@1"
    name: str
    taskset_id: str
    """Names the vault's folder; derived from the Merkle root."""
    merkle_root: str
    """Commits every vault record; goes into the run header."""
    n: int
    n_gold: int
    """How many of the `n` tasks have a right answer in the vault."""
    answer_kind: AnswerKind
    scheme: str
    """How answers are graded: `exact`, `bfcl` or `calls`."""
    split_key: str
    """Key of the search/confirm split; the same name keeps it when it is sealed again."""
    families: tuple[str, ...]
    tasks_sha256: str
    """Of `tasks.jsonl` as it was written."""
    source: str = ""


@dataclass(frozen=True, slots=True)
class TaskSet:
    """A task set found on disk."""

    folder: Path
    tasks_path: Path
    seal: dict[str, Any] | None
    """The fields of `Seal`; None where the file was never sealed, so there is no gold."""
    split_key: str


def tasks_root() -> Path:
    """Where pulled and generated task sets are: one folder a name."""
    return cache_dir() / "tasks"


def task_set(ref: str) -> TaskSet:
    """The task set that `ref` names: `builtin:NAME`, a folder, or a file of tasks.

    Raises:
        TasksError: there is none, or it was changed after it was sealed.
    """
    if ref.startswith("builtin:"):
        return _task_set_at(builtin_folder(ref) / TASKS_NAME)
    path = Path(ref).expanduser().resolve()
    path = path / TASKS_NAME if path.is_dir() else path
    if not path.is_file():
        raise TasksError(
            ref,
            f"no file {path.name}",
            expected=f"a {TASKS_NAME}, a folder with one, or builtin:NAME",
            fix="see: harnesspro tasks list",
        )
    return _task_set_at(path)


def builtin_folder(ref: str) -> Path:
    """The folder of `builtin:NAME`.

    Raises:
        TasksError: no such task set on this machine.
    """
    name = ref.removeprefix("builtin:")
    folder = tasks_root() / check_name(name)
    if not (folder / TASKS_NAME).is_file():
        raise TasksError(ref, "not on this machine yet", fix=f"run: harnesspro tasks pull {name}")
    return folder


def check_name(name: str) -> str:
    """The name of a task set, safe as the name of a folder.

    Raises:
        TasksError: it is not.
    """
    if not _SET_NAME.fullmatch(name):
        raise TasksError(
            f"task set {name!r}", "not a name", expected="letters, digits and ._- (at most 64)"
        )
    return name


def read_seal(folder: Path) -> Seal | None:
    """The seal of a task-set folder, or None where there is none.

    Raises:
        TasksError: `seal.json` is there and is not a seal.
    """
    path = folder / SEAL_NAME
    if not path.is_file():
        return None
    try:
        return Seal.model_validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"])) or "file"
        raise TasksError(
            f"{path}: {key}",
            first["msg"],
            expected="a seal",
            fix=f"remove {folder} and seal or pull again",
        ) from error


def seal_holds(folder: Path, seal: Seal) -> bool:
    """Whether `tasks.jsonl` is there and still what was sealed."""
    path = folder / TASKS_NAME
    if not path.is_file():
        return False
    return hashlib.sha256(path.read_bytes()).hexdigest() == seal.tasks_sha256


def _task_set_at(path: Path) -> TaskSet:
    seal = read_seal(path.parent) if path.name == TASKS_NAME else None
    if seal is None:
        return TaskSet(path.parent, path, None, _unsealed_split_key())
    if not seal_holds(path.parent, seal):
        raise TasksError(
            str(path),
            "changed after it was sealed",
            expected=f"SHA-256 {seal.tasks_sha256[:16]}…",
            fix="seal or pull the tasks again",
        )
    return TaskSet(path.parent, path, json.loads(seal.model_dump_json()), seal.split_key)


def _unsealed_split_key() -> str:
    """The split key of unsealed files: from a key of this user's, made once.

    Constant, so that a second run on the same file splits it the same way.
    """
    path = data_dir() / "split.key"
    try:
        key = _made_once(path)
    except OSError as error:
        raise ConfigError(
            str(path), f"cannot be written: {error.strerror}", fix="set XDG_DATA_HOME"
        ) from error
    return hmac.new(key.encode(), b"unsealed tasks", hashlib.sha256).hexdigest()


def _made_once(path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    if not path.exists():
        beside.touch(mode=0o600)
        beside.write_text(secrets.token_hex(32), encoding="ascii")
        try:
            os.link(beside, path)  # unlike a rename, never replaces the key another process made
        except FileExistsError:
            pass
        finally:
            beside.unlink()
    return path.read_text(encoding="ascii").strip()
