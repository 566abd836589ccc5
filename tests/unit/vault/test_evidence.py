import os
from pathlib import Path

import pytest

from harnesspro.core.hashing import content_hash
from harnesspro.vault.evidence import closing, differences, digests


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "a.txt").write_text("one")
    (tmp_path / "deep" / "er" / "b.bin").write_bytes(b"\0\1")
    (tmp_path / "certificate.json").write_text("{}")
    return tmp_path


def test_every_file_but_the_certificate_counts(folder):
    assert sorted(digests(folder)) == ["a.txt", "deep/er/b.bin"]
    event = closing(folder)
    assert event == {
        "event": "closed",
        "n_files": 2,
        "root": content_hash(digests(folder)),
        "files": digests(folder),
    }


def test_what_was_changed_removed_or_added_is_named(folder):
    before = digests(folder)
    assert differences(before, digests(folder)) == []
    (folder / "a.txt").write_text("onf")
    (folder / "deep" / "er" / "b.bin").unlink()
    (folder / "deep" / "new").touch()
    assert differences(before, digests(folder)) == [
        "a.txt: changed",
        "deep/er/b.bin: removed",
        "deep/new: added",
    ]


def test_a_file_that_becomes_a_link_to_the_same_content_has_changed(folder, tmp_path_factory):
    before = digests(folder)
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "a.txt"
    (folder / "a.txt").rename(elsewhere)
    (folder / "a.txt").symlink_to(elsewhere)
    assert differences(before, digests(folder)) == ["a.txt: changed"]


def test_links_to_folders_and_pipes_count_and_are_not_opened(folder):
    before = digests(folder)
    (folder / "out").symlink_to("/etc")
    os.mkfifo(folder / "pipe")
    assert differences(before, digests(folder)) == ["out: added", "pipe: added"]


def test_a_certificate_deeper_down_is_a_file_like_any_other(folder):
    (folder / "deep" / "certificate.json").touch()
    assert "deep/certificate.json" in digests(folder)
