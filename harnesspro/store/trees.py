"""Candidate trees in a bare git repository: one commit and one ref a harness.

There is never a work tree; hooks and the user's configuration are off, and a repository whose own
configuration is not the one written here is refused. What a model wrote is only ever the content
of a blob or the text of a message.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from harnesspro.core.errors import ConfigError, IntegrityError
from harnesspro.core.hashing import content_id
from harnesspro.core.records import Harness
from harnesspro.store.placing import place_folder, safe_relative

if TYPE_CHECKING:
    from git import Commit, Reference, Repo

_HARNESS_ID = re.compile(r"h-[0-9a-f]{16}")
_BLOB_MODE = 0o100644
_MAX_MESSAGE = 500
_AUTHOR = ("HarnessPro", "harnesspro@localhost")
_CONFIG = """\
[core]
\trepositoryformatversion = 0
\tbare = true
\thooksPath = /dev/null
\tlogAllRefUpdates = false
"""


class GitTrees:
    """`Trees` in `<run_dir>/trees.git`, staged copies in `<run_dir>/staged/`.

    Only `run_dir` is written. Reading needs no write access at all.
    """

    def __init__(self, run_dir: Path) -> None:
        """Opens nothing yet."""
        self._repo_dir = run_dir.absolute() / "trees.git"
        self._staged_dir = run_dir.absolute() / "staged"

    def put(self, harness: Harness, *, message: str) -> None:
        """Keep the files as one commit whose parent is the parent's commit, where that is kept."""
        place_folder(self._repo_dir, {"HEAD": "ref: refs/heads/main\n", "config": _CONFIG})
        (self._repo_dir / "objects").mkdir(exist_ok=True)
        (self._repo_dir / "refs").mkdir(exist_ok=True)
        with self._repo() as repo:
            if self._commit(repo, harness.harness_id) is not None:
                return
            parent = self._commit(repo, harness.parent_id) if harness.parent_id else None
            commit = _write_commit(repo, harness.files, parent=parent, message=message)
            _reference(repo, harness.harness_id).set_object(commit)

    def files(self, harness_id: str) -> dict[str, str]:
        """The files of a kept harness, its content verified against its id."""
        if not (self._repo_dir / "refs" / "harnesses").is_dir():
            raise IntegrityError(str(self._repo_dir), "no trees kept in this run")
        with self._repo() as repo:
            commit = self._commit(repo, harness_id)
            if commit is None:
                raise IntegrityError(harness_id, "not kept in this run", fix="see: harnesspro show")
            files = _read_files(commit, where=harness_id)
        found = content_id("h", files)
        if found != harness_id:
            raise IntegrityError(str(self._repo_dir), f"content of {found}", expected=harness_id)
        return files

    def stage(self, harness_id: str) -> str:
        """An absolute folder holding the files, written once, world-readable."""
        folder = self._staged_dir / _checked(harness_id)
        if not folder.exists():
            place_folder(folder, self.files(harness_id))
        return str(folder)

    @contextmanager
    def _repo(self) -> Iterator[Repo]:
        config = self._repo_dir / "config"
        if config.read_text(encoding="utf-8") != _CONFIG:
            raise IntegrityError(str(config), "not as HarnessPro writes it", fix="do not trust it")
        git = _git()
        try:
            repo = git.Repo(self._repo_dir, expand_vars=False)
        except git.InvalidGitRepositoryError as error:
            raise IntegrityError(
                str(self._repo_dir), "no longer a repository", fix="restore it, or start a new run"
            ) from error
        repo.config_level = ("repository",)
        repo.git.update_environment(**self._environment())
        try:
            yield repo
        except git.GitCommandNotFound as error:
            raise ConfigError("git", "no such command", fix="install git") from error
        finally:
            repo.close()

    def _environment(self) -> dict[str, str]:
        """Nothing but the repository itself tells git what to do, and nothing is fetched."""
        return {
            "GIT_DIR": str(self._repo_dir),
            "GIT_OBJECT_DIRECTORY": str(self._repo_dir / "objects"),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_CONFIG_COUNT": "0",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_ALLOW_PROTOCOL": "none",
            "GIT_TERMINAL_PROMPT": "0",
        }

    def _commit(self, repo: Repo, harness_id: str) -> Commit | None:
        reference = _reference(repo, harness_id)
        return reference.commit if reference.is_valid() else None


def _checked(harness_id: str) -> str:
    if not _HARNESS_ID.fullmatch(harness_id):
        raise IntegrityError(
            repr(harness_id)[:80], "no harness id", expected="h- and 16 hex digits"
        )
    return harness_id


def _git() -> ModuleType:
    """GitPython; a missing git command is reported on use, not when imported."""
    os.environ.setdefault("GIT_PYTHON_REFRESH", "quiet")
    import git

    return git


def _reference(repo: Repo, harness_id: str) -> Reference:
    from git import Reference

    return Reference(repo, f"refs/harnesses/{_checked(harness_id)}")


def _write_commit(
    repo: Repo, files: Mapping[str, str], *, parent: Commit | None, message: str
) -> Commit:
    from git import Actor, Commit, Tree

    author, now = Actor(*_AUTHOR), f"{int(time.time())} +0000"
    return Commit.create_from_tree(
        repo,
        Tree(repo, _write_tree(repo, files)),
        _message(message),
        parent_commits=[parent] if parent else [],
        author=author,
        committer=author,
        author_date=now,
        commit_date=now,
    )


def _write_tree(repo: Repo, files: Mapping[str, str]) -> bytes:
    from git.index.fun import write_tree_from_cache
    from git.index.typ import BaseIndexEntry, IndexEntry
    from gitdb import IStream  # type: ignore[import-untyped]

    entries = []
    for path in sorted(files, key=str.encode):
        data = files[path].encode()
        blob = repo.odb.store(IStream(b"blob", len(data), BytesIO(data)))
        name = str(safe_relative(path))
        entries.append(IndexEntry.from_base(BaseIndexEntry((_BLOB_MODE, blob.binsha, 0, name))))
    return write_tree_from_cache(entries, repo.odb, slice(0, len(entries)))[0]


def _read_files(commit: Commit, *, where: str) -> dict[str, str]:
    from git import Blob, Tree

    files = {}
    for item in commit.tree.traverse():
        if isinstance(item, Tree):
            continue
        if not isinstance(item, Blob) or item.mode != _BLOB_MODE:
            raise IntegrityError(where, f"holds {item!r}", expected="regular files")
        files[str(safe_relative(str(item.path)))] = item.data_stream.read().decode()
    return files


def _message(text: str) -> str:
    """One line of printable text."""
    line = "".join(char if char.isprintable() else " " for char in text)
    return " ".join(line.split())[:_MAX_MESSAGE] or "no message"
