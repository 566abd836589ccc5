"""Candidate trees: kept once, linked to their parent, verified when read, staged for the sandbox."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from harnesspro.core.errors import IntegrityError
from harnesspro.core.records import AnswerSpec, Entry, Harness, Manifest, Part, Role
from harnesspro.store.trees import GitTrees

MANIFEST = Manifest(
    format="harnesspro/1",
    name="toy",
    about="A toy.",
    entry=Entry(python="solver.py:solve"),
    answer=AnswerSpec(kind="text"),
    roles={"writer": Role(name="writer")},
    parts={"system": Part(name="system", path="prompts/system.md", kind="prompt", paid="always")},
)


def harness(
    text: str = "Be brief.\n", *, parent: Harness | None = None, more: dict[str, str] | None = None
) -> Harness:
    files = {"prompts/system.md": text, "solver.py": "def solve(): ...\n", **(more or {})}
    parent_id = parent.harness_id if parent else None
    return Harness(manifest=MANIFEST, files=files, parent_id=parent_id)


def git(run_dir: Path, *args: str) -> str:
    command = ["git", "--git-dir", str(run_dir / "trees.git"), *args]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_what_was_put_is_read_back_whole(tmp_path: Path) -> None:
    kept = harness("Grüße\r\nline\n", more={"a.b/c.txt": "", "a/c.txt": "x", "a-b": "y"})
    GitTrees(tmp_path).put(kept, message="first")
    assert GitTrees(tmp_path).files(kept.harness_id) == kept.files


def test_git_itself_finds_the_repository_sound(tmp_path: Path) -> None:
    trees, kept = (
        GitTrees(tmp_path),
        harness(more={"a.b/c": "1", "a/c": "2", "a-b": "3", "a0": "4"}),
    )
    trees.put(kept, message="first")
    assert git(tmp_path, "fsck", "--full", "--strict").strip() == ""
    listed = git(tmp_path, "ls-tree", "-r", "--name-only", f"refs/harnesses/{kept.harness_id}")
    assert sorted(listed.splitlines()) == sorted(kept.files)


def test_a_child_commit_is_linked_to_its_parent(tmp_path: Path) -> None:
    trees, parent = GitTrees(tmp_path), harness()
    child = harness("Shorter.\n", parent=parent)
    trees.put(parent, message="first")
    trees.put(child, message="second")
    log = git(tmp_path, "log", "--format=%s|%an", f"refs/harnesses/{child.harness_id}")
    assert log.splitlines() == ["second|HarnessPro", "first|HarnessPro"]


def test_a_parent_kept_elsewhere_makes_a_root_commit(tmp_path: Path) -> None:
    child = harness("Shorter.\n", parent=harness())
    GitTrees(tmp_path).put(child, message="alone")
    assert git(tmp_path, "log", "--format=%s", f"refs/harnesses/{child.harness_id}") == "alone\n"


def test_putting_twice_keeps_the_first_commit(tmp_path: Path) -> None:
    trees, kept = GitTrees(tmp_path), harness()
    trees.put(kept, message="first")
    before = git(tmp_path, "rev-parse", f"refs/harnesses/{kept.harness_id}")
    trees.put(kept, message="again")
    assert git(tmp_path, "rev-parse", f"refs/harnesses/{kept.harness_id}") == before


def test_a_message_cannot_forge_headers_or_terminal_codes(tmp_path: Path) -> None:
    kept = harness()
    GitTrees(tmp_path).put(kept, message="tidy\n\nparent 000\x1b[31m " + "x" * 900)
    body = git(tmp_path, "log", "--format=%B", f"refs/harnesses/{kept.harness_id}").strip()
    assert body.startswith("tidy parent 000 [31m xxx")
    assert len(body) == 500


def test_the_users_git_settings_have_no_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(
        "[user]\n\tname = Mallory\n[i18n]\n\tcommitencoding = latin-1\n"
    )
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Mallory")
    monkeypatch.setenv("GIT_AUTHOR_DATE", "1999-01-01T00:00:00")
    kept = harness()
    GitTrees(tmp_path).put(kept, message="größer")
    written = git(tmp_path, "cat-file", "-p", f"refs/harnesses/{kept.harness_id}")
    assert "Mallory" not in written
    assert "encoding" not in written
    assert "größer" in written


@pytest.mark.parametrize(
    "bad", ["", "latest", "h-xyz", "../h-0123456789abcdef", "h-0123456789abcdeF"]
)
def test_only_a_harness_id_names_a_ref(tmp_path: Path, bad: str) -> None:
    trees = GitTrees(tmp_path)
    trees.put(harness(), message="first")
    with pytest.raises(IntegrityError, match="no harness id"):
        trees.files(bad)


def test_an_unknown_harness_says_so(tmp_path: Path) -> None:
    with pytest.raises(IntegrityError, match="no trees kept"):
        GitTrees(tmp_path).files("h-0123456789abcdef")
    GitTrees(tmp_path).put(harness(), message="first")
    with pytest.raises(IntegrityError, match="not kept in this run"):
        GitTrees(tmp_path).files("h-0123456789abcdef")


def test_content_that_does_not_hash_to_its_id_is_refused(tmp_path: Path) -> None:
    trees, honest, other = GitTrees(tmp_path), harness(), harness("Other.\n")
    trees.put(honest, message="honest")
    trees.put(other, message="other")
    refs = tmp_path / "trees.git" / "refs" / "harnesses"
    (refs / honest.harness_id).write_text((refs / other.harness_id).read_text())
    with pytest.raises(IntegrityError, match=f"content of {other.harness_id}"):
        trees.files(honest.harness_id)


def test_a_repository_that_lost_its_objects_says_so(tmp_path: Path) -> None:
    GitTrees(tmp_path).put(harness(), message="first")
    shutil.rmtree(tmp_path / "trees.git" / "objects")
    with pytest.raises(IntegrityError, match="no longer a repository"):
        GitTrees(tmp_path).files(harness().harness_id)


def test_a_repository_with_foreign_configuration_is_not_opened(tmp_path: Path) -> None:
    trees, kept = GitTrees(tmp_path), harness()
    trees.put(kept, message="first")
    with (tmp_path / "trees.git" / "config").open("a") as config:
        config.write("[core]\n\tfsmonitor = touch pwned\n")
    with pytest.raises(IntegrityError, match="not as HarnessPro writes it"):
        trees.files(kept.harness_id)


@pytest.mark.parametrize("bad", ["../out", "/etc/x", "a//b", ".git/config", "a/.GIT/hooks", "a\nb"])
def test_a_file_name_cannot_leave_the_folder(tmp_path: Path, bad: str) -> None:
    with pytest.raises(IntegrityError, match="unsafe file name"):
        GitTrees(tmp_path).put(harness(more={bad: "x"}), message="bad")


def test_a_staged_folder_is_whole_readable_by_all_and_never_rewritten(tmp_path: Path) -> None:
    trees, kept = GitTrees(tmp_path), harness()
    trees.put(kept, message="first")
    old = os.umask(0o077)
    try:
        staged = Path(trees.stage(kept.harness_id))
    finally:
        os.umask(old)
    assert staged == tmp_path / "staged" / kept.harness_id
    found = {
        str(p.relative_to(staged)): (oct(p.stat().st_mode & 0o777), p.is_dir())
        for p in [staged, *staged.rglob("*")]
    }
    assert found == {
        ".": ("0o755", True),
        "prompts": ("0o755", True),
        "prompts/system.md": ("0o644", False),
        "solver.py": ("0o644", False),
    }
    (staged / "solver.py").write_text("marked")
    assert (Path(trees.stage(kept.harness_id)) / "solver.py").read_text() == "marked"
    assert [p.name for p in (tmp_path / "staged").iterdir()] == [kept.harness_id]
