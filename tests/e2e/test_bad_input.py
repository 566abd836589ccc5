"""What a user gets wrong: one line that says where, what, and what to do; nothing spent or made."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from tests.e2e.conftest import ROOT, Ended, Terminal
from tests.unit.sandbox.boxes import DENIED


def a_harness(home: Path, *, old: str = "", new: str = "") -> str:
    folder = home / "mine"
    shutil.copytree(ROOT / "harnesses" / "planted", folder)
    manifest = folder / "harness.yaml"
    text = manifest.read_text()
    assert old in text
    manifest.write_text(text.replace(old, new, 1))
    return str(folder)


def refused(ended: Ended, terminal: Terminal, *, code: int, naming: str) -> None:
    assert ended.code == code, ended.err
    lines = [line for line in ended.err.splitlines() if line.startswith("harnesspro:")]
    assert len(lines) == 1, ended.err
    assert naming in lines[0]
    assert "Traceback" not in ended.err
    assert terminal.runs() == []


@pytest.mark.parametrize(
    ("old", "new", "naming"),
    [
        ("format: harnesspro/1", "format: harnesspro/9", "format"),
        ("name: planted", "nam: planted", "nam"),
        ("entry:", "entri:", "entr"),
    ],
)
def test_a_wrong_manifest_key_is_named(terminal: Terminal, old: str, new: str, naming: str) -> None:
    folder = a_harness(terminal.home, old=old, new=new)
    refused(terminal.run("improve", folder), terminal, code=3, naming=naming)


def test_a_model_nobody_knows_is_refused_before_anything_is_spent(terminal: Terminal) -> None:
    ended = terminal.run("improve", "builtin:planted", "--model", "worker=sim/nobody")
    refused(ended, terminal, code=3, naming="sim/nobody")


def test_a_local_model_that_is_not_pulled_says_how_to_pull_it(terminal: Terminal) -> None:
    ended = terminal.run("improve", "builtin:planted", "--model", "worker=local/qwen2.5-coder-0.5b")
    refused(ended, terminal, code=3, naming="harnesspro model pull")


def test_tasks_that_do_not_parse_name_the_line(terminal: Terminal) -> None:
    tasks = terminal.home / "tasks.jsonl"
    tasks.write_text('{"input": "a"}\n{"input": \n')
    ended = terminal.run("improve", "builtin:planted", "--tasks", str(tasks))
    refused(ended, terminal, code=3, naming="tasks.jsonl:2")


def test_gold_in_a_public_field_is_refused_and_names_seal(terminal: Terminal) -> None:
    tasks = terminal.home / "tasks.jsonl"
    tasks.write_text(json.dumps({"input": "a", "gold": "b"}) + "\n")
    ended = terminal.run("improve", "builtin:planted", "--tasks", str(tasks))
    refused(ended, terminal, code=3, naming="harnesspro seal")


def test_an_unwritable_out_folder_is_named(terminal: Terminal) -> None:
    (terminal.home / "file").write_text("")
    ended = terminal.run("improve", "builtin:planted", "--out", "file")
    refused(ended, terminal, code=3, naming="file")


def test_no_such_harness_lists_the_shipped_ones(terminal: Terminal) -> None:
    refused(terminal.run("improve", "nowhere"), terminal, code=3, naming="builtin:planted")


def test_no_such_run_is_said(terminal: Terminal) -> None:
    ended = terminal.run("show", "latest")
    assert ended.code in {2, 3}
    assert "harnesspro improve" in ended.err


def test_a_wrong_role_is_named(terminal: Terminal) -> None:
    ended = terminal.run("improve", "builtin:planted", "--model", "writer=sim/small")
    refused(ended, terminal, code=3, naming="writer")


def test_an_unknown_option_is_a_usage_error(terminal: Terminal) -> None:
    assert terminal.run("improve", "builtin:planted", "--no-such-option").code == 2


def test_where_no_sandbox_starts_a_run_is_refused_and_the_fix_named(terminal: Terminal) -> None:
    import subprocess

    kernel = [sys.executable, DENIED, "namespaces,landlock"]
    done = subprocess.run(
        [*kernel, *terminal.command("improve", "builtin:planted")],
        cwd=terminal.home, env=terminal.env | {"PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    ended = Ended(done.returncode, done.stdout, done.stderr)
    refused(ended, terminal, code=3, naming="--allow-unsandboxed")
