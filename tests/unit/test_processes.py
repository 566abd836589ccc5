"""The private folders of a run's processes."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from harnesspro import processes

LIVE = """
import os, sys, tempfile
tempfile.tempdir = sys.argv[1]
from harnesspro.processes import household
with household() as home:
    print(home.folder, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def living(place: Path) -> tuple[subprocess.Popen[str], Path]:
    child = subprocess.Popen(
        [sys.executable, "-c", LIVE, str(place)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    return child, Path(child.stdout.readline().strip())


def ended(child: subprocess.Popen[str]) -> None:
    child.kill()
    child.communicate()


def test_what_a_killed_run_left_is_removed_at_the_next_start_and_no_living_one_is(place):
    dead, left = living(place)
    ended(dead)
    alive, kept = living(place)
    try:
        assert not left.exists()
        with processes.household() as home:
            assert kept.is_dir()
            assert home.folder.is_dir()
        assert not home.folder.exists()
        assert kept.is_dir()
    finally:
        ended(alive)


def test_what_is_not_ours_is_left_alone(place):
    other, link = place / "hp-other", place / "hp-link"
    other.mkdir()
    (other / "file").write_text("x")
    target = place / "precious"
    target.mkdir()
    (target / "alive").write_text("")
    link.symlink_to(target)
    processes.remove_abandoned(place)
    assert (other / "file").exists()
    assert (target / "alive").exists()
    assert os.path.islink(link)
