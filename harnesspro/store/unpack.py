"""A packed folder (zip, tar, tar.gz) as text files in memory; nothing is written, nothing is followed.

Whoever packed it is not trusted: names, kinds, sizes and ratios are held to bounds by what is really
read, never by what a header says, and all of it is checked before any of it is given out.
"""

from __future__ import annotations

import io
import stat
import tarfile
import unicodedata
import zipfile
import zlib
from collections.abc import Iterator
from typing import IO

from harnesspro.core.errors import IntegrityError
from harnesspro.store.placing import safe_relative

MAX_PACKED_BYTES, MAX_BYTES, MAX_FILE_BYTES = 20_000_000, 40_000_000, 1_000_000
MAX_FILES = 500
MAX_RATIO = 200
"""Bytes unpacked for a byte packed, beyond the first million."""
_FREE_BYTES = 1_000_000
_ZIP, _GZIP = b"PK\x03\x04", b"\x1f\x8b"


def unpacked(content: bytes, *, where: str) -> dict[str, str]:
    """Relative POSIX path -> text of every file.

    Raises:
        IntegrityError: it is none of these, or holds a link, a special file, an unsafe or clashing
            name, a file that is no UTF-8 text (a packed folder in it is none), or more than the bounds.
    """
    if len(content) > MAX_PACKED_BYTES:
        raise IntegrityError(where, f"{len(content)} bytes", expected=f"at most {MAX_PACKED_BYTES}")
    members = _zip_members if content[:4] == _ZIP else _tar_members
    most = min(MAX_BYTES, _FREE_BYTES + MAX_RATIO * len(content))
    files: dict[str, str] = {}
    n_bytes = 0
    try:
        for name, data in members(content, most, where=where):
            n_bytes += len(data)
            if len(data) > MAX_FILE_BYTES or n_bytes > most or len(files) >= MAX_FILES:
                raise IntegrityError(
                    where,
                    f"unpacks to more than {len(files)} files of {n_bytes} bytes",
                    expected=f"{MAX_FILES} files of {MAX_FILE_BYTES} bytes, {most} in all, at most",
                )
            files[_new_name(name, files, where=where)] = data.decode()
    except (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, ValueError) as error:
        raise IntegrityError(
            where, f"cannot be unpacked: {error}"[:200], expected="a zip or tar of text files"
        ) from error
    except (RuntimeError, NotImplementedError) as error:  # encrypted, or packed in an odd way
        raise IntegrityError(where, f"cannot be unpacked: {error}"[:200]) from error
    if not files:
        raise IntegrityError(where, "no file", expected="a zip or tar of text files")
    return files


def _new_name(name: str, files: dict[str, str], *, where: str) -> str:
    """The name, where no file system takes it for one that is there already, or for its folder."""
    path = str(safe_relative(name))
    if unicodedata.normalize("NFC", path) != path:
        raise IntegrityError(where, f"{path!r} is not in composed form (NFC)")
    key = path.casefold()
    for other in files:
        there = other.casefold()
        if there == key or there.startswith(key + "/") or key.startswith(there + "/"):
            raise IntegrityError(where, f"{path!r} clashes with {other!r}")
    return path


def _zip_members(content: bytes, most: int, *, where: str) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(io.BytesIO(content)) as packed:
        for info in packed.infolist():
            kind = stat.S_IFMT(info.external_attr >> 16)
            if info.is_dir() and kind in (0, stat.S_IFDIR):
                continue
            if kind not in (0, stat.S_IFREG):
                raise IntegrityError(where, f"{info.filename!r} is a link or special file")
            with packed.open(info) as stream:
                yield info.filename, _read(stream, MAX_FILE_BYTES)


def _tar_members(content: bytes, most: int, *, where: str) -> Iterator[tuple[str, bytes]]:
    plain = _gunzipped(content, most, where=where) if content[:2] == _GZIP else content
    with tarfile.open(fileobj=io.BytesIO(plain), mode="r:") as packed:
        for info in packed:
            if info.isdir():
                continue
            if info.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or info.issparse():
                raise IntegrityError(where, f"{info.name!r} is a link or special file")
            stream = packed.extractfile(info)
            assert stream is not None, "a regular file has content"
            yield info.name, _read(stream, MAX_FILE_BYTES)


def _read(stream: IO[bytes], most: int) -> bytes:
    """At most one byte more than allowed, which is enough to refuse it."""
    return stream.read(most + 1)


def _gunzipped(content: bytes, most: int, *, where: str) -> bytes:
    unzip = zlib.decompressobj(wbits=31)
    plain = unzip.decompress(content, most + 1_000_000)
    if unzip.unconsumed_tail:
        raise IntegrityError(where, f"unpacks to more than {most} bytes")
    if not unzip.eof:
        raise EOFError("the stream is cut")
    return plain
