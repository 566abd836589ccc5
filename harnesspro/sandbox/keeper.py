"""Keeps the starts that no bubblewrap keeps: one small process each, forked from one without threads.

`tend` is that process, forked from the launcher before its first thread. An order comes as five
descriptors: the order as JSON, stdout, stderr, where to tell, and an end whose closing means stop.
Standard library only.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import signal
import socket
import sys
import time

from harnesspro.sandbox import jail, kernel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, NoReturn

SWEEP_S = 10.0
DIAL_S, LOOK_MS = 5.0, 20
ALONE = (
    kernel.NEW_PIDS
    | kernel.NEW_MOUNTS
    | kernel.NEW_NET
    | kernel.NEW_IPC
    | kernel.NEW_UTS
    | kernel.NEW_CGROUP
)


def tend(orders: socket.socket, launcher: int) -> NoReturn:
    """Fork a keeper for each order until the launcher is gone."""
    kernel.prctl(kernel.PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != launcher:
        os._exit(1)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # keepers are reaped by the kernel
    gc.disable()
    while True:
        word, fds, _, _ = socket.recv_fds(orders, 1, 5)
        if not word:
            os._exit(0)
        if os.fork() == 0:
            orders.close()
            high = [jail.lifted(fd) for fd in fds]
            os.closerange(3, jail.ABOVE)
            _end_with(high)
        for fd in fds:
            os.close(fd)


def _end_with(fds: Sequence[int]) -> NoReturn:
    """Nothing of the forked program goes on after this, whatever happens."""
    code = 1
    try:
        keep(*fds)
        code = 0
    except (OSError, ValueError, KeyError, TypeError) as error:
        with contextlib.suppress(OSError):
            jail.tell(fds[3], "failed", f"keeper: {error}")
    finally:
        os._exit(code)


def keep(order_fd: int, out: int, err: int, status: int, stop: int) -> None:
    """Carry out one order; nothing it started lives when this returns, as far as can be seen."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    with open(order_fd, "rb") as file:
        order = json.load(file)
    alone = order["level"] == "S2r"
    if alone:
        kernel.call("unshare", ALONE)
    else:
        kernel.prctl(kernel.CHILD_SUBREAPER, 1)
    door, outer = _door(order)
    pid = os.fork()
    if pid == 0:
        os.close(stop)
        jail.enter(order, (out, err), status, door=outer)
    for fd in (out, err, *(() if outer is None else (outer,))):
        os.close(fd)
    jail.tell(status, "child-pid", pid if alone else os.getpid())
    exit_code = _follow(pid, stop, door, order)
    if exit_code is not None:
        jail.tell(status, "exit-code", exit_code)
    if not alone:  # else the first process of the namespace was the last to go
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)
        sweep()


def _door(order: Mapping[str, Any]) -> tuple[socket.socket | None, int | None]:
    """Where no socket can be made inside, connections to the broker are handed in."""
    if order["level"] != "S2" or not order["broker"]:
        return None, None
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    return ours, theirs.detach()


def _follow(
    pid: int, stop: int, door: socket.socket | None, order: Mapping[str, Any]
) -> int | None:
    """Until the command ends (its code, as shells tell it) or it is to be stopped (None)."""
    poll = select.poll()
    poll.register(stop, select.POLLIN)
    if door is not None:
        poll.register(door, select.POLLIN)
    pause = _watched(pid, poll)
    while True:
        ready = [fd for fd, _ in poll.poll(pause)]
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code
        if stop in ready:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return None
        if door is not None and door.fileno() in ready and not _dial(door, order["broker"]):
            poll.unregister(door)


def _watched(pid: int, poll: select.poll) -> int | None:
    """Have the end of a process wake the poll; elsewhere than on Linux, how often to look."""
    if sys.platform != "linux":
        return LOOK_MS
    poll.register(os.pidfd_open(pid), select.POLLIN)
    return None


def _dial(door: socket.socket, broker: str) -> bool:
    """Answer one knock with a connection to the broker, or with a bare byte; False at the end."""
    if not door.recv(1):
        return False
    with socket.socket(socket.AF_UNIX) as wire, contextlib.suppress(BlockingIOError):
        wire.settimeout(DIAL_S)
        try:
            wire.connect(broker)
            wire.setblocking(True)
            socket.send_fds(door, [b"+"], [wire.fileno()], socket.MSG_DONTWAIT)
        except OSError:
            door.send(b"-", socket.MSG_DONTWAIT)
    return True


def sweep() -> None:
    """Kill all descendants. None is reaped before all are dead: the dead count against the bound of
    processes, so that what still forks runs out of room. Orphans become the keeper's own (Linux).
    """
    deadline = time.monotonic() + SWEEP_S
    while (alive := living()) and time.monotonic() < deadline:
        for pid in alive:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.001)
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def living() -> list[int]:
    """The descendants of this process that are not dead yet."""
    below: dict[int, list[tuple[int, bool]]] = {}
    with contextlib.suppress(FileNotFoundError):
        for name in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
                state, parent = file.read().rpartition(b")")[2].split()[:2]
                below.setdefault(int(parent), []).append((int(name), state in b"ZX"))
    found, waiting = [], [os.getpid()]
    while waiting:
        for pid, dead in below.get(waiting.pop(), ()):
            waiting.append(pid)
            found += [] if dead else [pid]
    return found
