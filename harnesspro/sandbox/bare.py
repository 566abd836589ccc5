"""The keeper of one unsandboxed start: `bare.py STATUS_FD LIMITS COMMAND...`.

It limits the command, tells its pid and exit code as bubblewrap does, and at the end, or when told
to stop, kills every descendant it can still see. Standard library only.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import signal
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import NoReturn

PARENT_DEATH_SIGNAL, CHILD_SUBREAPER = 1, 36
SWEEP_S = 3.0
MISSING_COMMAND = 127


class Stopped(Exception):
    """The launcher wants an end, or is gone."""


def main(arguments: list[str]) -> int:
    """Keep one command; the exit code is its own, or 128 and the signal that ended it."""
    status, limits, command = int(arguments[0]), json.loads(arguments[1]), arguments[2:]
    if sys.platform == "linux":
        prctl = ctypes.CDLL(None).prctl
        prctl(PARENT_DEATH_SIGNAL, signal.SIGTERM)
        prctl(CHILD_SUBREAPER, 1)
    signal.signal(signal.SIGTERM, _stop)
    pid = os.fork()
    if pid == 0:
        _become(command, limits, status)
    try:
        _tell(status, "child-pid", pid)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        code = code if code >= 0 else 128 - code
        _tell(status, "exit-code", code)
    except Stopped:
        code = 128 + signal.SIGTERM
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    sweep()
    return code


def _stop(number: int, frame: FrameType | None) -> NoReturn:
    raise Stopped(number, frame)


def _tell(status: int, name: str, value: int) -> None:
    os.write(status, json.dumps({name: value}).encode() + b"\n")


def _become(command: list[str], limits: dict[str, int], status: int) -> NoReturn:
    os.close(status)
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    for name, bound in limits.items():
        kind = getattr(resource, name)
        hard = resource.getrlimit(kind)[1]
        least = bound if hard == resource.RLIM_INFINITY else min(bound, hard)
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(kind, (least, least))
    try:
        os.execvp(command[0], command)  # noqa: S606 - the command is the point
    except OSError as error:
        os.write(2, f"{command[0]}: {error}\n".encode())
        os._exit(MISSING_COMMAND)


def sweep() -> None:
    """Kill children until none is left: orphans become the keeper's own (on Linux)."""
    deadline = time.monotonic() + SWEEP_S
    while time.monotonic() < deadline:
        for pid in children():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(0.005)
        except ChildProcessError:
            return


def children() -> list[int]:
    """The pids whose parent is this process."""
    found = []
    with contextlib.suppress(FileNotFoundError):
        for name in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
                if int(file.read().rpartition(b")")[2].split()[1]) == os.getpid():
                    found.append(int(name))
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
