"""Attacks from within the judge: an orchestrator talked into reading the vault, or a bad plugin.

It runs as the same user as the grader; what stops it is what it gave up before it began.
"""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from harnesspro.sandbox.start import confined
from tests.redteam.conftest import GOLD
from tests.unit.sandbox.boxes import open_folder

REACH = """
import ctypes, json, os, signal, socket, sys
pid, vault = int(sys.argv[1]), sys.argv[2]
libc = ctypes.CDLL(None, use_errno=True)

def attempt(act):
    try:
        return act()
    except OSError as error:
        return type(error).__name__

def read(path):
    return lambda: open(path, "rb").read(5000).decode(errors="replace")

def trace():
    if libc.ptrace(16, pid, 0, 0) < 0:
        raise OSError(ctypes.get_errno(), "ptrace")
    return "traced"

def connect(address):
    with socket.socket(socket.AF_UNIX) as wire:
        wire.connect(address)
    return "connected"

def dial(port):
    with socket.socket() as wire:
        wire.connect(("127.0.0.1", port))
    return "connected"

json.dump({
    "vault": attempt(read(vault)),
    "root": attempt(read(f"/proc/{pid}/root{vault}")),
    "environ": attempt(read(f"/proc/{pid}/environ")),
    "mem": attempt(lambda: open(f"/proc/{pid}/mem", "rb") and "opened"),
    "ptrace": attempt(trace),
    "signal": attempt(lambda: os.kill(pid, 0) or "signalled"),
    "abstract": attempt(lambda: connect("\\0" + sys.argv[3])),
    "tcp": attempt(lambda: dial(int(sys.argv[4]))),
    "socket": attempt(lambda: connect(sys.argv[5] + "/admin.sock")),
    "outside": attempt(lambda: open("/var/tmp/planted", "w") and "written"),
    "run": attempt(lambda: open(sys.argv[5] + "/note", "w").write("x")),
}, sys.stdout)
"""


@pytest.fixture
def run_folder() -> Iterator[Path]:
    with open_folder() as folder:
        yield folder


@pytest.fixture
def grader() -> Iterator[subprocess.Popen[bytes]]:
    """Another process of the same user, with a secret in its environment."""
    process = subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(60)"], env={"SECRET": "sk-4711"}
    )
    yield process
    process.kill()
    process.wait()


def reach(prefix: list[str], grader: int, vault: Path, folder: Path) -> dict[str, object]:
    """What a program started behind `prefix` can reach."""
    with (
        socket.socket(socket.AF_UNIX) as admin,
        socket.socket(socket.AF_UNIX) as abstract,
        socket.socket() as tcp,
    ):
        admin.bind(str(folder / "admin.sock"))
        abstract.bind(f"\0{folder.name}")
        tcp.bind(("127.0.0.1", 0))
        for listener in (admin, abstract, tcp):
            listener.listen()
        place = [str(vault / "gold.jsonl"), folder.name, str(tcp.getsockname()[1]), str(folder)]
        command = [*prefix, sys.executable, "-c", REACH, str(grader), *place]
        done = subprocess.run(command, capture_output=True, check=False, cwd="/")
    os.unlink(folder / "admin.sock")
    assert done.returncode == 0, done.stderr
    found: dict[str, object] = json.loads(done.stdout)
    return found


def test_case_06_the_orchestrator_itself_reads_the_vault(
    grader: subprocess.Popen[bytes], vault: Path, run_folder: Path
):
    # /proc is granted on top, so that it is not the missing path that stops the attack
    prefix = confined(["env"], read=["/proc"], write=[str(run_folder)])
    assert reach(prefix, grader.pid, vault, run_folder) == {
        "vault": "PermissionError",
        "root": "PermissionError",
        "environ": "PermissionError",
        "mem": "PermissionError",
        "ptrace": "PermissionError",
        "signal": "PermissionError",
        "abstract": "PermissionError",
        "tcp": "PermissionError",
        "outside": "PermissionError",
        "socket": "connected",
        "run": 1,
    }


def test_case_06_unconfined_the_same_program_reads_it_all(
    grader: subprocess.Popen[bytes], vault: Path, run_folder: Path
):
    found = reach([], grader.pid, vault, run_folder)
    Path("/var/tmp/planted").unlink()
    assert (found["vault"], found["root"]) == (GOLD, GOLD)
    assert found["environ"] == "SECRET=sk-4711\0"
    assert found["signal"] == "signalled"
    assert found["abstract"] == found["tcp"] == "connected"


def confined_run(code: list[str], folder: Path, **options) -> subprocess.CompletedProcess[bytes]:
    """Run a command behind the confinement that the orchestrator gets."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "TMPDIR": str(folder)}
    return subprocess.run(
        confined(code, read=[], write=[str(folder)]),
        env=environment,
        cwd=folder,
        capture_output=True,
        check=False,
        **options,
    )


def test_the_confined_orchestrator_can_do_its_work(run_folder: Path):
    work = (
        "import subprocess, tempfile, pydantic, harnesspro.core.records as records\n"
        "for line in (['init', '-q'], ['add', 'a'], ['-c', 'user.name=n', '-c', 'user.email=e',"
        " 'commit', '-qm', 'm']):\n"
        "    open('a', 'a').write('x')\n"
        "    subprocess.run(['git', *line], check=True)\n"
        "tempfile.TemporaryFile().close()\n"
        "print(records.Usage().out_tokens)\n"
    )
    done = confined_run([sys.executable, "-c", work], run_folder)
    assert (done.stdout, done.stderr, done.returncode) == (b"0\n", b"", 0)


def test_the_confined_orchestrator_holds_no_capability_and_gets_none_back(run_folder: Path):
    show = "grep -hE 'Cap(Prm|Eff|Bnd|Amb|Inh)|NoNewPrivs' /proc/self/status"
    prefix = confined(["sh", "-c", show], read=["/proc"], write=[])
    words = subprocess.run(prefix, capture_output=True, check=True).stdout.split()
    assert set(words[1::2]) == {b"0000000000000000", b"1"}


def test_its_parent_can_still_stop_it(run_folder: Path):
    command = confined(["sleep", "60"], read=[], write=[])
    process = subprocess.Popen(command)
    process.terminate()
    assert process.wait(10) == -15
