"""A run whose broker or orchestrator is killed at a step that matters goes on to the same end."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from harnesspro.core.crash import POINTS
from tests.e2e.conftest import Terminal
from tests.e2e.test_improve_on_the_simulator import essence, n_paid_calls, wait_for_trials

pytestmark = pytest.mark.timeout(240)
TINY = ("--n-search", "6", "--n-confirm", "6", "--max-candidates", "1", "--rounds", "1")
FEW = ("commit.before:60", "call.replied:25")
PASSED = {
    "commit": (1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144),
    "call": (1, 2, 3, 5, 8, 13, 21, 34, 55),
}
"""How often at most; the run makes fewer than 89 calls, more than 144 commits, and writes one report."""
MANY = tuple(
    told
    for point in POINTS
    for n in PASSED.get(point.partition(".")[0], (1,))
    if (told := f"{point}:{n}") not in FEW
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory):
    """What an undisturbed run comes to: its code, its essence, and the calls it paid for."""
    terminal = Terminal(tmp_path_factory.mktemp("whole"))
    ended = terminal.run("improve", "builtin:planted", *TINY, "--json", "-q")
    assert ended.code in (0, 5), ended.err
    return ended.code, essence(ended.document), n_paid_calls(terminal.runs()[0])


def crashed(terminal: Terminal, point: str) -> int:
    """Run until the point kills what passes it; the exit code."""
    command = terminal.command("improve", "builtin:planted", *TINY, "--json", "-q")
    env = terminal.env | {"HARNESSPRO_FAILPOINT": point}
    done = subprocess.run(
        command,
        cwd=terminal.home,
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.returncode


def check(folder: Path, point: str, whole: tuple[int, object, int]) -> None:
    terminal = Terminal(folder)
    assert crashed(terminal, point) not in (0, 5), "the point was never passed"
    check_resumed(terminal, whole)


def check_resumed(terminal: Terminal, whole: tuple[int, object, int]) -> None:
    """It goes on to the same end, and paid at most the calls in flight without an answer."""
    code, expected, n_paid = whole
    (run,) = terminal.runs()
    resumed = terminal.run("improve", "--resume", run.name, "--json", "-q")
    assert resumed.code == code, resumed.err
    assert essence(resumed.document) == expected
    in_flight = resumed.document["spend"]["n_ambiguous_calls"]
    assert n_paid_calls(run) == n_paid + in_flight
    assert in_flight <= int(os.cpu_count() or 1) + 2


@pytest.mark.parametrize("point", FEW)
def test_killed_at_a_step_it_ends_as_if_it_had_not_been(tmp_path, whole, point):
    check(tmp_path, point, whole)


def test_killed_whole_in_mid_search_it_ends_as_if_it_had_not_been(tmp_path, whole):
    terminal = Terminal(tmp_path)
    child = terminal.start("improve", "builtin:planted", *TINY, "--json", "-q")
    wait_for_trials(terminal, n=8)
    os.killpg(child.pid, signal.SIGKILL)
    child.communicate()
    check_resumed(terminal, whole)


@pytest.mark.slow
@pytest.mark.parametrize("point", MANY)
def test_killed_at_any_step_it_ends_as_if_it_had_not_been(tmp_path, whole, point):
    check(tmp_path, point, whole)
