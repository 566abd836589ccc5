"""A run's certificate, checked by a third party: the folder alone, elsewhere, with nothing beside it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from harnesspro.cli.audit import audit_document
from tests.e2e.conftest import Ended, Terminal

pytestmark = pytest.mark.timeout(400)
SMALL = ("--n-search", "8", "--n-confirm", "8", "--max-candidates", "1", "--rounds", "1")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Terminal:
    """A user who has made one run."""
    terminal = Terminal(tmp_path_factory.mktemp("user"))
    ended = terminal.run("improve", "builtin:planted", *SMALL)
    assert ended.code in (0, 5), ended.err
    assert "to check it: harnesspro audit" in ended.err
    return terminal


@pytest.fixture
def stranger(home: Terminal, tmp_path: Path) -> tuple[Terminal, Path]:
    """Someone with a copy of the folder under another name, without vault, cache or archive."""
    (run,) = home.runs()
    folder = tmp_path / "handed-over"
    shutil.copytree(run, folder, symlinks=True)
    (tmp_path / "stranger").mkdir()
    return Terminal(tmp_path / "stranger"), folder


def audited(terminal: Terminal, *arguments: str) -> tuple[Ended, dict[str, Any]]:
    ended = terminal.run("audit", *arguments, "--json")
    return ended, ended.document


def failed(document: dict[str, Any]) -> list[str]:
    return [name for name, problems in document["checks"].items() if problems]


def test_the_owner_sees_every_check_hold_also_after_looking_at_the_run(home: Terminal) -> None:
    for verb in (
        ["show"],
        ["view"],
        ["channels", "latest"],
        ["diff", "latest", "baseline", "baseline"],
    ):
        assert home.run(*verb).code == 0
    ended, document = audited(home)
    assert ended.code == 0, ended.out
    assert document["checks"]["vault log"] == []
    assert (document["ok"], failed(document)) == (True, [])
    assert (document["leaked_bits"], document["vault_openings"]) == (0.0, 1)
    assert document["leak_bound_points"] == 0.0


def test_the_folder_alone_is_enough(stranger: tuple[Terminal, Path]) -> None:
    terminal, folder = stranger
    ended, document = audited(terminal, str(folder))
    assert (ended.code, document["ok"]) == (0, True)
    assert "vault log" not in document["checks"]
    plain = terminal.run("audit", str(folder))
    assert "the certificate stands" in plain.out
    assert f"head {document['head']}" in plain.out


def test_a_flipped_byte_in_any_file_fails_and_names_the_file(
    stranger: tuple[Terminal, Path],
) -> None:
    _, folder = stranger
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path.stat().st_size)
    assert len(paths) > 40
    for number, path in enumerate(paths):
        content = path.read_bytes()
        at = (number * 7919) % len(content)
        flip(path, at)
        document = audit_document(folder)
        name = path.relative_to(folder).as_posix()
        expected = "certificate" if name == "certificate.json" else "files"
        assert (document["ok"], failed(document)) == (False, [expected]), name
        if expected == "files":
            assert document["checks"]["files"] == [f"{name}: changed"]
        path.write_bytes(content)
    assert audit_document(folder)["ok"]


def test_no_byte_of_the_certificate_is_free(stranger: tuple[Terminal, Path]) -> None:
    _, folder = stranger
    path = folder / "certificate.json"
    content = path.read_bytes()
    for at in [*range(0, len(content), 101), len(content) - 1]:
        for mask in (0x01, 0x20):
            flip(path, at, mask=mask)
            document = audit_document(folder)
            assert failed(document) == ["certificate"], (at, mask)
            path.write_bytes(content)


def flip(path: Path, at: int, *, mask: int = 0x10) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= mask
    path.write_bytes(content)


def test_the_command_says_what_was_edited_and_exits_with_1(
    stranger: tuple[Terminal, Path],
) -> None:
    terminal, folder = stranger
    flip(folder / "report.json", 1000)
    ended = terminal.run("audit", str(folder))
    assert ended.code == 1
    assert "FAILED files" in ended.out
    assert "report.json: changed" in ended.out
    assert "the certificate does not stand" in ended.out


def test_a_file_cut_short_added_or_removed_fails(stranger: tuple[Terminal, Path]) -> None:
    _, folder = stranger
    trajectory = sorted((folder / "trajectories").iterdir())[0]
    trajectory.write_bytes(trajectory.read_bytes()[:-1])
    (folder / "trajectories" / "t-planted.json").write_text("{}")
    (folder / "graph.db").unlink()
    assert audit_document(folder)["checks"]["files"] == [
        "graph.db: removed",
        f"trajectories/{trajectory.name}: changed",
        "trajectories/t-planted.json: added",
    ]


@pytest.mark.parametrize("cut", ["certificate", "last event", "an event", "swapped"])
def test_a_certificate_cut_or_reordered_fails(stranger: tuple[Terminal, Path], cut: str) -> None:
    _, folder = stranger
    path = folder / "certificate.json"
    document = json.loads(path.read_text())
    events = document["events"]
    if cut == "certificate":
        path.unlink()
    elif cut == "last event":
        document["events"] = events[:-1]
    elif cut == "an event":
        document["events"] = [*events[:1], *events[2:]]
    else:
        document["events"] = [events[1], events[0], *events[2:]]
    if cut != "certificate":
        path.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    assert not audit_document(folder)["ok"]


def test_a_certificate_made_anew_is_told_by_its_head_and_by_the_vault(
    stranger: tuple[Terminal, Path], home: Terminal
) -> None:
    """An editor who computes the whole chain again passes, except for whoever kept the old head."""
    from harnesspro.vault.certificate import certificate, certificate_text
    from harnesspro.vault.evidence import closing

    terminal, folder = stranger
    _, before = audited(terminal, str(folder))
    path = folder / "certificate.json"
    events = [
        {key: value for key, value in event.items() if key not in ("prev", "hash")}
        for event in json.loads(path.read_text())["events"][:-1]
    ]
    (folder / "report.html").write_text("all is well")
    path.write_text(certificate_text(certificate([*events, closing(folder)])))
    assert audited(terminal, str(folder))[1]["ok"]
    assert failed(audited(terminal, str(folder), "--head", before["head"][:16])[1]) == [
        "certificate"
    ]
    assert failed(audited(home, str(folder))[1]) == ["vault log"]
