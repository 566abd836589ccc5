"""Starts and stops the judge's own processes, in the order that lets each drop what it must not have.

model server -> grader (sees the vault) -> launcher (may make namespaces) -> broker (keys, purses,
ledger) -> orchestrator (confined by Landlock, no keys, no vault). All die with this process.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from harnesspro.core.errors import HarnessProError

START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 10.0
QUIET_ENV = {
    "LANGSMITH_TRACING": "false",
    "LANGCHAIN_TRACING_V2": "false",
    "LANGGRAPH_STRICT_MSGPACK": "true",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_OFFLINE_MODE": "true",
    "PYTHONUNBUFFERED": "1",
    # Threads of their own only slow our small products down: 0.2 ms with one, 8 ms with two.
    "OPENBLAS_NUM_THREADS": "1",
}
_PREFIX, _ALIVE = "hp-", "alive"
FAILPOINT = "HARNESSPRO_FAILPOINT"
"""Names a point of `core.crash` at which a process of the judge dies; for tests."""
# What the orchestrator may know of the user's environment: nothing that could be a key.
_PLAIN_NAMES = (
    "PATH",
    "HOME",
    "LANG",
    "LC_ALL",
    "TERM",
    "COLUMNS",
    "LINES",
    "NO_COLOR",
    "COLORTERM",
    "TZ",
    "TMPDIR",
    "OPENBLAS_NUM_THREADS",
    FAILPOINT,
)
_PR_SET_PDEATHSIG = 1


class Child(Protocol):
    """What is needed of a started process."""

    pid: int

    def poll(self) -> int | None: ...
    def wait(self, timeout: float | None = None) -> int: ...
    def terminate(self) -> None: ...
    def kill(self) -> None: ...


def plain_env() -> dict[str, str]:
    """The environment of a process that must hold no key."""
    return {name: os.environ[name] for name in _PLAIN_NAMES if name in os.environ} | QUIET_ENV


def die_with_parent(parent_pid: int) -> None:
    """Have the kernel end this process when its parent ends; called first in every `main_*`."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent_pid:
        raise SystemExit(1)


def start_role(
    role: str,
    config: Mapping[str, Any],
    *,
    env: Mapping[str, str],
    pass_fds: Sequence[int] = (),
    prefix: Sequence[str] = (),
    own_session: bool = True,
) -> subprocess.Popen[bytes]:
    """`python -m harnesspro.wiring ROLE FD`, its configuration on an inherited pipe.

    `prefix` is a command that execs its arguments (the confiner). Roles but the orchestrator run
    in their own session, so that Ctrl-C reaches the orchestrator alone. Nothing in the working
    folder can stand in for a module (`-P`).
    """
    read_fd, write_fd = os.pipe()
    try:
        child = subprocess.Popen(
            [*prefix, sys.executable, "-P", "-m", "harnesspro.wiring", role, str(read_fd)],
            env=dict(env),
            stdin=subprocess.DEVNULL,
            pass_fds=(*pass_fds, read_fd),
            start_new_session=own_session,
        )
    finally:
        os.close(read_fd)
    with os.fdopen(write_fd, "w", encoding="utf-8") as pipe, contextlib.suppress(BrokenPipeError):
        json.dump({**config, "parent_pid": os.getpid()}, pipe)
    return child


def read_role_config(fd: int) -> dict[str, Any]:
    """The other end of `start_role`'s pipe."""
    with os.fdopen(fd, encoding="utf-8") as pipe:
        return dict(json.load(pipe))


def wait_for_socket(path: str, child: Child, *, what: str, log: Callable[[], str]) -> None:
    """Return when something listens at the UNIX path.

    Raises:
        HarnessProError: the process ended first, or took too long.
    """
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline:
        with socket.socket(socket.AF_UNIX) as probe, contextlib.suppress(OSError):
            probe.connect(path)
            return
        if child.poll() is not None:
            raise HarnessProError(what, f"ended while starting: {log()}", fix="see the line above")
        time.sleep(0.01)
    raise HarnessProError(what, f"did not answer within {START_TIMEOUT_S:.0f} s")


@dataclass
class Household:
    """The processes of one run; stopped in reverse order, whatever happens."""

    folder: Path
    """Private short folder for sockets (a UNIX path holds 107 bytes)."""
    _members: list[tuple[str, Child]] = field(default_factory=list)
    _cleanups: list[Callable[[], None]] = field(default_factory=list)

    def add(self, name: str, child: Child) -> None:
        """Take charge of a started process."""
        self._members.append((name, child))

    def on_close(self, action: Callable[[], None]) -> None:
        """Run `action` when the household closes."""
        self._cleanups.append(action)

    def dead_member(self) -> str | None:
        """The name of a process that ended before its time, if any."""
        return next((name for name, child in self._members if child.poll() is not None), None)

    def close(self) -> None:
        """Stop everything that was started here, newest first."""
        for _, child in reversed(self._members):
            stop(child)
        for action in reversed(self._cleanups):
            action()


def stop(child: Child) -> None:
    """Ask, then insist."""
    if child.poll() is not None:
        return
    child.terminate()
    try:
        child.wait(timeout=STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait(timeout=STOP_TIMEOUT_S)


@contextlib.contextmanager
def household() -> Iterator[Household]:
    """A household with its private socket folder, closed and removed at the end.

    Folders that killed ones left behind are removed first.
    """
    remove_abandoned(Path(tempfile.gettempdir()))
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
    folder.chmod(0o711)
    alive = os.open(folder / _ALIVE, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    fcntl.flock(alive, fcntl.LOCK_EX)  # the kernel lets go of it when this process is gone
    home = Household(folder)
    try:
        yield home
    finally:
        home.close()
        shutil.rmtree(folder, ignore_errors=True)
        os.close(alive)


def remove_abandoned(place: Path) -> None:
    """Remove the socket folders of this user's households that nobody lives in any more."""
    for folder in place.glob(f"{_PREFIX}*"):
        try:
            if folder.is_symlink() or folder.stat().st_uid != os.geteuid():
                continue
            alive = os.open(folder / _ALIVE, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:  # not one of ours, or just going
            continue
        try:
            fcntl.flock(alive, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
        except BlockingIOError:  # somebody lives there
            continue
        finally:
            os.close(alive)


def wait_for_orchestrator(child: Child, home: Household) -> int:
    """Its exit code. Ctrl-C is the orchestrator's to answer; a dead helper ends the run.

    Returns -1 when a helper process died under it.
    """
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        while True:
            code = child.poll()
            if code is not None:
                return code
            dead = home.dead_member()
            if dead is not None:
                try:
                    # The orchestrator sees the closed socket itself and leaves in good order.
                    return child.wait(timeout=STOP_TIMEOUT_S) or -1
                except subprocess.TimeoutExpired:
                    stop(child)
                    return -1
            time.sleep(0.02)
    finally:
        signal.signal(signal.SIGINT, before)
