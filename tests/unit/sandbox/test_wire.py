"""Messages between launcher and client arrive whole or are refused."""

import json
import socket
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harnesspro.sandbox import wire

JSON = st.dictionaries(st.text(max_size=9), st.none() | st.integers() | st.text(), max_size=3)


@given(st.lists(JSON, max_size=4))
@settings(max_examples=50, deadline=None)
def test_messages_arrive_in_order_and_unchanged(messages):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        for message in messages:
            wire.send(ours, message)
        ours.close()
        assert [wire.receive(theirs) for _ in messages] == messages
        assert wire.receive(theirs) is None


@pytest.mark.parametrize(
    "raw",
    [
        b"\0\0",
        struct.pack(">I", 10) + b"{}",
        struct.pack(">I", 10),
        struct.pack(">I", wire.MAX_BYTES + 1),
        struct.pack(">I", 2) + b"[]",
        struct.pack(">I", 2) + b"{{",
    ],
    ids=["cut head", "cut body", "no body", "too long", "no object", "no JSON"],
)
def test_what_is_no_message_is_garbled(raw: bytes):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(raw)
        ours.close()
        with pytest.raises(wire.Garbled):
            wire.receive(theirs)


def test_a_message_no_peer_would_accept_is_not_sent(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(wire, "MAX_BYTES", 10)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        with pytest.raises(ValueError, match="at most 10"):
            wire.send(ours, {"long": json.dumps("x" * 10)})
        ours.close()
        assert wire.receive(theirs) is None
