"""Messages over a stream socket: a length, then one JSON object. Standard library only."""

from __future__ import annotations

import json
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Mapping
    from typing import Any

HEAD = struct.Struct(">I")
MAX_BYTES = 64_000_000


class Garbled(Exception):
    """The peer sent something that is no message."""


def send(sock: socket.socket, message: Mapping[str, Any]) -> None:
    """Send one message whole; callers that share the socket bring their own lock.

    Raises:
        ValueError: the message is larger than a peer accepts.
        OSError: the peer is gone.
    """
    data = json.dumps(message).encode()
    if len(data) > MAX_BYTES:
        raise ValueError(f"a message of {len(data)} bytes; at most {MAX_BYTES} are accepted")
    sock.sendall(HEAD.pack(len(data)) + data)


def receive(sock: socket.socket) -> dict[str, Any] | None:
    """The next message, or None where the peer closed.

    Raises:
        Garbled: too long, cut short, or no JSON object.
        OSError: the connection broke.
    """
    head = _exactly(sock, HEAD.size)
    if not head:
        return None
    (length,) = HEAD.unpack(head)
    if length > MAX_BYTES:
        raise Garbled(f"a message of {length} bytes")
    try:
        message = json.loads(_exactly(sock, length))
    except ValueError as error:
        raise Garbled(str(error)) from error
    if not isinstance(message, dict):
        raise Garbled("a message that is no object")
    return message


def _exactly(sock: socket.socket, length: int) -> bytes:
    parts: list[bytes] = []
    missing = length
    while missing:
        part = sock.recv(min(missing, 1 << 20))
        if not part:
            if parts:
                raise Garbled("the peer closed in the middle of a message")
            return b""
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)
