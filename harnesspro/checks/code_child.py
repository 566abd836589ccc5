"""Holds an answer's code and calls its function for whoever is at the other end of the pipe.

Every process that holds code is forked from a nursery, which never loads any: so starting one costs
next to nothing. What it writes is only as true as the code it holds: nothing here decides anything. Part of the
program that runs in the sandbox: standard library only.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import socket
import sys
from collections.abc import Iterator
from types import ModuleType, TracebackType
from typing import Any, BinaryIO, NoReturn

from harnesspro.checks.code_values import TooBigError, decode, encode

MOST_REPLY_BYTES = 1_000_000
LOADING_CPU_S, CALL_CPU_S = 3.0, 0.5
"""Seconds of computing, after which the kernel ends the process: a busy machine changes nothing."""


class Outcome(contextlib.AbstractContextManager["Outcome"]):
    """What came of a call: whatever it raises, an exit too, is an outcome like any other."""

    def __init__(self) -> None:
        """Nothing came of it yet."""
        self.words: dict[str, Any] = {}

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        """Keep the name of what was raised, and go on."""
        if kind is not None:
            self.words = {"raised": "TooBig" if kind is TooBigError else kind.__name__}
        return True


def nursery() -> int:
    """Fork a process for each pair of pipe ends that arrives on descriptor 0, and tell its id."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # who ends is gone at once
    door = socket.socket(fileno=0)
    while True:
        _, ends, *_ = socket.recv_fds(door, 1, 2)
        if len(ends) != 2:
            return 0
        pid = os.fork()
        if pid == 0:
            begin(door, ends)
        with contextlib.suppress(OSError):  # it has done so itself, or has ended
            os.setpgid(pid, pid)
        for fd in ends:
            os.close(fd)
        door.send(str(pid).encode())


def begin(door: socket.socket, ends: list[int]) -> NoReturn:
    """Be a process of one's own, in a group of one's own, and serve at these ends."""
    os.setpgid(0, 0)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    door.detach()
    for place, fd in enumerate(ends):
        os.dup2(fd, place)
        os.close(fd)
    try:
        main()
    finally:
        os._exit(0)


def main() -> int:
    """Take the source from the first line, then a call a line; one reply a line."""
    requests = os.fdopen(os.dup(0), "rb")
    replies = os.dup(1)
    empty = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(empty, fd)
    for limit in (resource.RLIMIT_FSIZE, resource.RLIMIT_NPROC):
        resource.setrlimit(limit, (0, 0))
    sys.setrecursionlimit(3000)
    serve(requests, replies)
    return 0


def serve(requests: BinaryIO, replies: int) -> None:
    """Load, then answer until the pipe closes."""
    opening = json.loads(requests.readline())
    outcome, module = Outcome(), ModuleType("answer")
    sys.modules["answer"] = module
    with within(LOADING_CPU_S), outcome:
        code = compile(opening["source"], "answer.py", "exec")
        exec(code, module.__dict__)  # noqa: S102 - to run it is the point
        outcome.words = {"loaded": callable(module.__dict__.get(opening["name"]))}
    send(replies, outcome.words)
    for line in requests:
        send(replies, called(module.__dict__.get(opening["name"]), json.loads(line)))


@contextlib.contextmanager
def within(seconds: float) -> Iterator[None]:
    """Compute so long at most, or end."""
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    yield
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def called(function: Any, call: dict[str, Any]) -> dict[str, Any]:
    """The value given, and the arguments where the call changed them; or what was raised."""
    args = decode(call["args"])
    kwargs = decode(call["kwargs"])
    outcome = Outcome()
    with within(CALL_CPU_S), outcome:
        value = function(*args, **kwargs)
        outcome.words = {"value": encode(value)}
        after = encode(args)
        if after != call["args"]:
            outcome.words["changed"] = after
    return outcome.words


def send(fd: int, words: dict[str, Any]) -> None:
    """One line."""
    data = json.dumps(words).encode()
    if len(data) > MOST_REPLY_BYTES:
        data = b'{"raised": "TooBig"}'
    rest = memoryview(data + b"\n")
    while rest:
        rest = rest[os.write(fd, rest) :]
