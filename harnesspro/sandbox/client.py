"""The sandbox as the orchestrator holds it: one socket to the launcher, shared by many threads."""

from __future__ import annotations

import base64
import dataclasses
import itertools
import queue
import socket
import threading
from typing import Any, Self

from harnesspro.core.errors import HarnessProError
from harnesspro.core.ports import SandboxResult, SandboxSpec
from harnesspro.sandbox import wire

Reply = dict[str, Any]


class SandboxClient:
    """Implements the `Sandbox` port over a launcher's socket."""

    def __init__(self, sock: socket.socket, level: str) -> None:
        """Take over the socket of a configured launcher; reading begins with the first start."""
        self._sock, self._level = sock, level
        self._sending, self._state = threading.Lock(), threading.Lock()
        self._numbers = itertools.count(1)
        self._waiting: dict[int, queue.SimpleQueue[Reply | None]] = {}
        self._reader: threading.Thread | None = None
        self._gone = ""

    @classmethod
    def from_fd(cls, fd: int, level: str) -> Self:
        """The client in a process that inherited the socket as descriptor `fd`."""
        return cls(socket.socket(fileno=fd), level)

    @property
    def level(self) -> str:
        """See the port."""
        return self._level

    def run(self, spec: SandboxSpec) -> SandboxResult:
        """See the port.

        Raises:
            HarnessProError: the launcher is gone; nothing more can be started in this run.
        """
        number, slot = next(self._numbers), queue.SimpleQueue[Reply | None]()
        with self._state:
            if self._gone:
                raise self._lost()
            self._waiting[number] = slot
            if self._reader is None:
                self._reader = threading.Thread(target=self._read, daemon=True)
                self._reader.start()
        try:
            with self._sending:
                wire.send(self._sock, {"id": number, "spec": dataclasses.asdict(spec)})
        except OSError as error:
            self._give_up(str(error))
        reply = slot.get()
        if reply is None:
            raise self._lost()
        return as_result(reply)

    def close(self) -> None:
        """Hang up: the launcher ends what still runs, and itself."""
        self._give_up("the connection was closed")
        self._sock.close()

    def _read(self) -> None:
        try:
            while (message := wire.receive(self._sock)) is not None:
                with self._state:
                    slot = self._waiting.pop(message["id"], None)
                if slot is not None:
                    slot.put(message["result"])
            self._give_up("it ended")
        except (OSError, wire.Garbled) as error:
            self._give_up(str(error))

    def _give_up(self, reason: str) -> None:
        with self._state:
            self._gone = self._gone or reason
            waiting, self._waiting = self._waiting, {}
        for slot in waiting.values():
            slot.put(None)
        try:
            self._sock.shutdown(socket.SHUT_RDWR)
        except OSError:  # already down
            return

    def _lost(self) -> HarnessProError:
        return HarnessProError(
            "sandbox launcher",
            f"no longer there ({self._gone})",
            fix="nothing recorded is lost: resume the run",
        )


def as_result(reply: Reply) -> SandboxResult:
    """The launcher's answer as the port's record."""
    data = reply["result"]
    return SandboxResult(
        ended=reply["ended"],
        exit_code=reply["exit_code"],
        result=None if data is None else base64.b64decode(data),
        stderr=reply["stderr"],
        wall_s=reply["wall_s"],
    )
