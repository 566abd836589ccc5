"""The vault's own log: hash-chained lines, each on the disk before anything answers."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from harnesspro.core.errors import IntegrityError
from harnesspro.core.hashing import canonical_json
from harnesspro.vault.chain import chain_problems, chained, head

LOG_NAME = "log.jsonl"


class VaultLog:
    """Append-only; several processes may write, one after the other."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / LOG_NAME

    def entries(self) -> tuple[dict[str, Any], ...]:
        """All events, oldest first.

        Raises:
            IntegrityError: a line was changed, removed or does not parse.
        """
        try:
            return self._parsed(self.path.read_bytes() if self.path.exists() else b"")
        except OSError as error:
            raise IntegrityError(str(self.path), f"cannot be read: {error.strerror}") from error

    def append(self, event: str, **fields: Any) -> None:
        """Write an event through to the disk."""
        with self._locked() as file:
            self._write(file, self._parsed(_all_of(file)), {"event": event, **fields})

    def append_opening(self, **fields: Any) -> int:
        """Count and record an opening; the number of openings so far, this one included."""
        with self._locked() as file:
            entries = self._parsed(_all_of(file))
            n = openings(entries) + 1
            self._write(file, entries, {"event": "opening", "n": n, **fields})
        return n

    def _parsed(self, content: bytes) -> tuple[dict[str, Any], ...]:
        try:
            lines = content.decode().split("\n")
            entries = tuple(json.loads(line) for line in lines if line)
        except ValueError as error:
            raise IntegrityError(str(self.path), "a line does not parse") from error
        problems = chain_problems(entries)
        if problems:
            raise IntegrityError(str(self.path), problems[0], expected="a whole hash chain")
        return entries

    @contextmanager
    def _locked(self) -> Iterator[int]:
        file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield file
        finally:
            os.close(file)

    def _write(self, file: int, entries: tuple[dict[str, Any], ...], event: dict[str, Any]) -> None:
        stamped = {**event, "at": datetime.now(UTC).isoformat(timespec="seconds")}
        line = canonical_json(chained(stamped, prev=head(entries))) + "\n"
        os.write(file, line.encode())
        os.fsync(file)


def openings(entries: tuple[dict[str, Any], ...]) -> int:
    """Openings these tasks have seen, those under an earlier seal included."""
    earlier = [entry["openings_before"] for entry in entries if entry["event"] == "sealed"]
    return sum(map(int, earlier)) + sum(1 for entry in entries if entry["event"] == "opening")


def _all_of(file: int) -> bytes:
    return os.pread(file, os.fstat(file).st_size, 0)
