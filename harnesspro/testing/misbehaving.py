"""A provider that misbehaves by a script: an HTTP server on loopback that speaks the OpenAI shape.

For whoever writes a provider or wants to know what a run does when one fails. Each request takes the
next line of the script; the last one stands for all that follow.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_DRIP_S = 0.05


def completion(**changes: Any) -> dict[str, Any]:
    """A whole reply that says `yes`; `changes` replace its fields, None takes one away."""
    base = {
        "id": "r-1",
        "object": "chat.completion",
        "created": 1,
        "model": "gpt-4o-mini",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "yes"},
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 107},
    }
    return {key: value for key, value in (base | changes).items() if value is not None}


@dataclass(frozen=True, slots=True)
class Line:
    """What one request gets."""

    status: int = 200
    body: bytes = field(default_factory=lambda: json.dumps(completion()).encode())
    headers: tuple[tuple[str, str], ...] = ()
    how: str = "whole"
    """`whole`; `drip`: a byte at a time for ever; `cut`: half the body, then the end; `reset`: the
    connection is torn; `hold`: nothing at all.
    """


WELL = Line()


def storm(retry_after: str | None = None) -> Line:
    """429, with or without the time to come back."""
    told = () if retry_after is None else (("Retry-After", retry_after),)
    return Line(429, b'{"error": {"message": "slow down", "type": "rate_limit"}}', told)


def broken(status: int = 503) -> Line:
    """A server error."""
    return Line(status, b'{"error": {"message": "overloaded", "type": "server_error"}}')


def saying(**changes: Any) -> Line:
    """A whole reply with other fields than it should have."""
    return Line(body=json.dumps(completion(**changes)).encode())


DRIP, CUT, RESET, HOLD = (Line(how=how) for how in ("drip", "cut", "reset", "hold"))
GARBAGE = Line(body=b"<html>gateway</html>")
NO_USAGE = saying(usage=None)
EMPTY = saying(
    choices=[
        {"index": 0, "message": {"role": "assistant", "content": None}, "finish_reason": "stop"}
    ]
)


class MisbehavingServer(AbstractContextManager["MisbehavingServer"]):
    """Serves while the context lasts; `url` is its `/v1`, `asked` the bodies that came."""

    def __init__(self, script: Sequence[Line]) -> None:
        """The script is read from its start."""
        self.script, self.asked = list(script), list[dict[str, Any]]()
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self._next, self._ended))
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        )

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> MisbehavingServer:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._ended.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _next(self, body: dict[str, Any]) -> Line:
        with self._lock:
            self.asked.append(body)
            return self.script[min(len(self.asked), len(self.script)) - 1]


def _handler(
    take: Callable[[dict[str, Any]], Line], ended: threading.Event
) -> type[BaseHTTPRequestHandler]:
    """A handler class bound to one script."""
    return type("Handler", (_Handler,), {"take": staticmethod(take), "ended": ended})


class _Handler(BaseHTTPRequestHandler):
    """Answers one POST after another."""

    take: Callable[[dict[str, Any]], Line]
    ended: threading.Event

    def do_POST(self) -> None:
        line = self.take(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        if line.how == "hold":
            self.ended.wait()
        elif line.how == "reset":
            _tear(self.connection)
        else:
            self._answer(line)

    def _answer(self, line: Line) -> None:
        self.send_response(line.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(line.body)))
        for name, value in line.headers:
            self.send_header(name, value)
        self.end_headers()
        try:
            self._send(line)
        except OSError:  # whoever asked has gone
            self.close_connection = True

    def _send(self, line: Line) -> None:
        if line.how == "cut":
            self.wfile.write(line.body[: len(line.body) // 2])
            self.close_connection = True
        elif line.how == "drip":
            for byte in line.body:
                self.wfile.write(bytes([byte]))
                if self.ended.wait(_DRIP_S):
                    return
        else:
            self.wfile.write(line.body)

    def log_message(self, *args: Any) -> None:
        """Says nothing."""


def _tear(connection: socket.socket) -> None:
    """End a connection with a reset."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()
