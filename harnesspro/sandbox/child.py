"""One start: its spec as it came over the socket, and how it is begun and ended at each level.

Standard library only.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import resource
import select
import signal
import subprocess
import time

from harnesspro.sandbox import box
from harnesspro.sandbox.ground import DISK_BYTES, this_thread_as

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from harnesspro.sandbox.ground import Ground, Place

STATUS_BYTES = 4096
SETUP_S, GRACE_S = 15.0, 5.0
OPEN_FILES = 1024
# Since 5.14 the kernel counts processes per user namespace; before, all of the same user count.
COUNTED_ELSEWHERE = 4096


class Start:
    """A start spec, every value of the type it should have."""

    def __init__(self, spec: Mapping[str, Any]) -> None:
        """Read the spec.

        Raises:
            KeyError, TypeError, ValueError: it is not one.
        """
        self.code_dir = str(spec["code_dir"])
        self.argv = None if spec["argv"] is None else [str(word) for word in spec["argv"]]
        self.payload = str(spec["payload"])
        self.files = {str(name): str(text) for name, text in spec["files"].items()}
        self.env = {str(name): str(value) for name, value in spec["env"].items()}
        self.broker = bool(spec["broker"])
        self.wall_s = float(spec["wall_s"])
        self.output_bytes = int(spec["output_bytes"])
        self.memory_bytes = int(spec["memory_bytes"])
        self.n_processes = int(spec["n_processes"])

    def limits(self) -> dict[str, int]:
        """Limits of each process; the wall clock is the bound, CPU seconds its backstop."""
        return {
            "RLIMIT_AS": self.memory_bytes,
            "RLIMIT_CPU": math.ceil(self.wall_s) * (os.cpu_count() or 1) + 10,
            "RLIMIT_FSIZE": DISK_BYTES,
            "RLIMIT_NOFILE": OPEN_FILES,
            "RLIMIT_CORE": 0,
        }

    def task(self, broker: str) -> str:
        """The payload with the broker's socket as it is seen from inside, empty where not shown."""
        value = json.loads(self.payload)
        if isinstance(value, dict):
            value["broker"] = broker if self.broker else ""
        return json.dumps(value)


class Child:
    """A started sandbox from outside: its process, its status pipe, and how to end all of it."""

    def __init__(self, process: subprocess.Popen[bytes], status: int) -> None:
        """Take over a process that reports `child-pid`, then `exit-code`, on `status`."""
        self.process, self.status = process, status
        self.said = b""
        self.began = False
        self.tree: int | None = None

    def hear(self) -> bool:
        """Read what it reports; False when it will report no more."""
        data = os.read(self.status, STATUS_BYTES)
        self.said += data
        return bool(data)

    def report(self, name: str) -> int | None:
        """A number it has reported, or None so far."""
        for line in self.said.splitlines(keepends=True):
            if line.endswith(b"\n") and name in (known := json.loads(line)):
                return int(known[name])
        return None

    def await_pid(self) -> int | None:
        """The first process inside; None if it never came to be."""
        deadline = time.monotonic() + SETUP_S
        while (pid := self.report("child-pid")) is None:
            left = max(deadline - time.monotonic(), 0)
            if not select.select([self.status], [], [], left)[0] or not self.hear():
                return None
        return pid

    def end(self) -> None:
        """Nothing of it lives when this returns: the end of a namespace's first process shows
        only after all the others are gone. Unsandboxed, what the keeper lost sight of may live.
        """
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


def begin_boxed(ground: Ground, place: Place, start: Start) -> Child:
    """Start in bubblewrap: empty environment outside, arguments and filter by descriptor, and a
    gate that opens only once the limits hold.

    Raises:
        OSError, ValueError: the spec asks for what it may not have, or nothing can be started.
    """
    code = ground.open_code(start.code_dir)
    held = [code]
    try:
        if ground.as_root and os.fstat(code).st_mode & 0o005 != 0o005:
            raise PermissionError(f"{start.code_dir} must be readable to other users")
        held += [_memory(b"\0".join(map(os.fsencode, _arguments(ground, place, start, code))))]
        held += [_memory(ground.filter), gate := _both_ends()]
        options = f"--args {held[1]} --seccomp {held[2]} --block-fd {gate} --json-status-fd"
        inner = start.argv or box.python_entry(
            ground.python, judge=box.JUDGE, work=box.WORK, code=box.CODE
        )
        child = _spawn(
            ground.bwrap,
            lambda told: ["bwrap", *options.split(), told, "--", *inner],
            held[1:],
            as_uid=ground.as_uid,
        )
        try:
            _open_gate(child, gate, code, start, as_uid=ground.as_uid)
        except BaseException:
            child.end()
            raise
    finally:
        for fd in held:
            os.close(fd)
    return child


def _arguments(ground: Ground, place: Place, start: Start, code: int) -> list[str]:
    socket = place.neutral(ground.broker, "broker") if start.broker else None
    return [
        *box.isolation(),
        *box.system(ground.links, ground.folders),
        *box.private(DISK_BYTES),
        *box.content(
            python=(ground.python_source, ground.prefix),
            etc=ground.etc,
            judge=ground.judge,
            code=place.neutral(start.code_dir, "code", through=code),
            work=place.work,
            broker=socket,
        ),
        *box.variables(box.environment(box.WORK, ground.prefix, start.env)),
    ]


def _memory(data: bytes) -> int:
    fd = os.memfd_create("launcher")
    os.write(fd, data)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def _both_ends() -> int:
    """A pipe in one descriptor: whoever waits on it is not let through by the launcher's death."""
    reading, writing = os.pipe()
    try:
        return os.open(f"/proc/self/fd/{reading}", os.O_RDWR | os.O_CLOEXEC)
    finally:
        os.close(reading)
        os.close(writing)


def _spawn(
    executable: str,
    command: Callable[[str], list[str]],
    passed: Sequence[int],
    *,
    as_uid: int | None = None,
    cwd: str = "/",
    env: Mapping[str, str] | None = None,
) -> Child:
    """Start `command(descriptor)`; what it tells on that descriptor the Child hears. No copy of it
    stays here, so an early end is heard at once.
    """
    status, told = os.pipe()
    try:
        process = subprocess.Popen(
            command(str(told)),
            executable=executable,
            env=dict(env or {}),
            cwd=cwd,
            pass_fds=(*passed, told),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            user=as_uid,
            group=as_uid,
            extra_groups=None if as_uid is None else [],
        )
    except BaseException:
        os.close(status)
        raise
    finally:
        os.close(told)
    return Child(process, status)


def _await_shown(pid: int, code: int) -> None:
    """Wait until the sandbox stands and shows the very folder that was checked: a path could have
    been exchanged in between.
    """
    meant, deadline = os.fstat(code), time.monotonic() + GRACE_S
    while time.monotonic() < deadline:
        with contextlib.suppress(FileNotFoundError):
            shown = os.stat(f"/proc/{pid}/root{box.CODE}")
            if (shown.st_dev, shown.st_ino) == (meant.st_dev, meant.st_ino):
                return
        time.sleep(0.0005)
    raise PermissionError("the code folder was exchanged while it was being shown")


def _open_gate(child: Child, gate: int, code: int, start: Start, *, as_uid: int | None) -> None:
    pid = child.await_pid()
    if pid is None:
        return
    child.tree = os.pidfd_open(pid)
    if as_uid is None:
        _await_shown(pid, code)
    processes = {"RLIMIT_NPROC": start.n_processes + 1 + _counted_elsewhere()}
    with this_thread_as(as_uid):
        limit(pid, start.limits() | processes)
    with contextlib.suppress(OSError), open(f"/proc/{pid}/oom_score_adj", "w") as file:
        file.write("1000")
    os.write(gate, b"x")
    child.began = True


def _counted_elsewhere() -> int:
    major, minor = os.uname().release.split(".")[:2]
    new = (int(major), int(minor.partition("-")[0])) >= (5, 14)
    return 0 if new else COUNTED_ELSEWHERE


def limit(pid: int, limits: Mapping[str, int]) -> None:
    """Set both limits of each kind, never above what the process has now."""
    for name, bound in limits.items():
        kind = getattr(resource, name)
        hard = resource.prlimit(pid, kind)[1]
        least = bound if hard == resource.RLIM_INFINITY else min(bound, hard)
        resource.prlimit(pid, kind, (least, least))


def begin_bare(ground: Ground, place: Place, start: Start) -> Child:
    """Start without isolation, under a keeper that ends what it can.

    Raises:
        OSError, ValueError: the spec asks for what it may not have, or nothing can be started.
    """
    os.close(ground.open_code(start.code_dir))

    def real(text: str) -> str:
        for inside, outside in ((box.WORK, place.work), (box.CODE, start.code_dir)):
            if text == inside or text.startswith(inside + "/"):
                return outside + text[len(inside) :]
        return text

    keeper = [ground.python, "-I", "-S", "-B", ground.keeper]
    inner = start.argv or box.python_entry(
        ground.python, judge=ground.judge, work=place.work, code=start.code_dir
    )
    values = {name: real(value) for name, value in start.env.items()}
    child = _spawn(
        ground.python,
        lambda told: [*keeper, told, json.dumps(start.limits()), *map(real, inner)],
        [],
        cwd=place.work,
        env=box.environment(place.work, ground.prefix, values),
    )
    child.began = child.await_pid() is not None
    return child
