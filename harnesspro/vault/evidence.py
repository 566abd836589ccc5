"""What a run folder holds, as one digest a file: written into the certificate, held against it later."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from harnesspro.core.hashing import content_hash

CERTIFICATE_NAME = "certificate.json"
_CHUNK_BYTES = 1 << 20


def digests(folder: Path) -> dict[str, str]:
    """Relative path -> SHA-256 of everything below `folder` that is no folder, in order of path.

    The certificate itself is left out: its own chain covers it. A link counts as its target's name,
    and is never followed; what is neither file nor link counts as its kind.

    Raises:
        OSError: something cannot be read.
    """
    found = {path: _digest(folder / path) for path in _below(folder)}
    return {path: found[path] for path in sorted(found) if path != CERTIFICATE_NAME}


def closing(folder: Path) -> dict[str, Any]:
    """The event that ends a sitting: every file by its digest, and all of them by one."""
    files = digests(folder)
    return {"event": "closed", "n_files": len(files), "root": content_hash(files), "files": files}


def differences(recorded: Mapping[str, str], found: Mapping[str, str]) -> list[str]:
    """What was changed, removed or added since, in plain words, in order of path."""
    lines = []
    for path in sorted({*recorded, *found}):
        if path not in found:
            lines.append(f"{path}: removed")
        elif path not in recorded:
            lines.append(f"{path}: added")
        elif recorded[path] != found[path]:
            lines.append(f"{path}: changed")
    return lines


def _below(folder: Path) -> Iterator[str]:
    for root, folders, names in os.walk(folder, onerror=_raise):
        links = [name for name in folders if Path(root, name).is_symlink()]
        for name in (*names, *links):
            yield Path(root, name).relative_to(folder).as_posix()


def _raise(error: OSError) -> None:
    raise error


def _digest(path: Path) -> str:
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        return content_hash("link", os.readlink(path))
    if not stat.S_ISREG(mode):
        return content_hash("special", stat.S_IFMT(mode))
    hasher = hashlib.sha256()
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(file, "rb") as stream:
        while chunk := stream.read(_CHUNK_BYTES):
            hasher.update(chunk)
    return hasher.hexdigest()
