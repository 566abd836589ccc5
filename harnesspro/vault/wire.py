"""Frames between the grader and its one client: four bytes of length, then JSON."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping
from typing import Any

from harnesspro.vault.grading import Grade

GRADER_ERROR = "GRADER_ERROR"
"""The one code for whatever goes wrong in the grader."""
GRADE_CODES: Mapping[Grade, str] = {"right": "r", "wrong": "w", "no_gold": "n"}
"""Grades on the wire, all of one size."""
MAX_FRAME_BYTES = 256_000_000
_HEAD_BYTES = 4


def write_frame(sock: socket.socket, value: Any) -> None:
    """Send one value."""
    body = json.dumps(value, separators=(",", ":")).encode()
    if len(body) > MAX_FRAME_BYTES:
        raise ValueError(f"a frame of {len(body)} bytes; at most {MAX_FRAME_BYTES}")
    sock.sendall(len(body).to_bytes(_HEAD_BYTES, "big") + body)


def read_frame(sock: socket.socket) -> Any | None:
    """The next value, or None where the other side has closed.

    Raises:
        ValueError: not a frame of JSON.
        ConnectionError: closed in the middle of a frame.
    """
    head = _exactly(sock, _HEAD_BYTES)
    if head is None:
        return None
    length = int.from_bytes(head, "big")
    if length > MAX_FRAME_BYTES:
        raise ValueError(f"a frame of {length} bytes; at most {MAX_FRAME_BYTES}")
    body = _exactly(sock, length)
    if body is None:
        raise ConnectionError("closed within a frame")
    return json.loads(body)


def _exactly(sock: socket.socket, n: int) -> bytes | None:
    parts, missing = [], n
    while missing:
        part = sock.recv(min(missing, 1 << 20))
        if not part:
            if missing == n:
                return None
            raise ConnectionError("closed within a frame")
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)
