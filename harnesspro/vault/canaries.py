"""Finds canaries of the vault in files a search has written, in the clear or in one disguise.

Disguises: upper case, reversed, rot13, hex of the text, base64 at any alignment, invisible
characters in between, and each of these inside a zlib or gzip stream. Of an SQLite file the values are read too:
one that spans pages does not stand in the file's bytes in one piece. More layers are not claimed.
"""

from __future__ import annotations

import base64
import codecs
import os
import re
import shutil
import sqlite3
import stat
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

_CHUNK_BYTES = 8_000_000
_OVERLAP_BYTES = 4096
"""Longer than a canary with an escaped invisible character or two after each of its digits."""
_INFLATED_BYTES = 64_000_000
_SQLITE = b"SQLite format 3\0"
_TABLES = "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
_ROWS_AT_ONCE = 500
_INVISIBLE = re.compile(
    rb"\xe2\x80[\x8b-\x8f\xaa-\xae]|\xe2\x81[\xa0-\xaf]|\xef\xbb\xbf|\xc2\xad"
    rb"|\\u(?:200[b-f]|202[a-e]|206[0-9a-f]|feff|00ad)",
    re.IGNORECASE,
)


@dataclass(slots=True)
class _Disguise:
    """Runs of an alphabet in which each window of `length` may be a canary."""

    run: re.Pattern[bytes]
    length: int
    any_case: bool = True
    forms: dict[bytes, str] = field(default_factory=dict)
    """As it stands in a run -> the canary."""

    def found_in(self, content: bytes) -> Iterator[str]:
        """The canaries that stand in `content` in this form."""
        for match in self.run.finditer(content):
            run = match.group().lower() if self.any_case else match.group()
            for start in range(len(run) - self.length + 1):
                canary = self.forms.get(run[start : start + self.length])
                if canary is not None:
                    yield canary


class CanaryScanner:
    """Knows every form of a set of canaries (32 hex digits each)."""

    def __init__(self, canaries: Iterable[str]) -> None:
        plain = _Disguise(re.compile(rb"[0-9a-fA-F]{32,}"), 32)
        rot13 = _Disguise(re.compile(rb"[0-9n-sN-S]{32,}"), 32)
        in_hex = _Disguise(re.compile(rb"[0-9a-fA-F]{64,}"), 64)
        in_base64 = _Disguise(re.compile(rb"[A-Za-z0-9+/]{42,}"), 42, any_case=False)
        self._disguises = (plain, rot13, in_hex, in_base64)
        for canary in canaries:
            text = canary.encode("ascii")
            plain.forms.update({text: canary, text[::-1]: canary})
            rot13.forms[codecs.encode(canary, "rot13").encode("ascii")] = canary
            in_hex.forms[text.hex().encode("ascii")] = canary
            in_base64.forms.update(dict.fromkeys(_base64_cores(text), canary))

    def found_in(self, content: bytes) -> frozenset[str]:
        """The canaries that stand in `content`."""
        found = self._visible(content)
        if _INVISIBLE.search(content):
            found |= self._visible(_INVISIBLE.sub(b"", content))
        return frozenset(found)

    def found_in_file(self, path: Path) -> frozenset[str]:
        """The canaries in a file, which is not followed where it is a link."""
        found: frozenset[str] = frozenset()
        for view in _views(path):
            found |= self.found_in(view)
        return found

    def found_below(self, folder: Path) -> dict[str, frozenset[str]]:
        """Relative path -> canaries, for every regular file below `folder` that holds any.

        Raises:
            OSError: a file or the folder cannot be read; nothing is passed over in silence.
        """
        if not folder.is_dir():
            raise NotADirectoryError(folder)
        hits: dict[str, frozenset[str]] = {}
        for path in _regular_files(folder):
            try:
                found = self.found_in_file(path)
            except FileNotFoundError:  # gone since it was listed: a running process's own
                continue
            if found:
                hits[path.relative_to(folder).as_posix()] = found
        return hits

    def _visible(self, content: bytes) -> set[str]:
        return {canary for form in self._disguises for canary in form.found_in(content)}


def _base64_cores(text: bytes) -> Iterator[bytes]:
    """What base64 makes of `text` wherever it starts: the characters its neighbours do not touch."""
    for before in range(3):
        encoded = base64.b64encode(b"\0" * before + text)
        first = -(-8 * before // 6)
        yield encoded[first : first + 8 * len(text) // 6]


def _regular_files(folder: Path) -> Iterator[Path]:
    for root, _, names in os.walk(folder, onerror=_raise):
        for name in sorted(names):
            path = Path(root, name)
            try:
                if stat.S_ISREG(path.lstat().st_mode):
                    yield path
            except FileNotFoundError:
                continue


def _raise(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise error


def _views(path: Path) -> Iterator[bytes]:
    """The bytes in overlapping chunks, then what they unpack to where they are compressed."""
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(file, "rb") as stream:
        start = stream.read(len(_SQLITE))
        stream.seek(0)
        kept = b""
        while chunk := stream.read(_CHUNK_BYTES):
            yield kept + chunk
            kept = chunk[-_OVERLAP_BYTES:]
        if start[:1] == b"\x78" or start[:2] == b"\x1f\x8b":
            stream.seek(0)
            yield _inflated(stream.read(_INFLATED_BYTES))
    if start == _SQLITE:
        yield from _values(path)


def _values(path: Path) -> Iterator[bytes]:
    """Every text and blob of a database, many at a time; what its log holds is among them.

    Raises:
        OSError: it cannot be read.
    """
    try:
        with _snapshot(path) as place, closing(sqlite3.connect(place, uri=True)) as database:
            names = [name for (name,) in database.execute(_TABLES)]
            for name in names:
                quoted = name.replace('"', '""')
                rows = database.execute(f'SELECT * FROM "{quoted}"')  # noqa: S608 - a table's own name
                while batch := rows.fetchmany(_ROWS_AT_ONCE):
                    texts = (v for row in batch for v in row if isinstance(v, str | bytes))
                    yield b"\n".join(v.encode() if isinstance(v, str) else v for v in texts)
    except sqlite3.Error as error:
        raise OSError(f"{path}: {error}") from error


@contextmanager
def _snapshot(path: Path) -> Iterator[str]:
    """Where to open a database: as it is, or a copy where a writer keeps a log beside it.

    Whoever may only read can neither begin a log nor join one.
    """
    log = path.with_name(f"{path.name}-wal")
    if not log.exists():
        yield f"{path.resolve().as_uri()}?immutable=1"
        return
    with tempfile.TemporaryDirectory(prefix="hp-scan-") as folder:
        copy = Path(folder, "copy.db")
        shutil.copyfile(path, copy, follow_symlinks=False)
        shutil.copyfile(log, f"{copy}-wal", follow_symlinks=False)
        yield copy.as_uri()


def _inflated(content: bytes) -> bytes:
    try:
        return zlib.decompressobj(wbits=47).decompress(content, _INFLATED_BYTES)
    except zlib.error:  # it only began like a compressed stream
        return b""
