"""S3: a start in bubblewrap. Empty environment outside, arguments and filter by descriptor, and a
gate that opens only once the limits hold. Standard library only.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import time

from harnesspro.sandbox import box
from harnesspro.sandbox.child import GRACE_S, BoxedChild, limit, memory_file
from harnesspro.sandbox.kernel import this_thread_as

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from harnesspro.sandbox.ground import Ground
    from harnesspro.sandbox.place import Place
    from harnesspro.sandbox.spec import Start

# Since 5.14 the kernel counts processes per user namespace; before, all of the same user count.
COUNTED_ELSEWHERE = 4096


def begin(ground: Ground, place: Place, start: Start) -> BoxedChild:
    """Start it.

    Raises:
        OSError, ValueError: the spec asks for what it may not have, or nothing can be started.
    """
    code = ground.open_code(start.code_dir)
    held = [code]
    try:
        words = arguments(ground, place, start, code)
        held += [memory_file(b"\0".join(map(os.fsencode, words)))]
        held += [memory_file(ground.filter), gate := _both_ends()]
        inner = start.argv or box.python_entry(
            ground.python, judge=box.JUDGE, work=box.WORK, code=box.CODE
        )
        child = _spawn(ground, held[1:], inner)
        try:
            _open_gate(child, gate, code, start, as_uid=ground.as_uid)
        except BaseException:
            child.end()
            child.close()
            raise
    finally:
        for fd in held:
            os.close(fd)
    return child


def arguments(ground: Ground, place: Place, start: Start, code: int) -> list[str]:
    """What bubblewrap is told to build for one start."""
    socket = place.neutral(ground.broker, "broker") if start.broker else None
    return [
        *box.isolation(),
        *box.system(ground.links, ground.folders),
        *box.private(start.disk_bytes),
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


def _both_ends() -> int:
    """A pipe in one descriptor: whoever waits on it is not let through by the launcher's death."""
    reading, writing = os.pipe()
    try:
        return os.open(f"/proc/self/fd/{reading}", os.O_RDWR | os.O_CLOEXEC)
    finally:
        os.close(reading)
        os.close(writing)


def _spawn(ground: Ground, passed: Sequence[int], inner: Sequence[str]) -> BoxedChild:
    """No copy of what it writes to stays here, so an early end is heard at once. The thread takes
    on the uid, so that the start need not: it then goes without a copy of this process.
    """
    (out, to_out), (err, to_err), (status, told) = os.pipe(), os.pipe(), os.pipe()
    options = ("--args", passed[0], "--seccomp", passed[1], "--block-fd", passed[2])
    words = ["bwrap", *map(str, options), "--json-status-fd", str(told), "--", *inner]
    try:
        with this_thread_as(ground.as_uid):
            process = subprocess.Popen(
                words,
                executable=ground.bwrap,
                env={},
                cwd="/",
                pass_fds=(*passed, told),
                stdin=subprocess.DEVNULL,
                stdout=to_out,
                stderr=to_err,
            )
    except BaseException:
        for fd in (out, err, status):
            os.close(fd)
        raise
    finally:
        for fd in (to_out, to_err, told):
            os.close(fd)
    return BoxedChild(process, out, err, status)


def await_shown(pid: int, code: int) -> None:
    """Wait until the sandbox stands and shows the very folder that was checked: a path could have
    been exchanged in between.

    Raises:
        PermissionError: it shows another.
    """
    meant, deadline = os.fstat(code), time.monotonic() + GRACE_S
    while time.monotonic() < deadline:
        with contextlib.suppress(FileNotFoundError):
            shown = os.stat(f"/proc/{pid}/root{box.CODE}")
            if (shown.st_dev, shown.st_ino) == (meant.st_dev, meant.st_ino):
                return
        time.sleep(0.0005)
    raise PermissionError("the code folder was exchanged while it was being shown")


def _open_gate(
    child: BoxedChild, gate: int, code: int, start: Start, *, as_uid: int | None
) -> None:
    pid = child.await_report("child-pid")
    if pid is None:
        return
    child.root, child.tree = pid, os.pidfd_open(pid)
    if as_uid is None:
        await_shown(pid, code)
    processes = {"RLIMIT_NPROC": start.n_processes + 1 + _counted_elsewhere()}
    with this_thread_as(as_uid):
        limit(pid, start.limits() | processes)
    with contextlib.suppress(OSError), open(f"/proc/{pid}/oom_score_adj", "w") as file:
        file.write("1000")
    os.write(gate, b"x")
    child.gate_opened = True


def _counted_elsewhere() -> int:
    major, minor = os.uname().release.split(".")[:2]
    new = (int(major), int(minor.partition("-")[0])) >= (5, 14)
    return 0 if new else COUNTED_ELSEWHERE
