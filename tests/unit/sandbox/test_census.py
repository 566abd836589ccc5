"""What a tree of processes and a folder of files come to, counted from outside."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harnesspro.sandbox.census import Bounds, Census, used_inodes, written
from harnesspro.sandbox.spec import Start
from tests.unit.sandbox.boxes import raw_spec, wait_until

MB = 1 << 20


@contextmanager
def program(source: str) -> Iterator[subprocess.Popen[bytes]]:
    """A Python program that has said that it is ready, and its children."""
    ready = f"import os, time\n{source}\nprint(flush=True)\ntime.sleep(60)"
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", ready], stdout=subprocess.PIPE, start_new_session=True
    )
    assert process.stdout is not None
    process.stdout.readline()
    try:
        yield process
    finally:
        os.killpg(process.pid, 9)
        process.wait()
        process.stdout.close()


def bounds(used: tuple[int, int] = (0, 0), **limits: object) -> Bounds:
    return Bounds(Census(), Start(raw_spec(**limits)), lambda: used)


FORK = "for _ in range(3):\n    if os.fork() == 0: time.sleep(60)"


def test_the_tree_is_all_descendants_and_not_the_root_itself():
    with program(FORK) as root:
        assert wait_until(lambda: len(Census().tree(root.pid)) == 3)
        assert root.pid not in [process.pid for process in Census().tree(root.pid)]
        found = [process.pid for process in Census().tree(os.getpid())]
        assert root.pid in found
        assert len(set(found)) == len(found) >= 4


def test_processes_are_counted_over_the_whole_tree():
    with program(FORK) as root:
        assert wait_until(lambda: len(Census().tree(root.pid)) == 3)
        assert bounds(n_processes=3).broken(root.pid) is None
        assert bounds(n_processes=2).broken(root.pid) == "over 2 processes"


def test_memory_that_several_share_counts_once():
    shared = f"x = bytes({120 * MB})\n{FORK}"
    with program(shared) as root:
        assert wait_until(lambda: len(Census().tree(root.pid)) == 3)
        assert bounds(memory_bytes=200 * MB).broken(root.pid) is None


def test_memory_is_added_up_over_the_tree():
    own = (
        f"for _ in range(3):\n    if os.fork() == 0:\n        x = b'1' * {60 * MB}; time.sleep(60)"
    )
    with program(own) as root:
        bound = bounds(memory_bytes=100 * MB)
        assert wait_until(lambda: bound.broken(root.pid))
        assert bound.broken(root.pid) == f"over {100 * MB} bytes of memory"
        assert bounds(memory_bytes=400 * MB).broken(root.pid) is None


def test_processor_seconds_are_added_up_also_of_those_that_ended():
    burn = (
        "if os.fork() == 0:\n"
        "    while True:\n"
        "        pid = os.fork()\n"
        "        if pid == 0:\n"
        "            until = time.process_time() + 0.1\n"
        "            while time.process_time() < until: pass\n"
        "            os._exit(0)\n"
        "        os.waitpid(pid, 0)"
    )
    with program(burn) as root:
        bound = bounds(cpu_s=0.3)
        assert wait_until(lambda: bound.broken(root.pid) == "over 0.3 processor seconds")
        assert bounds(cpu_s=600).broken(root.pid) is None


def test_what_was_written_is_the_first_of_both_that_is_too_much():
    assert bounds((MB, 100), disk_bytes=MB, n_files=100).overfull() is None
    assert (
        bounds((MB + 1, 101), disk_bytes=MB, n_files=100).overfull() == f"over {MB} bytes of files"
    )
    assert bounds((0, 101), n_files=100).overfull() == "over 100 files"


def test_a_folder_is_counted_without_following_a_link(tmp_path: Path):
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "er" / "a").write_bytes(bytes(100_000))
    (tmp_path / "out").symlink_to("/usr")
    n_bytes, n_files = written(str(tmp_path), 1000)
    assert n_files == 4
    assert 100_000 <= n_bytes < 200_000


def test_counting_ends_when_there_are_too_many(tmp_path: Path):
    for number in range(50):
        (tmp_path / str(number)).touch()
    assert written(str(tmp_path), 10)[1] == 11
    assert written(str(tmp_path), 50)[1] == 50


def test_a_path_too_deep_to_name_counts_as_too_many(tmp_path: Path):
    here = os.open(tmp_path, os.O_RDONLY)
    try:
        for _ in range(30):
            os.mkdir("d" * 250, dir_fd=here)
            below = os.open("d" * 250, os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = below
        assert written(str(tmp_path), 1000)[1] == 1001
    finally:
        os.close(here)
        subprocess.run(["rm", "-r", str(tmp_path)], check=True)


def test_a_folder_or_a_process_that_is_gone_holds_nothing(tmp_path: Path):
    assert written(str(tmp_path / "none"), 10) == (0, 0)
    assert used_inodes(2**22 + 1, ("/tmp",)) == 0
