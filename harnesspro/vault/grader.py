"""The grader process: the only one that reads right answers, and it gives back grades alone.

It answers one request, `open_sealed`: the vault is verified, the opening counted and on the disk,
then the run is scanned for canaries and the answers are graded. It runs no candidate code. Whatever
goes wrong is one code on the wire; the detail is in the vault, for its owner.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from harnesspro.core.errors import HarnessProError, IntegrityError
from harnesspro.core.records import Record
from harnesspro.vault.canaries import CanaryScanner
from harnesspro.vault.grading import Grade, grade
from harnesspro.vault.log import VaultLog
from harnesspro.vault.records import VaultRecord, verified_records
from harnesspro.vault.seal import GOLD_NAME
from harnesspro.vault.wire import GRADE_CODES, GRADER_ERROR, read_frame, write_frame

_PR_SET_DUMPABLE = 4


class GraderConfig(Record):
    """What the grader is started with."""

    vault_dir: str
    taskset_id: str
    merkle_root: str
    answer_kind: str
    scheme: str
    run_dir: str
    archive_dir: str | None = None
    """Scanned too; by default the archive beside the folder of runs."""

    @property
    def vault(self) -> Path:
        """The folder of this task set in the vault."""
        return Path(self.vault_dir) / self.taskset_id

    @property
    def scanned(self) -> tuple[Path, ...]:
        """The folders searched for canaries."""
        run = Path(self.run_dir)
        archive = Path(self.archive_dir) if self.archive_dir else run.parent.parent / "archive"
        return (run, archive) if archive.is_dir() else (run,)


@dataclass(frozen=True, slots=True)
class _Answer:
    """One answer as it came over the wire; `text` is its JSON."""

    digest: str
    task_id: str
    text: str


def serve(sock: socket.socket, config: GraderConfig) -> None:
    """Answer requests until the other side closes. Starts by closing itself to debuggers."""
    harden()
    try:
        while (request := read_frame(sock)) is not None:
            write_frame(sock, _reply(request, config))
    except (ConnectionError, ValueError):
        return


def harden() -> None:
    """No core dumps, no ptrace, no reading of this process through /proc by the same user."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_DUMPABLE)")


def check_vault(vault_dir: Path, *, taskset_id: str, merkle_root: str) -> int:
    """How many tasks the vault holds; for whoever starts a grader, before money is spent.

    Raises:
        IntegrityError: the vault is absent or does not match its root.
    """
    return len(_records(Path(vault_dir) / taskset_id, merkle_root))


def _records(vault: Path, root: str) -> tuple[VaultRecord, ...]:
    path = vault / GOLD_NAME
    try:
        content = path.read_bytes()
    except OSError as error:
        raise IntegrityError(
            str(path), f"cannot be read: {error.strerror}", fix="seal or pull the tasks again"
        ) from error
    return verified_records(content, root=root, where=str(path))


def _reply(request: Any, config: GraderConfig) -> dict[str, Any]:
    try:
        return _open_sealed(_answers(request), config)
    except (HarnessProError, OSError, ValueError, LookupError, TypeError) as error:
        _keep_detail(config, error)
        return {"error": GRADER_ERROR}


def _answers(request: Any) -> tuple[_Answer, ...]:
    if not isinstance(request, dict) or request.get("op") != "open_sealed":
        raise ValueError("not an open_sealed request")
    answers = tuple(_Answer(*map(str, answer)) for answer in request["answers"])
    if not answers:
        raise ValueError("no answers to grade")
    return answers


def _open_sealed(answers: Sequence[_Answer], config: GraderConfig) -> dict[str, Any]:
    records = _records(config.vault, config.merkle_root)
    by_id = {record.task_id: record for record in records}
    golds = [by_id[answer.task_id].gold for answer in answers]  # an unknown task opens nothing
    log = VaultLog(config.vault)
    run = Path(config.run_dir).name
    n_openings = log.append_opening(run=run, n_answers=len(answers))
    hits = _scan(records, config)
    log.append("scanned", run=run, hits=hits)
    grades = [
        (answer.digest, GRADE_CODES[_grade(answer.text, gold, config)])
        for answer, gold in zip(answers, golds, strict=True)
    ]
    return {
        "grades": grades,
        "n_openings": f"{n_openings:09d}",
        "canary_hits": f"{sum(hits.values()):09d}",
        "merkle_root": config.merkle_root,
    }


def _grade(text: str, gold: Any, config: GraderConfig) -> Grade:
    try:
        return grade(config.scheme, config.answer_kind, json.loads(text), gold)
    except (RecursionError, ValueError):  # what cannot be read as JSON matches no right answer
        return "wrong" if gold is not None else "no_gold"


def _scan(records: Sequence[VaultRecord], config: GraderConfig) -> dict[str, int]:
    """Path -> number of canaries found in it."""
    scanner = CanaryScanner(record.canary for record in records)
    return {
        f"{folder.name}/{path}": len(found)
        for folder in config.scanned
        for path, found in scanner.found_below(folder).items()
    }


def _keep_detail(config: GraderConfig, error: Exception) -> None:
    """Write the detail where only the vault's owner reads it; without it the code still goes out."""
    try:
        file = os.open(
            config.vault / "errors.log",
            os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC,
            0o600,
        )
        with os.fdopen(file, "w", encoding="utf-8") as stream:
            stream.write(f"{datetime.now(UTC).isoformat()} {type(error).__name__}: {error}\n")
    except OSError:
        return
