"""One start from outside: what was checked is what is shown, and no output is overlooked."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from harnesspro.sandbox import box, child
from harnesspro.sandbox.child import Child, Start
from harnesspro.sandbox.launcher import Watch

SPEC: dict[str, Any] = {
    "code_dir": "/c",
    "argv": None,
    "payload": '{"x": 1}',
    "files": {},
    "env": {},
    "broker": True,
    "wall_s": 1.5,
    "output_bytes": 10,
    "memory_bytes": 20,
    "n_processes": 3,
}


def test_the_payload_gets_the_socket_as_seen_from_inside():
    assert Start(SPEC).task("/run/b") == '{"x": 1, "broker": "/run/b"}'
    assert Start(SPEC | {"broker": False}).task("/run/b") == '{"x": 1, "broker": ""}'
    assert Start(SPEC | {"payload": "[1]"}).task("/run/b") == "[1]"


def test_processor_seconds_leave_the_clock_the_first_word():
    limits = Start(SPEC).limits()
    assert limits["RLIMIT_CPU"] == 2 * (os.cpu_count() or 1) + 10
    assert (limits["RLIMIT_AS"], limits["RLIMIT_CORE"]) == (20, 0)


@pytest.mark.parametrize(
    "spec", [{}, SPEC | {"argv": 5}, SPEC | {"files": []}, SPEC | {"wall_s": "soon"}]
)
def test_a_spec_of_the_wrong_shape_is_none(spec):
    with pytest.raises((KeyError, TypeError, AttributeError, ValueError)):
        Start(spec)


def test_a_folder_exchanged_while_it_is_shown_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(child, "GRACE_S", 0.05)
    for name in ("checked", "other"):
        (tmp_path / name).mkdir()
    checked = os.open(tmp_path / "checked", os.O_RDONLY)
    monkeypatch.setattr(box, "CODE", str(tmp_path / "shown"))
    try:
        (tmp_path / "shown").symlink_to(tmp_path / "other")
        with pytest.raises(PermissionError, match="exchanged"):
            child._await_shown(os.getpid(), checked)
        (tmp_path / "shown").unlink()
        (tmp_path / "shown").symlink_to(tmp_path / "checked")
        child._await_shown(os.getpid(), checked)
    finally:
        os.close(checked)


def ended(line: str) -> Child:
    """A process that is over before anybody read what it wrote."""
    process = subprocess.Popen(
        ["sh", "-c", line], stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
    )
    process.wait()
    return Child(process, -1)


def test_what_a_dead_process_left_unread_still_counts():
    watch = Watch(ended("head -c 5000 /dev/zero; echo why >&2"), 5003)
    assert (watch.drain(), watch.tail) == ("output", b"why\n")
    watch = Watch(ended("head -c 5000 /dev/zero; echo why >&2"), 5004)
    assert (watch.drain(), watch.tail) == (None, b"why\n")
