"""Calls a function of untrusted code in a process of its own, killed where it does not answer.

The caller never loads the code. Values come back as JSON; what no honest child would send is
"broken". Part of the program that runs in the sandbox: standard library only.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import signal
import socket
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

from harnesspro.checks.code_child import MOST_REPLY_BYTES
from harnesspro.checks.code_values import canonical, decode, encode

LOADING_S, CALL_S = 20.0, 10.0
"""By the clock, for what waits instead of computing; see `code_child` for the usual bound."""
MOST_LOST = 2
"""After so many calls of a run without an answer the rest of it is not tried."""
_NOT_DUMPABLE = 4
Words = dict[str, Any]


class Call(NamedTuple):
    """One call to make."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def shield() -> None:
    """Close this process's memory and descriptors to others of the same user.

    Raises:
        OSError: the kernel refused.
    """
    if sys.platform == "linux" and ctypes.CDLL(None).prctl(_NOT_DUMPABLE, 0, 0, 0, 0) != 0:
        raise OSError("the process could not be closed to others")


def calls_of(inputs: Sequence[tuple[Any, ...]]) -> list[Call]:
    """A call for every tuple of arguments."""
    return [Call(args, {}) for args in inputs]


class Nursery:
    """Where processes that hold code come from: one a hash seed, begun when first needed."""

    def __init__(self, program: str) -> None:
        """`program` is the text that `code_program.child_program` gives."""
        self._program = program
        self._doors: dict[int, tuple[socket.socket, int]] = {}

    def fork(self, hash_seed: int, ends: tuple[int, int]) -> int:
        """The id of a new process, alone in its group, that reads the first end and writes the other.

        Raises:
            OSError: none could be made, not even in a new nursery.
        """
        try:
            return self._forked(hash_seed, ends)
        except OSError:  # an answer can have killed it
            self._end(hash_seed)
            return self._forked(hash_seed, ends)

    def _forked(self, hash_seed: int, ends: tuple[int, int]) -> int:
        if hash_seed not in self._doors:
            self._doors[hash_seed] = self._begun(hash_seed)
        door, _ = self._doors[hash_seed]
        socket.send_fds(door, [b"?"], ends)
        try:
            return int(door.recv(20))
        except ValueError as error:
            raise ConnectionError("no process came") from error

    def _begun(self, hash_seed: int) -> tuple[socket.socket, int]:
        ours, theirs = socket.socketpair()
        with theirs:
            ours.settimeout(LOADING_S)
            pid = os.posix_spawn(
                sys.executable,
                [sys.executable, "-s", "-S", "-P", "-B", "-c", self._program],
                {"PYTHONHASHSEED": str(hash_seed)},
                file_actions=[
                    (os.POSIX_SPAWN_DUP2, theirs.fileno(), 0),
                    (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                    (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
                ],
                setpgroup=0,
            )
        return ours, pid

    def _end(self, hash_seed: int) -> None:
        door, pid = self._doors.pop(hash_seed)
        door.close()
        _kill(pid)
        os.waitpid(pid, 0)

    def end(self) -> None:
        """None is left; processes that came from here end when nobody asks them any more."""
        for hash_seed in list(self._doors):
            self._end(hash_seed)


def _kill(pid: int) -> None:
    """Kill a process with its whole group; one that has ended is let be."""
    for kill in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            kill(pid, signal.SIGKILL)


class Child:
    """One process that holds the code."""

    def __init__(self, nursery: Nursery, *, source: str, name: str, hash_seed: int) -> None:
        """Start it and load the code; `ready` says whether it defines the function."""
        inside, self._to = os.pipe()
        self._from, outside = os.pipe()
        try:
            self._pid = nursery.fork(hash_seed, (inside, outside))
        except OSError:
            self._pid = 0
        os.close(inside)
        os.close(outside)
        os.set_blocking(self._to, False)
        self._left = b""
        reply = self.ask({"source": source, "name": name}, seconds=LOADING_S)
        self.ready = reply.get("loaded") is True

    def ask(self, words: Words, *, seconds: float) -> Words:
        """The reply, or `{"lost": why}`: timed out, ended, or nonsense; it is dead then."""
        try:
            self._send(json.dumps(words).encode() + b"\n", _now() + seconds)
            reply = self._line(_now() + seconds)
        except (OSError, ValueError, RecursionError) as error:
            reply = {"lost": "timeout" if isinstance(error, TimeoutError) else "ended"}
        if "lost" in reply:
            self.end()
        return reply

    def _send(self, data: bytes, deadline: float) -> None:
        while data:
            _wait(self._to, select.POLLOUT, deadline)
            data = data[os.write(self._to, data) :]

    def _line(self, deadline: float) -> Words:
        while b"\n" not in self._left:
            _wait(self._from, select.POLLIN, deadline)
            data = os.read(self._from, 65536)
            self._left += data
            if not data or len(self._left) > MOST_REPLY_BYTES + 1:
                raise ValueError("ended, or too much")
        line, _, self._left = self._left.partition(b"\n")
        words = json.loads(line)
        return words if _is_reply(words) else {"lost": "broken"}

    def end(self) -> None:
        """Kill it with its whole group; safe to call twice."""
        if self._to >= 0:
            if self._pid:
                _kill(self._pid)
            os.close(self._to)
            os.close(self._from)
            self._to = self._from = -1


def _is_reply(words: Any) -> bool:
    """One of the forms `code_child` sends, every value in it readable."""
    if not isinstance(words, dict):
        return False
    if "loaded" in words or "raised" in words:
        return isinstance(words.get("raised", ""), str)
    try:
        for encoded in (words["value"], words.get("changed")):
            canonical(encoded)
            decode(encoded)
    except (KeyError, TypeError, ValueError, RecursionError, OverflowError):
        return False
    return True


def _now() -> float:
    return os.times().elapsed


def _wait(fd: int, event: int, deadline: float) -> None:
    poll = select.poll()
    poll.register(fd, event)
    if not poll.poll(max(0.0, deadline - _now()) * 1000):
        raise TimeoutError


class Lab:
    """Calls made one by one; the process is begun anew where one was lost."""

    def __init__(self, nursery: Nursery, *, source: str, name: str, hash_seed: int) -> None:
        """Nothing is started yet."""
        self._nursery, self._source, self._name = nursery, source, name
        self._hash_seed = hash_seed
        self._child: Child | None = None

    def load(self) -> bool:
        """Whether the code loads and defines the function."""
        if self._child is None:
            self._child = Child(
                self._nursery, source=self._source, name=self._name, hash_seed=self._hash_seed
            )
        return self._child.ready

    def run(self, calls: Sequence[Call]) -> list[Words]:
        """What came of each call, in order."""
        outcomes: list[Words] = []
        n_lost = 0
        for call in calls:
            outcomes.append(self._one(call) if n_lost < MOST_LOST else {"lost": "not tried"})
            n_lost += "lost" in outcomes[-1]
        return outcomes

    def _one(self, call: Call) -> Words:
        if not self.load():
            return {"lost": "not loaded"}
        assert self._child is not None
        words = {"args": encode(call.args), "kwargs": encode(call.kwargs)}
        reply = self._child.ask(words, seconds=CALL_S)
        if "lost" in reply:
            self._child = None
        return reply

    def end(self) -> None:
        """Nothing of it is left running."""
        if self._child is not None:
            self._child.end()
