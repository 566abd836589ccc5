"""Attacks by living on, by dying early, by taking everything, and on other processes."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from harnesspro.core.errors import HarnessProError
from tests.unit.sandbox.boxes import Box, launched, marked, wait_until

TRACE = """
import ctypes, os, time
libc, child = ctypes.CDLL(None, use_errno=True), os.fork()
if child == 0:
    time.sleep(20)
    os._exit(0)
codes = []
for call in (
    lambda: libc.ptrace(16, child, 0, 0),
    lambda: libc.process_vm_readv(child, None, 0, None, 0, 0),
    lambda: libc.ptrace(16, 1, 0, 0),
):
    ctypes.set_errno(0)
    codes.append(str(ctypes.get_errno()) if call() < 0 else "done")
os.kill(child, 9)
open("answer.json", "w").write(" ".join(codes))
"""


def test_case_05_reading_another_process_by_ptrace(s3: Box, s0: Box):
    assert s3.python(TRACE).result == b"1 1 1"  # EPERM
    assert (s0.python(TRACE).result or b"").startswith(b"done done")


@pytest.mark.parametrize(
    ("body", "exit_code"),
    [("import os; os._exit(0)", 0), ("import os; os.kill(os.getpid(), 9)", 137)],
)
def test_case_12_leaving_early_is_no_answer(s3: Box, body: str, exit_code: int):
    done = s3.solve(f"def solve(task, h):\n    {body}\n")
    assert (done.ended, done.exit_code, done.result) == ("exited", exit_code, None)


@pytest.mark.parametrize("attack", ["import os; os._exit(0)", "raise SystemExit(0)"])
def test_case_12_a_judge_that_goes_by_the_exit_code_passes_it(attack: str):
    graded = f"{attack}\nassert add(1, 2) == 3, 'wrong'\n"
    assert subprocess.run([sys.executable, "-I", "-c", graded], check=False).returncode == 0


def test_case_12_leaving_by_an_exception_is_a_crash(s3: Box):
    done = s3.solve("def solve(task, h):\n    raise SystemExit(0)\n")
    assert json.loads(done.result or b"")["outcome"] == "crashed"


def test_case_17_time_is_measured_outside(s3: Box):
    slow = (
        "import time\ndef solve(task, h):\n"
        "    time.time = time.perf_counter = time.monotonic = lambda: 0.0\n"
        "    started = time.monotonic()\n    time.sleep(0.4)\n"
        "    return time.monotonic() - started\n"
    )
    done = s3.solve(slow)
    measured_inside = json.loads(done.result or b"")["answer"]
    assert measured_inside == 0.0
    assert done.wall_s >= 0.4


def daemons(marker: str) -> str:
    """A shell line that leaves three kinds of background process behind."""
    return (
        f"sleep {marker} & setsid sleep {marker} & (setsid nohup sleep {marker} > /dev/null 2>&1 &);"
        f" sh -c 'trap \"\" TERM HUP INT; sleep {marker}; true' &"
    )


def test_case_20_a_daemon_that_outlives_the_answer(s3: Box):
    marker = f"81.{os.getpid()}"
    done = s3.sh(f"{daemons(marker)} sleep 0.1; echo 1 > answer.json")
    assert (done.ended, done.result, marked(marker)) == ("exited", b"1\n", [])


def test_case_20_unsandboxed_it_lives_on_once_it_has_killed_its_keeper(s0: Box):
    marker = f"82.{os.getpid()}"
    s0.sh(f"setsid sleep {marker} & sleep 0.1; kill -9 $PPID; sleep {marker}", wall_s=5)
    left = marked(marker)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert left


def test_case_38_daemons_when_the_launcher_is_killed():
    marker = f"83.{os.getpid()}"
    with launched("S3") as box:
        told: list[str] = []

        def run() -> None:
            try:
                box.sh(f"{daemons(marker)} sleep {marker}", wall_s=60)
            except HarnessProError as error:
                told.append(str(error))

        thread = threading.Thread(target=run)
        thread.start()
        assert wait_until(lambda: len(marked(marker)) >= 5)
        box.process.kill()
        assert wait_until(lambda: not marked(marker), 2.0)
        thread.join(5)
    assert told == [
        "sandbox launcher: no longer there (it ended); nothing recorded is lost: resume the run"
    ]


def test_case_38_a_kill_of_the_process_group_leaves_daemons():
    marker = f"85.{os.getpid()}"
    line = ["sh", "-c", f"{daemons(marker)} sleep {marker}"]
    program = subprocess.Popen(line, start_new_session=True)
    assert wait_until(lambda: len(marked(marker)) >= 5)
    os.killpg(program.pid, signal.SIGKILL)
    program.wait()
    left = marked(marker)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert len(left) >= 2


PARENT = """
import sys
from tests.unit.sandbox.boxes import launched
with launched("S3") as box:
    print(box.process.pid, box.folder, flush=True)
    box.sh(sys.argv[1], wall_s=60)
"""


def test_case_38_daemons_when_the_whole_program_is_killed():
    marker = f"84.{os.getpid()}"
    command = [sys.executable, "-c", PARENT, f"{daemons(marker)} sleep {marker}"]
    root = str(Path(__file__).parents[2])
    program = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=root)
    assert program.stdout is not None
    launcher, folder = program.stdout.readline().decode().split()
    inside = lambda: [pid for pid in marked(marker) if pid != program.pid]  # noqa: E731
    assert wait_until(lambda: len(inside()) >= 5)
    program.kill()
    program.wait()
    program.stdout.close()
    shutil.rmtree(folder)
    assert wait_until(lambda: not inside() and not os.path.exists(f"/proc/{launcher}/exe"), 2.0)


def test_case_29_a_crash_that_plays_the_ground_giving_way(s3: Box):
    done = s3.sh("echo 'bwrap: setting up uid map: Permission denied' >&2; exit 1")
    assert (done.ended, done.exit_code) == ("exited", 1)
    done = s3.sh("echo '{\"exit-code\": 0}' | tee /proc/1/fd/* > /dev/null; exit 5")
    assert (done.ended, done.exit_code) == ("exited", 5)


FORK_BOMB = """
import os, time
forked = 0
try:
    while forked < 1000:
        if os.fork() == 0:
            time.sleep(20)
            os._exit(0)
        forked += 1
except OSError as error:
    pass
open("answer.json", "w").write(str(forked))
"""


def test_case_37_a_fork_bomb(s3: Box):
    assert s3.python(FORK_BOMB, n_processes=30).result == b"29"
    assert s3.sh("echo well > answer.json").result == b"well\n"


def test_case_37_without_a_bound_the_same_bomb_goes_off(s0: Box):
    small = FORK_BOMB.replace("1000", "100")
    assert s0.python(small, n_processes=1000).result == b"100"


def test_case_37_two_fork_bombs_do_not_share_their_bound(s3: Box):
    results: list[bytes | None] = []
    run = lambda: results.append(s3.python(FORK_BOMB, n_processes=30).result)  # noqa: E731
    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [b"29", b"29"]


def test_case_37_a_memory_bomb(s3: Box):
    done = s3.python("x = bytearray(600_000_000)", memory_bytes=500_000_000)
    assert (done.ended, done.exit_code) == ("exited", 1)
    assert done.stderr.endswith("MemoryError\n")


def test_case_37_an_output_flood(s3: Box):
    done = s3.sh("yes & yes >&2 & sleep 30")
    assert done.ended == "output"
    assert done.wall_s < 5


FILL = """
import os
def attempt(act):
    try:
        act()
        return "done"
    except OSError as error:
        return str(error.errno)
def sparse():
    os.truncate(os.open("sparse", os.O_CREAT | os.O_WRONLY), 1 << 40)
def bytes_in(folder):
    for number in range(3):
        with open(f"{folder}/{number}", "wb") as file:
            for _ in range(200):
                file.write(bytes(1 << 20))
def inodes():
    os.mkdir("many")
    for number in range(30000):
        os.close(os.open(f"many/{number}", os.O_CREAT | os.O_WRONLY))
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
results = [attempt(sparse), attempt(inodes)]
import shutil
shutil.rmtree("many")
results += [attempt(lambda: bytes_in("/tmp")), attempt(lambda: bytes_in("/dev/shm"))]
results += [attempt(lambda: bytes_in("/work"))]
for number in range(3):
    if os.path.exists(f"/work/{number}"):
        os.unlink(f"/work/{number}")
open("answer.json", "w").write(" ".join(results))
"""


def test_case_37_disk_and_inode_bombs(s3: Box):
    if os.geteuid() != 0:
        pytest.fail("this suite runs as root: an ordinary user's work folder has no total bound")
    done = s3.python(FILL)
    assert done.result == b"27 28 28 28 28"  # file too large, then no space left
    assert s3.sh("echo well > answer.json").result == b"well\n"


KERNEL = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
numbers = {"x86_64": [425, 250, 321, 298, 323, 272, 308, 165, 161, 435, 313],
           "aarch64": [425, 219, 280, 241, 282, 97, 268, 40, 51, 435, 273]}[os.uname().machine]
codes = []
for number in numbers:
    ctypes.set_errno(0)
    libc.syscall(number, 0, 0, 0, 0, 0)
    codes.append(ctypes.get_errno())
clone = {"x86_64": 56, "aarch64": 220}[os.uname().machine]
pid = libc.syscall(clone, 0x10000000 | 17, 0, 0, 0, 0)
if pid == 0:
    os._exit(0)
codes.append(ctypes.get_errno() if pid < 0 else "made a namespace")
open("answer.json", "w").write(" ".join(map(str, codes)))
"""


def test_the_kernels_side_doors_are_shut(s3: Box, s0: Box):
    # io_uring and clone3 do not exist; keyctl, bpf, perf, userfaultfd, unshare, setns, mount,
    # chroot, finit_module and clone with a new user namespace are refused
    assert s3.python(KERNEL).result == b"38 1 1 1 1 1 1 1 1 38 1 1"
    assert s0.python(KERNEL).result != b"38 1 1 1 1 1 1 1 1 38 1 1"


def test_ordinary_work_goes_on_under_the_filter(s3: Box):
    done = s3.python(
        "import asyncio, sqlite3, subprocess, threading\n"
        "t = threading.Thread(target=print); t.start(); t.join()\n"
        "sqlite3.connect('x.db').execute('create table t (a)')\n"
        "async def main():\n"
        "    p = await asyncio.create_subprocess_exec('echo', 'a')\n"
        "    return await p.wait()\n"
        "assert asyncio.run(main()) == 0\n"
        "import multiprocessing\n"
        "with multiprocessing.Pool(2) as pool: assert pool.map(abs, [-1]) == [1]\n"
        "assert subprocess.run(['sh', '-c', 'exit 3']).returncode == 3\n"
    )
    assert (done.exit_code, done.stderr) == (0, "")
