"""The grader process: the only one that reads right answers, and it gives back grades alone.

It answers one request, `open_sealed`: the vault is verified, the opening counted and on the disk,
then the run is scanned for canaries and the answers are graded. It runs no candidate code: code is
called in a sandbox it borrows, and only values come back. Whatever goes wrong is one code on the wire; the detail is in the vault, for its owner.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from harnesspro.core.errors import HarnessProError, IntegrityError
from harnesspro.core.ports import Sandbox
from harnesspro.core.records import Record
from harnesspro.vault.canaries import CanaryScanner
from harnesspro.vault.executable import CodeGrader
from harnesspro.vault.grading import Grade, grade
from harnesspro.vault.guard import harden
from harnesspro.vault.log import VaultLog
from harnesspro.vault.records import VaultRecord, verified_records
from harnesspro.vault.seal import GOLD_NAME
from harnesspro.vault.wire import GRADE_CODES, GRADER_ERROR, read_frame, write_frame

Borrow = Callable[[], Sandbox]


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
    empty_dir: str = ""
    """A folder with nothing in it, below what the borrowed sandbox may show."""

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


def no_sandbox() -> Sandbox:
    """What a grader borrows that was lent nothing.

    Raises:
        HarnessProError: always.
    """
    raise HarnessProError("grader", "asked to grade code, and no sandbox was lent")


def serve(sock: socket.socket, config: GraderConfig, borrow: Borrow = no_sandbox) -> None:
    """Answer requests until the other side closes. Starts by closing itself to debuggers."""
    harden()
    grader = _Grader(config, CodeGrader(borrow, empty_dir=config.empty_dir))
    try:
        while (request := read_frame(sock)) is not None:
            write_frame(sock, grader.reply(request))
    except (ConnectionError, ValueError):
        return


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


def _answers(request: Any) -> tuple[_Answer, ...]:
    if not isinstance(request, dict) or request.get("op") != "open_sealed":
        raise ValueError("not an open_sealed request")
    answers = tuple(_Answer(*map(str, answer)) for answer in request["answers"])
    if not answers:
        raise ValueError("no answers to grade")
    return answers


class _Grader:
    """One task set's vault, and how its answers are graded."""

    def __init__(self, config: GraderConfig, code: CodeGrader) -> None:
        self._config, self._code = config, code

    def reply(self, request: Any) -> dict[str, Any]:
        """The one reply, or the one code for whatever went wrong."""
        try:
            return self._open_sealed(_answers(request))
        except (HarnessProError, OSError, ValueError, LookupError, TypeError) as error:
            _keep_detail(self._config, error)
            return {"error": GRADER_ERROR}

    def _open_sealed(self, answers: Sequence[_Answer]) -> dict[str, Any]:
        config = self._config
        records = _records(config.vault, config.merkle_root)
        by_id = {record.task_id: record for record in records}
        golds = [by_id[answer.task_id].gold for answer in answers]  # an unknown task opens nothing
        log = VaultLog(config.vault)
        run = Path(config.run_dir).name
        n_openings = log.append_opening(run=run, n_answers=len(answers))
        hits = _scan(records, config)
        log.append("scanned", run=run, hits=hits)
        grades = [
            (answer.digest, GRADE_CODES[self._grade(answer.text, gold)])
            for answer, gold in zip(answers, golds, strict=True)
        ]
        return {
            "grades": grades,
            "n_openings": f"{n_openings:09d}",
            "canary_hits": f"{sum(hits.values()):09d}",
            "merkle_root": config.merkle_root,
        }

    def _grade(self, text: str, gold: Any) -> Grade:
        if gold is None:
            return "no_gold"
        try:
            answer = json.loads(text)
        except (RecursionError, ValueError):  # what cannot be read as JSON matches no right answer
            return "wrong"
        if self._config.scheme == "calls":
            return "right" if self._code.is_right(answer, gold) else "wrong"
        try:
            return grade(self._config.scheme, self._config.answer_kind, answer, gold)
        except (RecursionError, ValueError):
            return "wrong"


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
