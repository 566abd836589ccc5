"""A started sandbox from outside: its outputs, what it reports, and how to end all of it.

Standard library only.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import signal
import subprocess
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

STATUS_BYTES = 4096
SETUP_S, GRACE_S = 15.0, 5.0


class Child:
    """What all levels have in common: two outputs and a pipe on which lines of JSON are told."""

    def __init__(self, out: int, err: int, status: int) -> None:
        """Take over three descriptors to read from."""
        self.out, self.err, self.status = out, err, status
        self.said = b""
        self.root: int | None = None
        """The process of which all others inside are descendants."""

    @property
    def began(self) -> bool:
        """Whether the command was reached; what happened before is the ground's fault."""
        return self.report("began") is not None

    def hear(self) -> bool:
        """Read what it reports; False when it will report no more."""
        data = os.read(self.status, STATUS_BYTES)
        self.said += data
        return bool(data)

    def report(self, name: str) -> Any:
        """What it has reported under a name, or None so far."""
        for line in self.said.splitlines(keepends=True):
            if line.endswith(b"\n") and name in (known := json.loads(line)):
                return known[name]
        return None

    def await_report(self, name: str) -> Any:
        """What it reports under a name; None if it ends, or fails, before."""
        deadline = time.monotonic() + SETUP_S
        while (value := self.report(name)) is None and self.report("failed") is None:
            left = max(deadline - time.monotonic(), 0)
            if not select.select([self.status], [], [], left)[0] or not self.hear():
                return self.report(name)
        return value

    def how(self) -> tuple[str, int | None, str]:
        """`ended`, the exit code, and why it did not begin, once it has ended by itself."""
        exit_code = self.report("exit-code")
        if not self.began:
            return "refused", None, self.report("failed") or ""
        return ("exited", exit_code, "") if exit_code is not None else ("killed", None, "")

    def end(self) -> None:
        """Nothing of it lives when this returns, as far as its level can promise."""
        raise NotImplementedError

    def close(self) -> None:
        """Give back the outputs."""
        for fd in (self.out, self.err):
            os.close(fd)


class BoxedChild(Child):
    """A bubblewrap. The end of a namespace's first process shows after all the others are gone."""

    def __init__(self, process: subprocess.Popen[bytes], out: int, err: int, status: int) -> None:
        """Take over the process and what it writes to."""
        super().__init__(out, err, status)
        self.process = process
        self.gate_opened = False
        self.tree: int | None = None

    @property
    def began(self) -> bool:
        """See above."""
        return self.gate_opened

    def how(self) -> tuple[str, int | None, str]:
        """See above; a command that is not there is told on stderr alone."""
        ended, exit_code, why = super().how()
        if ended == "killed" and self.process.returncode >= 0:
            return "exited", MISSING_COMMAND, ""
        return ended, exit_code, why

    def end(self) -> None:
        """See above."""
        if self.tree is None:
            self.process.terminate()
        else:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self.tree, signal.SIGKILL)
            select.select([self.tree], [], [], GRACE_S)
        try:
            self.process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.status)
        if self.tree is not None:
            with contextlib.suppress(ChildProcessError):  # orphaned, it became the launcher's own
                os.waitid(os.P_PIDFD, self.tree, os.WEXITED | os.WNOHANG)
            os.close(self.tree)


MISSING_COMMAND = 127
"""The exit code shells give for a command that is not there."""


class KeptChild(Child):
    """What a keeper keeps: it ends all when the other end of `stop` is closed, then hangs up."""

    def __init__(self, out: int, err: int, status: int, *, stop: int) -> None:
        """Take over the descriptors."""
        super().__init__(out, err, status)
        self.stop = stop

    def end(self) -> None:
        """See above; unsandboxed, what the keeper lost sight of may live."""
        os.close(self.stop)
        deadline = time.monotonic() + GRACE_S
        while (left := deadline - time.monotonic()) > 0:
            if select.select([self.status], [], [], left)[0] and not self.hear():
                break
        os.close(self.status)


def limit(pid: int, limits: Mapping[str, int]) -> None:
    """Set both limits of each kind, never above what the process has now."""
    for name, bound in limits.items():
        kind = getattr(resource, name)
        hard = resource.prlimit(pid, kind)[1]
        least = bound if hard == resource.RLIM_INFINITY else min(bound, hard)
        resource.prlimit(pid, kind, (least, least))


def memory_file(data: bytes) -> int:
    """A descriptor to read `data` from, of no file that has a name."""
    if sys.platform == "linux":
        fd = os.memfd_create("launcher")
    else:
        import tempfile

        fd, path = tempfile.mkstemp()
        os.unlink(path)
    os.write(fd, data)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd
