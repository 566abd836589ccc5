"""One start from outside: what was checked is what is shown, and no output is overlooked."""

import os
import subprocess
from pathlib import Path

import pytest

from harnesspro.sandbox import box, boxed
from harnesspro.sandbox.census import Bounds, Census
from harnesspro.sandbox.child import Child
from harnesspro.sandbox.launcher import Watch
from harnesspro.sandbox.spec import Start
from tests.unit.sandbox.boxes import raw_spec


def test_a_folder_exchanged_while_it_is_shown_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(boxed, "GRACE_S", 0.05)
    for name in ("checked", "other"):
        (tmp_path / name).mkdir()
    checked = os.open(tmp_path / "checked", os.O_RDONLY)
    monkeypatch.setattr(box, "CODE", str(tmp_path / "shown"))
    try:
        (tmp_path / "shown").symlink_to(tmp_path / "other")
        with pytest.raises(PermissionError, match="exchanged"):
            boxed.await_shown(os.getpid(), checked)
        (tmp_path / "shown").unlink()
        (tmp_path / "shown").symlink_to(tmp_path / "checked")
        boxed.await_shown(os.getpid(), checked)
    finally:
        os.close(checked)


def watched(line: str, cap: int) -> Watch:
    """A process that is over before anybody read what it wrote."""
    (out, to_out), (err, to_err) = os.pipe(), os.pipe()
    subprocess.run(["sh", "-c", line], stdout=to_out, stderr=to_err, check=True)
    for fd in (to_out, to_err):
        os.close(fd)
    bounds = Bounds(Census(), Start(raw_spec()), lambda: (0, 0))
    return Watch(Child(out, err, -1), cap, bounds)


@pytest.mark.parametrize(("cap", "cut"), [(5003, "output"), (5004, None)])
def test_what_a_dead_process_left_unread_still_counts(cap: int, cut: str | None):
    watch = watched("head -c 5000 /dev/zero; echo why >&2", cap)
    assert (watch.drain(), watch.tail) == (cut, b"why\n")


def test_reports_are_heard_line_by_line_and_half_a_line_is_none():
    status, told = os.pipe()
    child = Child(-1, -1, status)
    os.write(told, b'{"child-pid": 7}\n{"exit-')
    assert child.await_report("child-pid") == 7
    assert (child.report("exit-code"), child.began) == (None, False)
    os.write(told, b'code": 0}\n{"began": 1}\n')
    assert child.await_report("exit-code") == 0
    assert child.how() == ("exited", 0, "")
    os.close(told)
    assert child.await_report("never") is None
    os.close(status)


def test_what_failed_before_the_command_is_the_grounds_fault():
    status, told = os.pipe()
    os.write(told, b'{"child-pid": 7}\n{"failed": "no Landlock"}\n{"exit-code": 126}\n')
    os.close(told)
    child = Child(-1, -1, status)
    assert child.await_report("began") is None
    assert child.how() == ("refused", None, "no Landlock")
    os.close(status)
