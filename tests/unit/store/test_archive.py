"""The archive: placed whole, verified when read, closed to what was measured without walls."""

from __future__ import annotations

from pathlib import Path

import pytest

from harnesspro.core.errors import ConfigError, IntegrityError
from harnesspro.core.hashing import content_id
from harnesspro.core.ports import ArchiveEntry
from harnesspro.store.archive import FileArchive

FILES = {"harness.yaml": "format: harnesspro/1\n", "prompts/system.md": "Be brief.\n"}


def entry(
    entry_id: str = "e-1", *, isolation: str = "S3", created_at: str = "2026-01-01"
) -> ArchiveEntry:
    return ArchiveEntry(
        entry_id=entry_id,
        name="toy",
        harness_id=content_id("h", FILES),
        base_harness_id="h-0000000000000000",
        answer_kind="json",
        models={"writer": "sim/small"},
        stamp="observed",
        isolation=isolation,
        summary="One sample instead of three.",
        edits_json="[]",
        knobs={"samples": 1},
        cost_ratio=0.4,
        answers_changed=0.0,
        patterns=("samples agree from the start",),
        search_task_keys=("k1",),
        price_table_hash="abc",
        run_id="20260101-000000-aaaa",
        created_at=created_at,
        lesson="Samples agreed; one is enough.",
    )


def test_an_entry_comes_back_with_its_tree(tmp_path: Path) -> None:
    FileArchive(tmp_path / "own", None).add(entry(), FILES)
    archive = FileArchive(tmp_path / "own", None)
    assert archive.entries() == (entry(),)
    assert archive.files("e-1") == FILES
    assert archive.problems() == []


def test_own_and_shipped_entries_are_listed_oldest_first_and_own_ones_win(tmp_path: Path) -> None:
    shipped = FileArchive(tmp_path / "shipped", None)
    shipped.add(entry("both", created_at="2026-03-01"), FILES)
    shipped.add(entry("shipped", created_at="2026-01-01"), FILES)
    archive = FileArchive(tmp_path / "own", tmp_path / "shipped")
    archive.add(entry("both", created_at="2026-02-01"), FILES)
    assert [(e.entry_id, e.created_at) for e in archive.entries()] == [
        ("shipped", "2026-01-01"),
        ("both", "2026-02-01"),
    ]
    assert archive.files("shipped") == FILES


def test_adding_the_same_entry_again_changes_nothing_and_another_is_refused(tmp_path: Path) -> None:
    archive = FileArchive(tmp_path, None)
    archive.add(entry(), FILES)
    archive.add(entry(), FILES)
    with pytest.raises(IntegrityError, match="holds another entry"):
        archive.add(entry(created_at="2027-01-01"), FILES)
    assert archive.entries() == (entry(),)
    assert [p.name for p in tmp_path.iterdir()] == ["e-1"]


def test_what_ran_without_isolation_may_not_enter(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="measured without isolation"):
        FileArchive(tmp_path, None).add(entry(isolation="S0"), FILES)
    assert list(tmp_path.iterdir()) == []


def test_files_that_are_another_harness_are_refused(tmp_path: Path) -> None:
    with pytest.raises(IntegrityError, match="files of h-"):
        FileArchive(tmp_path, None).add(entry(), {"harness.yaml": "other\n"})


@pytest.mark.parametrize("bad", ["../e", "a/b", ".hidden", "", "x" * 101])
def test_an_entry_id_is_a_plain_name(tmp_path: Path, bad: str) -> None:
    with pytest.raises(IntegrityError, match="no entry id"):
        FileArchive(tmp_path, None).add(entry(bad), FILES)
    with pytest.raises(IntegrityError, match="no entry id"):
        FileArchive(tmp_path, None).files(bad)


def test_damaged_entries_are_left_out_and_named(tmp_path: Path) -> None:
    archive = FileArchive(tmp_path, None)
    for name in ("changed", "garbled", "linked", "renamed", "sound"):
        archive.add(entry(name), FILES)
    (tmp_path / "changed/files/prompts/system.md").write_text("Be evil.\n")
    (tmp_path / "garbled/entry.json").write_text("{")
    (tmp_path / "linked/files/prompts/system.md").unlink()
    (tmp_path / "linked/files/prompts/system.md").symlink_to("/etc/hostname")
    (tmp_path / "renamed").rename(tmp_path / "elsewhere")
    (tmp_path / "README.md").write_text("a file beside the entries\n")
    assert [e.entry_id for e in archive.entries()] == ["sound"]
    problems = [line.replace(str(tmp_path), "") for line in archive.problems()]
    assert len(problems) == 4
    assert problems[0].startswith("archive entry changed: files of h-")
    assert problems[1] == "/elsewhere/entry.json: entry_id 'renamed'; expected elsewhere"
    assert problems[2].startswith("/garbled/entry.json: document: Invalid JSON")
    assert problems[3].startswith("/linked/files/prompts/system.md: a link or special file")
    with pytest.raises(IntegrityError):
        archive.files("changed")


@pytest.mark.parametrize(
    ("field", "value"),
    [("cost_ratio", "Infinity"), ("cost_ratio", "NaN"), ("answers_changed", "-Infinity")],
)
def test_an_entry_with_a_number_no_ledger_can_hold_is_left_out(
    tmp_path: Path, field: str, value: str
) -> None:
    archive = FileArchive(tmp_path, None)
    archive.add(entry(), FILES)
    path = tmp_path / "e-1" / "entry.json"
    lines = [
        f'"{field}": {value},' if line.strip().startswith(f'"{field}"') else line
        for line in path.read_text().splitlines()
    ]
    path.write_text("\n".join(lines))
    assert archive.entries() == ()
    assert field in archive.problems()[0]


def test_an_entry_with_a_dial_at_infinity_is_left_out(tmp_path: Path) -> None:
    archive = FileArchive(tmp_path, None)
    archive.add(entry(), FILES)
    path = tmp_path / "e-1" / "entry.json"
    path.write_text(path.read_text().replace('"samples": 1', '"samples": Infinity'))
    assert archive.entries() == ()


def test_an_empty_archive_has_no_entries(tmp_path: Path) -> None:
    archive = FileArchive(tmp_path / "none", tmp_path / "neither")
    assert archive.entries() == ()
    assert archive.problems() == []
    with pytest.raises(IntegrityError, match="no such archive entry"):
        archive.files("e-1")
