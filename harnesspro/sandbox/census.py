"""What a started tree uses, seen from outside: memory, processor time, processes, files.

A backstop for what the kernel bounds for one process only. Standard library only.
"""

from __future__ import annotations

import os
import threading
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from harnesspro.sandbox.spec import Start

LEAST_PAUSE_S, SHARE = 0.1, 10
"""Between two looks at least this long, and at least so many times what a look takes."""
PAGE, TICKS = os.sysconf("SC_PAGE_SIZE"), os.sysconf("SC_CLK_TCK")


class Process:
    """One line of the census, from /proc/PID/stat."""

    __slots__ = ("cpu_s", "key", "lost_s", "parent", "pid", "rss")

    def __init__(self, pid: int, stat: bytes) -> None:
        """`cpu_s` is its own, `lost_s` that of the children it has waited for."""
        words = stat.rpartition(b")")[2].split()
        self.pid, self.parent = pid, int(words[1])
        self.cpu_s = (int(words[11]) + int(words[12])) / TICKS
        self.lost_s = (int(words[13]) + int(words[14])) / TICKS
        self.key = (pid, int(words[19]))
        self.rss = int(words[21]) * PAGE


class Census:
    """All processes of this machine, counted at most every so often, for all that ask."""

    def __init__(self) -> None:
        """Nothing is counted yet."""
        self.lock = threading.Lock()
        self.pause_s, self.taken = LEAST_PAUSE_S, float("-inf")
        self.children: dict[int, list[Process]] = {}

    def tree(self, root: int) -> list[Process]:
        """The descendants of a process, itself not among them."""
        with self.lock:
            if time.monotonic() - self.taken >= self.pause_s / 2:
                began = time.monotonic()
                self.children = _count()
                self.taken = time.monotonic()
                self.pause_s = max(LEAST_PAUSE_S, SHARE * (self.taken - began))
            children = self.children
        found: list[Process] = []
        waiting = [root]
        while waiting:
            below = children.get(waiting.pop(), ())
            found += below
            waiting += [process.pid for process in below]
        return found


def _count() -> dict[int, list[Process]]:
    children: dict[int, list[Process]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb", buffering=0) as file:
                    process = Process(int(name), file.read(1024))
            except OSError:  # it ended meanwhile
                continue
            children.setdefault(process.parent, []).append(process)
    return children


def tasks_of(uid: int) -> int:
    """Threads of all processes of a user, as the kernel counts them against its bound."""
    total = 0
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.stat(f"/proc/{name}").st_uid == uid:
                total += len(os.listdir(f"/proc/{name}/task"))
        except OSError:  # it ended meanwhile
            continue
    return total


class Bounds:
    """What one start may use in all; asked now and then, it says what was overrun, if anything."""

    def __init__(self, census: Census, start: Start, used: Callable[[], tuple[int, int]]) -> None:
        """`used` counts the bytes and files it has written where the kernel does not bound them."""
        self.census, self.start, self.used = census, start, used
        self.seen: dict[tuple[int, int], float] = {}
        self.cpu_s = 0.0

    def broken(self, root: int | None) -> str | None:
        """By the tree below `root` now."""
        tree = self.census.tree(root) if root is not None else []
        for process in tree:
            self.seen[process.key] = process.cpu_s
        waited = sum(process.cpu_s + process.lost_s for process in tree)
        self.cpu_s = max(self.cpu_s, waited, sum(self.seen.values()))
        if self.cpu_s > self.start.cpu_s:
            return f"over {self.start.cpu_s:g} processor seconds"
        if len(tree) > self.start.n_processes:
            return f"over {self.start.n_processes} processes"
        bound = self.start.memory_bytes
        if sum(process.rss for process in tree) > bound and sum(map(_proportional, tree)) > bound:
            return f"over {bound} bytes of memory"
        return self.overfull()

    def overfull(self) -> str | None:
        """By what it has written."""
        n_bytes, n_files = self.used()
        if n_bytes > self.start.disk_bytes:
            return f"over {self.start.disk_bytes} bytes of files"
        return f"over {self.start.n_files} files" if n_files > self.start.n_files else None


def _proportional(process: Process) -> int:
    """Its share of the memory it maps now: what several share counts once among them."""
    try:
        with open(f"/proc/{process.pid}/smaps_rollup", "rb") as file:
            for line in file:
                if line.startswith(b"Pss:"):
                    return int(line.split()[1]) << 10
    except OSError:  # about to end, or not ours to look into
        pass
    try:
        with open(f"/proc/{process.pid}/statm", "rb") as file:
            _, resident, of_files = map(int, file.read().split()[:3])
    except OSError:
        return 0
    return (resident - of_files) * PAGE


def written(folder: str, most: int) -> tuple[int, int]:
    """Bytes and files below a folder that hostile code is changing; counting ends above `most`
    files. It follows no link; a path too deep to name counts as too many.
    """
    n_bytes = n_files = 0
    waiting = [folder]
    while waiting and n_files <= most:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    n_files += 1
                    n_bytes += entry.stat(follow_symlinks=False).st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    if n_files > most:
                        break
        except (FileNotFoundError, NotADirectoryError, PermissionError):  # gone, or closed to us
            continue
        except OSError:
            return n_bytes, most + 1
    return n_bytes, n_files


def used_inodes(root: int | None, folders: tuple[str, ...]) -> int:
    """Files in those of a sandbox's own file systems whose bytes alone are bounded."""
    total = 0
    for folder in folders:
        try:
            found = os.statvfs(f"/proc/{root}/root{folder}")
        except OSError:  # it has ended
            return 0
        total += found.f_files - found.f_ffree
    return total
