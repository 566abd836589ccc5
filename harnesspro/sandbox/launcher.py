"""The launcher: a small process that keeps the right to make sandboxes and does nothing else.

Over one inherited socket it takes a configuration, then start specs, each answered by its result;
several run at once, one thread each. It reads no user file, holds no key and knows no vault path.
Started as `python -I -S -B launcher.py FD`. Standard library only.
"""

from __future__ import annotations

import base64
import contextlib
import ctypes
import os
import select
import signal
import socket
import sys
import threading
import time

if __name__ == "__main__":  # started by its path, isolated: the package must be made findable
    sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

from harnesspro.sandbox import box, wire
from harnesspro.sandbox.child import Start, begin_bare, begin_boxed
from harnesspro.sandbox.ground import Ground

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from harnesspro.sandbox.child import Child

TAIL_BYTES, READ_BYTES = 4096, 65536
PARENT_DEATH_SIGNAL, CHILD_SUBREAPER = 1, 36
MISSING_COMMAND = 127
"""The exit code shells give for a command that is not there."""


def main(fd: int) -> int:
    """Serve one peer until it closes or a SIGTERM; all that was started is dead at the end."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    sock = socket.socket(fileno=fd)
    config = wire.receive(sock)
    if config is None:
        return 0
    tie_to(config["parent"])
    os.umask(0o022)
    try:
        ground = Ground(config)
    except (OSError, ValueError) as error:
        wire.send(sock, {"error": f"{type(error).__name__}: {error}"})
        return 1
    wire.send(sock, {"ready": ground.level})
    serve(sock, ground)
    return 0


def tie_to(parent: int) -> None:
    """Die when the parent does; it may have died before this call. Adopt orphans, to reap them."""
    if sys.platform == "linux":
        prctl = ctypes.CDLL(None).prctl
        prctl(PARENT_DEATH_SIGNAL, signal.SIGKILL)
        prctl(CHILD_SUBREAPER, 1)
    if os.getppid() != parent:
        sys.exit(1)


def serve(sock: socket.socket, ground: Ground) -> None:
    """One thread a start. Closing `halt` ends them all, and they are waited for."""
    lock = threading.Lock()
    halted, halt = os.pipe()
    threads: list[threading.Thread] = []
    try:
        while (message := wire.receive(sock)) is not None:
            arguments = (sock, lock, ground, message, halted)
            threads = [thread for thread in threads if thread.is_alive()]
            threads.append(threading.Thread(target=answer, args=arguments))
            threads[-1].start()
    except (wire.Garbled, OSError) as error:
        print(f"launcher: {error}", file=sys.stderr)  # noqa: T201 - the launcher's only log
    finally:
        os.close(halt)
        for thread in threads:
            thread.join()


def answer(
    sock: socket.socket,
    lock: threading.Lock,
    ground: Ground,
    message: Mapping[str, Any],
    halted: int,
) -> None:
    """Run one start; whatever happens, the peer gets a result for it."""
    result = refused("the launcher failed; its own error output says how")
    try:
        result = run(ground, Start(message["spec"]), halted)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        result = refused(f"{type(error).__name__}: {error}")
    finally:
        with lock, contextlib.suppress(OSError):  # a peer that is gone: the reader finds out
            wire.send(sock, {"id": message.get("id"), "result": result})


def refused(reason: str) -> dict[str, Any]:
    """The result of a start that did not come to be."""
    return {
        "ended": "refused",
        "exit_code": None,
        "result": None,
        "stderr": reason[-TAIL_BYTES:],
        "wall_s": 0.0,
    }


def run(ground: Ground, start: Start, halted: int) -> dict[str, Any]:
    """One start from an empty work folder to its result; the tree is dead at the end."""
    place = ground.place()
    try:
        boxed = ground.level == "S3"
        for name, text in start.files.items():
            place.write(name, text)
        place.write("task.json", start.task(box.BROKER if boxed else ground.broker))
        child = (begin_boxed if boxed else begin_bare)(ground, place, start)
        began = time.monotonic()
        watch = Watch(child, start.output_bytes)
        try:
            cut = watch.follow(began + start.wall_s, halted)
        finally:
            child.end()
        wall_s = time.monotonic() - began
        cut = watch.drain() or cut
        ended, exit_code = how_it_ended(child, cut)
        data = place.collect(start.output_bytes) if child.began else None
    finally:
        place.clear()
    return {
        "ended": ended,
        "exit_code": exit_code,
        "result": None if data is None else base64.b64encode(data).decode(),
        "stderr": watch.tail.decode(errors="replace"),
        "wall_s": wall_s,
    }


def how_it_ended(child: Child, cut: str | None) -> tuple[str, int | None]:
    """`ended` and the exit code. Only what happened before the code inside ran is `refused`."""
    exit_code = child.report("exit-code")
    if cut is not None:
        return cut, None
    if not child.began:
        return "refused", None
    if exit_code is not None:
        return "exited", exit_code
    return ("killed", None) if child.process.returncode < 0 else ("exited", MISSING_COMMAND)


class Watch:
    """Reads a child's two outputs up to a common cap and keeps the end of its stderr."""

    def __init__(self, child: Child, cap: int) -> None:
        """Nothing is read yet."""
        assert child.process.stdout is not None
        assert child.process.stderr is not None
        self.child, self.left, self.tail = child, cap, b""
        self.out, self.err = child.process.stdout.fileno(), child.process.stderr.fileno()
        for fd in (self.out, self.err):
            os.set_blocking(fd, False)

    def follow(self, deadline: float, halted: int) -> str | None:
        """Until it ends by itself (None), or why it must be cut off: wall, output or killed."""
        poll = select.poll()
        for fd in (self.out, self.err, self.child.status, halted):
            poll.register(fd, select.POLLIN)
        while (left := deadline - time.monotonic()) > 0:
            for fd, _ in poll.poll(left * 1000 + 1):
                if fd == halted:
                    return "killed"
                if fd == self.child.status:
                    if not self.child.hear():
                        return None
                elif not self.read(fd):
                    poll.unregister(fd)
                if self.left < 0:
                    return "output"
        return "wall"

    def read(self, fd: int) -> bool:
        """Take what is there; False at the end."""
        data = os.read(fd, READ_BYTES)
        self.left -= len(data)
        if fd == self.err:
            self.tail = (self.tail + data)[-TAIL_BYTES:]
        return bool(data)

    def drain(self) -> str | None:
        """What a dead child left in its pipes; `output` if that broke the cap."""
        for fd in (self.out, self.err):
            try:
                while self.read(fd):
                    pass
            except BlockingIOError:  # unsandboxed, a process that got away holds the other end
                pass
        for stream in (self.child.process.stdout, self.child.process.stderr):
            if stream is not None:
                stream.close()
        return "output" if self.left < 0 else None


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
