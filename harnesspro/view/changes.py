"""What differs between two harnesses, file by file, as unified diffs. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Status = Literal["added", "removed", "changed"]


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file that is not the same on both sides."""

    path: str
    status: Status
    diff: str
    """Unified, three lines of context, ending in a line break."""


def file_changes(
    before: Mapping[str, str], after: Mapping[str, str], *, names: tuple[str, str]
) -> tuple[FileChange, ...]:
    """Every file that differs, by path; `names` stand for the two sides in the diff's head."""
    return tuple(
        _change(path, before.get(path), after.get(path), names)
        for path in sorted({*before, *after})
        if before.get(path) != after.get(path)
    )


def _change(path: str, old: str | None, new: str | None, names: tuple[str, str]) -> FileChange:
    status: Status = "added" if old is None else "removed" if new is None else "changed"
    lines = difflib.unified_diff(
        (old or "").splitlines(),
        (new or "").splitlines(),
        fromfile=f"{names[0]}/{path}",
        tofile=f"{names[1]}/{path}",
        lineterm="",
    )
    shown = [*lines] or [f"--- {names[0]}/{path}", f"+++ {names[1]}/{path}", "(line ends only)"]
    return FileChange(path, status, "\n".join(shown) + "\n")
