"""The launcher: a small process that keeps the right to make sandboxes and does nothing else.

Over one inherited socket it takes a configuration, then start specs, each answered by its result;
several run at once, one thread each. It reads no user file, holds no key and knows no vault path.
Started as `python -I -S -B launcher.py FD`. Standard library only.
"""

from __future__ import annotations

import base64
import contextlib
import os
import select
import signal
import socket
import sys
import threading
import time

if __name__ == "__main__":  # started by its path, isolated: the package must be made findable
    sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

from harnesspro.sandbox import boxed, kept, wire
from harnesspro.sandbox.census import Bounds, Census
from harnesspro.sandbox.ground import Ground
from harnesspro.sandbox.kernel import CHILD_SUBREAPER, PARENT_DEATH_SIGNAL, prctl
from harnesspro.sandbox.spec import Malformed, Start

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from harnesspro.sandbox.child import Child

TAIL_BYTES, READ_BYTES = 4096, 65536


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
    prctl(PARENT_DEATH_SIGNAL, signal.SIGKILL)
    prctl(CHILD_SUBREAPER, 1)
    if os.getppid() != parent:
        sys.exit(1)


def serve(sock: socket.socket, ground: Ground) -> None:
    """One thread a start. Closing `halt` ends them all, and they are waited for."""
    lock, census = threading.Lock(), Census()
    halted, halt = os.pipe()
    threads: list[threading.Thread] = []
    try:
        while (message := wire.receive(sock)) is not None:
            arguments = (sock, lock, ground, census, message, halted)
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
    census: Census,
    message: Mapping[str, Any],
    halted: int,
) -> None:
    """Run one start; whatever happens, the peer gets a result for it."""
    result = refused("the launcher failed; its own error output says how")
    try:
        result = run(ground, census, Start(message.get("spec")), halted)
    except (Malformed, OSError, ValueError, KeyError) as error:
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


def run(ground: Ground, census: Census, start: Start, halted: int) -> dict[str, Any]:
    """One start from an empty work folder to its result; the tree is dead at the end."""
    place = ground.place(start)
    try:
        for name, text in start.files.items():
            place.write(name, text)
        place.write("task.json", start.task(kept.broker_inside(ground)))
        child = (boxed if ground.level == "S3" else kept).begin(ground, place, start)
        began = time.monotonic()
        bounds = Bounds(census, start, lambda: place.used(child.root, start.n_files))
        watch = Watch(child, start.output_bytes, bounds)
        try:
            cut = watch.follow(began + start.wall_s, halted)
        finally:
            child.end()
        wall_s = time.monotonic() - began
        cut = watch.drain() or cut
        if cut is None and (too_much := bounds.overfull()):
            cut, watch.broken = "killed", too_much
        data = place.collect(start.output_bytes) if child.began and not watch.broken else None
    finally:
        place.clear()
    ended, exit_code, why = child.how() if cut is None else (cut, None, "")
    said = f"sandbox: {why or watch.broken}\n" if why or watch.broken else ""
    return {
        "ended": ended,
        "exit_code": exit_code,
        "result": None if data is None else base64.b64encode(data).decode(),
        "stderr": (watch.tail.decode(errors="replace") + said)[-TAIL_BYTES:],
        "wall_s": wall_s,
    }


class Watch:
    """Reads a child's two outputs up to a common cap, keeps the end of its stderr, and now and then
    looks at what all of it uses.
    """

    def __init__(self, child: Child, cap: int, bounds: Bounds) -> None:
        """Nothing is read yet."""
        self.child, self.left, self.tail, self.bounds = child, cap, b"", bounds
        self.broken = ""
        for fd in (child.out, child.err):
            os.set_blocking(fd, False)

    def follow(self, deadline: float, halted: int) -> str | None:
        """Until it ends by itself (None), or why it must be cut off: wall, output or killed."""
        poll = select.poll()
        for fd in (self.child.out, self.child.err, self.child.status, halted):
            poll.register(fd, select.POLLIN)
        look = time.monotonic() + self.bounds.census.pause_s
        while (now := time.monotonic()) < deadline:
            ready = [fd for fd, _ in poll.poll((min(deadline, look) - now) * 1000 + 1)]
            if self.child.status in ready and not self.child.hear():
                return None
            for fd in {self.child.out, self.child.err}.intersection(ready):
                if not self.read(fd):
                    poll.unregister(fd)
            if self.left < 0:
                return "output"
            if time.monotonic() >= look:
                self.broken = self.bounds.broken(self.child.root) or ""
                look = time.monotonic() + self.bounds.census.pause_s
            if halted in ready or self.broken:
                return "killed"
        return "wall"

    def read(self, fd: int) -> bool:
        """Take what is there; False at the end."""
        data = os.read(fd, READ_BYTES)
        self.left -= len(data)
        if fd == self.child.err:
            self.tail = (self.tail + data)[-TAIL_BYTES:]
        return bool(data)

    def drain(self) -> str | None:
        """What a dead child left in its pipes; `output` if that broke the cap."""
        for fd in (self.child.out, self.child.err):
            try:
                while self.read(fd):
                    pass
            except BlockingIOError:  # unsandboxed, a process that got away holds the other end
                pass
        self.child.close()
        return "output" if self.left < 0 else None


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
