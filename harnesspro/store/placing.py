"""Files and folders that appear whole or not at all: written beside, synced, renamed."""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from harnesspro.core.errors import IntegrityError

FOLDER_MODE = 0o755
FILE_MODE = 0o644


def write_text(path: Path, text: str) -> None:
    """Replace or create `path` with `text`; a crash leaves the old file or the new one.

    Raises:
        OSError: the folder cannot be written.
    """
    beside = path.parent / f".{path.name}.{secrets.token_hex(4)}"
    try:
        _write_synced(beside, text)
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def write_json(path: Path, value: Any) -> None:
    """`write_text` of the value as indented JSON. NaN and infinities are refused.

    Raises:
        OSError: the folder cannot be written.
        ValueError: the value holds a NaN or an infinity.
    """
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def place_folder(target: Path, files: Mapping[str, str]) -> bool:
    """A new folder `target` holding `files`; readable by all, whatever the umask.

    Returns False, changing nothing, where `target` already stands.

    Raises:
        IntegrityError: a path leads out of the folder.
        OSError: the parent cannot be written.
    """
    if target.exists():
        return False
    beside = target.parent / f".{target.name}.{secrets.token_hex(4)}"
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        _make_folder(beside)
        for relative, text in files.items():
            place = beside / safe_relative(relative)
            _make_folders(beside, place.parent)
            _write_synced(place, text)
        beside.rename(target)
    except OSError:
        shutil.rmtree(beside, ignore_errors=True)
        if target.is_dir():  # somebody placed it in the meantime
            return False
        raise
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise
    _sync_folder(target.parent)
    return True


def safe_relative(path: str) -> PurePosixPath:
    """The path, where it stays below the folder it is written into.

    Raises:
        IntegrityError: absolute, empty, hidden from the eye, or with `..` or `.git` in it.
    """
    parts = path.split("/")
    odd = {"", ".", ".."} & set(parts) or any(part.lower() == ".git" for part in parts)
    if odd or "\\" in path or not path.isprintable():
        raise IntegrityError(repr(path), "an unsafe file name", expected="a plain relative path")
    return PurePosixPath(path)


def _make_folders(root: Path, folder: Path) -> None:
    missing = []
    while folder != root and not folder.exists():
        missing.append(folder)
        folder = folder.parent
    for each in reversed(missing):
        _make_folder(each)


def _make_folder(folder: Path) -> None:
    folder.mkdir()
    folder.chmod(FOLDER_MODE)


def _write_synced(path: Path, text: str) -> None:
    with path.open("x", encoding="utf-8", newline="") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    path.chmod(FILE_MODE)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
