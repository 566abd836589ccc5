"""The memory on disk: one folder an entry, `<entry_id>/{entry.json, files/...}`, plain files.

What stands there may come from anybody: nothing is executed, links and special files are not
followed, and a tree is handed out only where it hashes to the id its entry names.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from pydantic import ValidationError

from harnesspro.core.errors import ConfigError, HarnessProError, IntegrityError
from harnesspro.core.hashing import content_id
from harnesspro.core.ports import ArchiveEntry
from harnesspro.formats.native import read_tree
from harnesspro.store.placing import place_folder
from harnesspro.store.unpack import unpacked

ENTRY_FILE = "entry.json"
FILES_FOLDER = "files"
CLAIMED = "claimed, not run here: "
"""Before the lesson of an entry that came from elsewhere."""
_MAX_ENTRY_BYTES = 1_000_000
_ENTRY_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,99}")


class FileArchive:
    """`Archive` over the user's own folder and, read-only, the shipped one.

    A damaged entry is left out and named by `problems()`; it never fails a run.
    """

    def __init__(self, own: Path, shipped: Path | None) -> None:
        """Neither folder need exist; `own` is made when the first entry is added."""
        self._own = own.absolute()
        self._shipped = shipped.absolute() if shipped else None

    def add(self, entry: ArchiveEntry, files: Mapping[str, str]) -> None:
        """Place an entry with its tree.

        Raises:
            ConfigError: the entry was measured without isolation, or the folder is unwritable.
            IntegrityError: the files are not the harness the entry names, the entry id is no
                plain name, or another entry stands under it.
        """
        if entry.isolation == "S0":
            raise ConfigError(
                f"archive entry {entry.entry_id}",
                "measured without isolation (S0)",
                expected="S2 or better",
                fix="run again with a sandbox; see: harnesspro doctor",
            )
        _check_id(entry.entry_id)
        _check_sound(entry, files)
        tree = {f"{FILES_FOLDER}/{path}": text for path, text in files.items()}
        placed = {ENTRY_FILE: entry.model_dump_json(indent=2) + "\n", **tree}
        folder = self._own / entry.entry_id
        try:
            new = place_folder(folder, placed)
        except OSError as error:
            raise ConfigError(
                str(self._own), f"cannot write: {error.strerror}", fix="name another --out"
            ) from error
        if not new and _read_entry(folder) != entry:
            raise IntegrityError(str(folder), "holds another entry", expected=entry.entry_id)

    def add_packed(self, content: bytes, *, where: str) -> ArchiveEntry:
        """Place an entry that somebody packed (zip, tar, tar.gz), as `add` would; the entry placed.

        What it says of itself was measured elsewhere: it is kept as observed, and as a claim.

        Raises:
            ConfigError: see `add`.
            IntegrityError: it is not such a pack, no entry, or its files are not what it names;
                nothing is written then.
        """
        packed = unpacked(content, where=where)
        lead = f"{FILES_FOLDER}/"
        files = {
            path.removeprefix(lead): text for path, text in packed.items() if path.startswith(lead)
        }
        others = sorted(set(packed) - {ENTRY_FILE} - {lead + path for path in files})
        if others or ENTRY_FILE not in packed:
            found = f"{others[0]!r} in it" if others else f"no {ENTRY_FILE}"
            raise IntegrityError(where, found, expected=f"{ENTRY_FILE} and {lead}, nothing else")
        entry = _parsed(packed[ENTRY_FILE].encode(), where=f"{where}/{ENTRY_FILE}")
        lesson = f"{CLAIMED}{entry.lesson.removeprefix(CLAIMED)}"
        claimed = entry.model_copy(update={"stamp": "observed", "lesson": lesson})
        self.add(claimed, files)
        return claimed

    def entries(self) -> tuple[ArchiveEntry, ...]:
        """All sound entries, oldest first; an own entry stands for a shipped one of its id."""
        found = {entry.entry_id: entry for entry in self._scan() if not isinstance(entry, str)}
        return tuple(sorted(found.values(), key=lambda entry: (entry.created_at, entry.entry_id)))

    def problems(self) -> list[str]:
        """One line for each entry that `entries` leaves out: where, and what is wrong."""
        return [problem for problem in self._scan() if isinstance(problem, str)]

    def files(self, entry_id: str) -> dict[str, str]:
        """The tree of an entry.

        Raises:
            IntegrityError: no such entry, or it is damaged.
        """
        _check_id(entry_id)
        for root in (self._own, self._shipped):
            if root is not None and (root / entry_id).is_dir():
                return _read(root / entry_id)[1]
        raise IntegrityError(entry_id, "no such archive entry", fix="see the archive folder")

    def _scan(self) -> Iterator[ArchiveEntry | str]:
        """Each entry, or what is wrong with it; shipped ones first, so that own ones win."""
        for root in (self._shipped, self._own):
            for folder in sorted(root.iterdir()) if root and root.is_dir() else ():
                if folder.name.startswith(".") or not folder.is_dir():
                    continue
                try:
                    yield _read(folder)[0]
                except (HarnessProError, OSError) as error:
                    yield str(error)


def _read(folder: Path) -> tuple[ArchiveEntry, dict[str, str]]:
    entry = _read_entry(folder)
    _check_regular(folder / FILES_FOLDER, directory=True)
    files = read_tree(folder / FILES_FOLDER)
    _check_sound(entry, files)
    return entry, files


def _read_entry(folder: Path) -> ArchiveEntry:
    _check_id(folder.name)
    path = folder / ENTRY_FILE
    _check_regular(folder, directory=True)
    _check_regular(path, directory=False)
    entry = _parsed(path.read_bytes(), where=str(path))
    if entry.entry_id != folder.name:
        raise IntegrityError(str(path), f"entry_id {entry.entry_id!r}", expected=folder.name)
    return entry


def _parsed(content: bytes, *, where: str) -> ArchiveEntry:
    try:
        return ArchiveEntry.model_validate_json(content)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"])) or "document"
        raise IntegrityError(f"{where}: {key}", first["msg"]) from error


def _check_regular(path: Path, *, directory: bool) -> None:
    try:
        mode = path.lstat()
    except OSError as error:
        raise IntegrityError(str(path), error.strerror or "unreadable") from error
    if not (stat.S_ISDIR if directory else stat.S_ISREG)(mode.st_mode):
        raise IntegrityError(str(path), "a link or special file", expected="plain files")
    if not directory and mode.st_size > _MAX_ENTRY_BYTES:
        raise IntegrityError(
            str(path), f"{mode.st_size} bytes", expected=f"at most {_MAX_ENTRY_BYTES}"
        )


def _check_id(entry_id: str) -> None:
    if not _ENTRY_ID.fullmatch(entry_id):
        raise IntegrityError(repr(entry_id)[:120], "no entry id", expected="letters, digits, ._@-")


def _check_sound(entry: ArchiveEntry, files: Mapping[str, str]) -> None:
    where, found = f"archive entry {entry.entry_id}", content_id("h", dict(files))
    if found != entry.harness_id:
        raise IntegrityError(where, f"files of {found}", expected=entry.harness_id)
    if entry.isolation == "S0":
        raise IntegrityError(where, "measured without isolation (S0)", expected="S2 or better")
