"""Splits tasks into what a search may see and what only the grader may: `seal`.

The split is an allow-list: `input`, `family`, `files` are public, everything else goes to the
vault. Ids and order follow from the split key and the public content alone, so they tell nothing of
the source; the vault is committed by a root.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from harnesspro.core.errors import ConfigError, TasksError
from harnesspro.core.hashing import canonical_json, content_hash, content_id
from harnesspro.core.records import Record, Task
from harnesspro.formats.tasks import gold_names, task_line
from harnesspro.formats.tasksets import SEAL_NAME, TASKS_NAME, Seal, check_name, read_seal
from harnesspro.vault.grading import check_scheme, gold_problem
from harnesspro.vault.log import LOG_NAME, VaultLog, openings
from harnesspro.vault.records import VaultRecord, gold_text, merkle_root, vault_record

PUBLIC_FIELDS = ("input", "family", "files")
GOLD_NAME = "gold.jsonl"


class SealReceipt(Record):
    """What sealing did."""

    name: str
    taskset_id: str
    merkle_root: str
    n: int
    n_gold: int
    n_duplicates: int
    """Tasks whose public content is that of an earlier one."""
    hidden_fields: tuple[str, ...]
    """Fields of the source that went to the vault."""
    tasks_path: str
    vault_path: str


@dataclass(frozen=True, slots=True)
class _Pair:
    """A task's two halves."""

    task: Task
    hidden: VaultRecord
    hidden_fields: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Plan:
    """What to call the task set, how to grade it, where to put its two sides."""

    name: str
    answer_kind: str
    scheme: str
    public_dir: Path
    vault_dir: Path
    source: str = ""
    split_key: str | None = None


def seal_file(
    path: Path, *, name: str, answer_kind: str, scheme: str, public_dir: Path, vault_dir: Path
) -> SealReceipt:
    """`seal_records` on the lines of a JSON Lines file, which is left as it is.

    Raises:
        TasksError: a line does not parse or cannot be sealed; nothing is written then.
        ConfigError: a folder cannot be used.
    """
    return _seal(_records_of(path), _Plan(name, answer_kind, scheme, public_dir, vault_dir))


def likely_kind(path: Path) -> str:
    """The answer kind that the right answers in a file look like; `text` where it has none.

    Raises:
        TasksError: a line does not parse.
    """
    golds = [gold for _, record in _records_of(path) if (gold := record.get("gold")) is not None]
    if all(isinstance(gold, str) for gold in golds):
        return "text"
    numbers = all(isinstance(gold, int | float) and not isinstance(gold, bool) for gold in golds)
    return "number" if numbers else "json"


def seal_records(
    records: Iterable[Mapping[str, Any]],
    *,
    name: str,
    answer_kind: str,
    scheme: str,
    public_dir: Path,
    vault_dir: Path,
    source: str = "",
    split_key: str | None = None,
) -> SealReceipt:
    """Write the public side and the vault side; the same name keeps its split key.

    `split_key` is for sets that are drawn by a seed, so that a seed means one and the same run
    everywhere; without it the key is random.

    Raises:
        TasksError: a record cannot be sealed; nothing is written then.
        ConfigError: a folder cannot be used.
    """
    placed = ((f"{name}: record {index}", record) for index, record in enumerate(records, 1))
    return _seal(placed, _Plan(name, answer_kind, scheme, public_dir, vault_dir, source, split_key))


def _seal(placed: Iterable[tuple[str, Mapping[str, Any]]], plan: _Plan) -> SealReceipt:
    check_name(plan.name)
    check_scheme(plan.scheme, plan.answer_kind, graded=False)
    _check_places(plan.name, plan.public_dir, plan.vault_dir)
    split_key = (
        plan.split_key
        or _kept_split_key(plan.public_dir, plan.name)
        or _earlier_split_key(plan.vault_dir, plan.name)
        or secrets.token_hex(32)
    )
    pairs = _pairs(placed, plan, split_key=split_key)
    if not pairs:
        raise TasksError(plan.name, "no tasks", expected='lines like {"input": ..., "gold": ...}')
    keys = sorted(pair.task.content_key for pair in pairs)
    openings_before = _earlier_openings(plan.vault_dir, content_hash(keys))
    tasks_text = "".join(task_line(pair.task) + "\n" for pair in pairs)
    seal = _seal_of(pairs, tasks_text, plan, split_key=split_key)
    event = {
        "name": plan.name,
        "merkle_root": seal.merkle_root,
        "split_key": seal.split_key,
        "fingerprint": content_hash(keys),
        "openings_before": openings_before,
    }
    _write(seal, tasks_text, [pair.hidden for pair in pairs], event=event, plan=plan)
    return SealReceipt(
        name=plan.name,
        taskset_id=seal.taskset_id,
        merkle_root=seal.merkle_root,
        n=seal.n,
        n_gold=seal.n_gold,
        n_duplicates=len(keys) - len(set(keys)),
        hidden_fields=tuple(sorted(frozenset().union(*(pair.hidden_fields for pair in pairs)))),
        tasks_path=str(plan.public_dir / TASKS_NAME),
        vault_path=str(plan.vault_dir / seal.taskset_id),
    )


def _seal_of(pairs: list[_Pair], tasks_text: str, plan: _Plan, *, split_key: str) -> Seal:
    root = merkle_root([pair.hidden for pair in pairs])
    return Seal.model_validate(
        {
            "name": plan.name,
            "taskset_id": content_id("set", root),
            "merkle_root": root,
            "n": len(pairs),
            "n_gold": sum(pair.hidden.gold is not None for pair in pairs),
            "answer_kind": plan.answer_kind,
            "scheme": plan.scheme,
            "split_key": split_key,
            "families": tuple(sorted({pair.task.family for pair in pairs})),
            "tasks_sha256": hashlib.sha256(tasks_text.encode()).hexdigest(),
            "source": plan.source,
        }
    )


# --- splitting -----------------------------------------------------------------------------------


def _records_of(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise TasksError(str(path), f"cannot be read: {error}", fix="name a JSONL file") from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise TasksError(where, f"not JSON ({error})", expected="an object a line") from error
        if not isinstance(record, dict):
            raise TasksError(where, f"a {type(record).__name__}", expected="an object a line")
        yield where, record


def _pairs(
    placed: Iterable[tuple[str, Mapping[str, Any]]], plan: _Plan, *, split_key: str
) -> list[_Pair]:
    """Both sides of every record, in the order of ids that tell nothing of the source."""
    seen: Counter[str] = Counter()

    def id_of(record: Mapping[str, Any]) -> str:
        content = content_hash(record["input"], record.get("files") or {})
        seen[content] += 1
        keyed = hmac.new(split_key.encode(), f"{content}/{seen[content]}".encode(), "sha256")
        return f"task-{keyed.hexdigest()[:16]}"

    pairs = [_split(record, plan, where=where, id_of=id_of) for where, record in placed]
    return sorted(pairs, key=lambda pair: pair.task.task_id)


def _split(
    record: Mapping[str, Any],
    plan: _Plan,
    *,
    where: str,
    id_of: Callable[[Mapping[str, Any]], str],
) -> _Pair:
    if record.get("input") is None:
        raise TasksError(where, "no `input`", expected='an object like {"input": ..., "gold": ...}')
    suspicious = sorted(gold_names(record["input"]))
    if suspicious:
        raise TasksError(
            where,
            f"`input.{suspicious[0]}` looks like a right answer",
            expected="only what the harness may see",
            fix="move it out of `input`, to `gold`",
        )
    gold = record.get("gold")
    if gold is not None:
        _check_gold(gold, plan, where=where)
    rest = {key: value for key, value in record.items() if key not in (*PUBLIC_FIELDS, "gold")}
    try:
        canonical_json(record).encode()
        task_id = id_of(record)
        public = {key: record[key] for key in PUBLIC_FIELDS if key in record}
        task = Task.model_validate({**public, "task_id": task_id})
        hidden = vault_record(task_id, gold=gold, rest=rest)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        raise TasksError(f"{where}: {key}", "not a task", expected=first["msg"]) from error
    except (ValueError, TypeError, RecursionError) as error:
        raise TasksError(where, f"cannot be written as JSON: {error}") from error
    return _Pair(task, hidden, frozenset(record) - frozenset(PUBLIC_FIELDS))


def _check_gold(gold: Any, plan: _Plan, *, where: str) -> None:
    check_scheme(plan.scheme, plan.answer_kind)
    problem = gold_problem(plan.scheme, plan.answer_kind, gold)
    if problem:
        raise TasksError(
            f"{where}: gold",
            problem,
            expected=f"a right answer of kind {plan.answer_kind} for scheme {plan.scheme}",
            fix="mend it, or name another --kind",
        )


# --- what an earlier seal left -------------------------------------------------------------------


def _seals_logged(vault_dir: Path) -> Iterator[tuple[dict[str, Any], tuple[dict[str, Any], ...]]]:
    """The sealing event and all entries of every set in this vault."""
    for path in sorted(vault_dir.glob(f"set-*/{LOG_NAME}")):
        entries = VaultLog(path.parent).entries()
        yield next((entry for entry in entries if entry["event"] == "sealed"), {}), entries


def _earlier_split_key(vault_dir: Path, name: str) -> str | None:
    """Of an earlier seal of the same name."""
    found = [
        event["split_key"] for event, _ in _seals_logged(vault_dir) if event.get("name") == name
    ]
    return found[-1] if found else None


def _earlier_openings(vault_dir: Path, fingerprint: str) -> int:
    """Of the same public content, whatever its name."""
    return max(
        (
            openings(entries)
            for event, entries in _seals_logged(vault_dir)
            if event.get("fingerprint") == fingerprint
        ),
        default=0,
    )


def _kept_split_key(public_dir: Path, name: str) -> str | None:
    seal = read_seal(public_dir)
    return seal.split_key if seal is not None and seal.name == name else None


# --- writing -------------------------------------------------------------------------------------


def _check_places(name: str, public_dir: Path, vault_dir: Path) -> None:
    _check_replaceable(name, public_dir)
    public, vault = public_dir.resolve(), vault_dir.resolve()
    if public.is_relative_to(vault) or vault.is_relative_to(public):
        raise ConfigError(
            str(vault_dir),
            f"vault and public side share {public if vault.is_relative_to(public) else vault}",
            expected="two folders apart",
            fix="name another --to or --out",
        )
    _check_closed(vault_dir)
    if ".harnesspro" in vault.parts:
        raise ConfigError(
            str(vault_dir),
            "a vault inside a run folder",
            expected="a folder that no run reads",
            fix="name another --to",
        )


def _check_closed(vault_dir: Path) -> None:
    """A vault lies where nobody else can put another in its place."""
    if vault_dir.is_symlink():
        found, fix = "a link, which can be turned elsewhere", "name the folder it points to"
    elif vault_dir.is_dir() and vault_dir.stat().st_mode & 0o022:
        found, fix = "a folder that others may write to", f"chmod 700 {vault_dir}, or name another"
    else:
        return
    raise ConfigError(str(vault_dir), found, expected="a folder of yours, mode 0700", fix=fix)


def _check_replaceable(name: str, public_dir: Path) -> None:
    """Only an earlier seal of the same name may be replaced."""
    seal = read_seal(public_dir)
    if seal is None and (public_dir / TASKS_NAME).exists():
        found = f"holds a {TASKS_NAME} that was not sealed here"
    elif seal is not None and seal.name != name:
        found = f"holds the sealed task set {seal.name}"
    else:
        return
    raise ConfigError(str(public_dir), found, expected="a new folder", fix="name another --out")


def _write(
    seal: Seal,
    tasks_text: str,
    hidden: list[VaultRecord],
    *,
    event: Mapping[str, Any],
    plan: _Plan,
) -> None:
    """Write everything beside its place, then rename: the vault, `seal.json`, the tasks.

    Cut short in between, the seal does not hold (`seal_holds`) and the set can be sealed again.
    """
    public_dir, vault_dir = plan.public_dir, plan.vault_dir
    try:
        public_dir.mkdir(parents=True, exist_ok=True)
        vault_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        tasks = _beside(public_dir / TASKS_NAME, tasks_text, mode=0o644)
        header = _beside(public_dir / SEAL_NAME, seal.model_dump_json(indent=1) + "\n", mode=0o644)
        _place_vault(vault_dir / seal.taskset_id, hidden, event)
        os.replace(header, public_dir / SEAL_NAME)
        os.replace(tasks, public_dir / TASKS_NAME)
    except OSError as error:
        place = error.filename or public_dir
        raise ConfigError(
            str(place), f"cannot be written: {error.strerror}", fix="name a folder you may write"
        ) from error


def _place_vault(folder: Path, hidden: list[VaultRecord], event: Mapping[str, Any]) -> None:
    beside = folder.with_name(f".sealing-{secrets.token_hex(8)}")
    beside.mkdir(mode=0o700)
    try:
        gold = _beside(beside / GOLD_NAME, gold_text(hidden), mode=0o600)
        os.replace(gold, beside / GOLD_NAME)
        VaultLog(beside).append("sealed", **event)
        os.replace(beside, folder)
    except OSError:
        shutil.rmtree(beside, ignore_errors=True)
        raise


def _beside(path: Path, text: str, *, mode: int) -> Path:
    """The text on the disk in a hidden file next to `path`."""
    beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    file = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    with os.fdopen(file, "wb") as stream:
        stream.write(text.encode())
        stream.flush()
        os.fsync(stream.fileno())
    return beside
