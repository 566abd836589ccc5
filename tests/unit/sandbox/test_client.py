"""The client alone, its launcher played by a thread."""

import base64
import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from harnesspro.core.errors import HarnessProError
from harnesspro.core.ports import SandboxResult, SandboxSpec
from harnesspro.sandbox import wire
from harnesspro.sandbox.client import SandboxClient


def spec(name: str) -> SandboxSpec:
    return SandboxSpec(name=name, code_dir="/c", argv=("true",), payload="{}")


def result(name: str) -> dict[str, Any]:
    data = base64.b64encode(name.encode()).decode()
    return {"ended": "exited", "exit_code": 0, "result": data, "stderr": "e", "wall_s": 0.5}


def playing(serve: Callable[[socket.socket], object]) -> tuple[SandboxClient, threading.Thread]:
    """A client and the thread that plays its launcher."""
    ours, theirs = socket.socketpair()

    def play() -> None:
        with theirs:
            serve(theirs)

    thread = threading.Thread(target=play)
    thread.start()
    return SandboxClient(ours, "S3"), thread


def test_each_caller_gets_its_own_result_whatever_the_order():
    def backwards(sock: socket.socket) -> None:
        asked = [wire.receive(sock) or {} for _ in range(8)]
        for message in reversed(asked):
            wire.send(sock, {"id": message["id"], "result": result(message["spec"]["name"])})

    client, thread = playing(backwards)
    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(client.run, map(spec, "abcdefgh")))
    client.close()
    thread.join()
    assert done == [
        SandboxResult(ended="exited", exit_code=0, result=each.encode(), stderr="e", wall_s=0.5)
        for each in "abcdefgh"
    ]


@pytest.mark.parametrize("last_words", [b"", b"\0\0", b"\0\0\0\2[]"], ids=["none", "cut", "junk"])
def test_a_launcher_that_ends_ends_every_wait(last_words: bytes):
    def dies(sock: socket.socket) -> None:
        for _ in range(3):
            wire.receive(sock)
        sock.sendall(last_words)

    client, thread = playing(dies)
    with ThreadPoolExecutor(3) as pool:
        waiting = [pool.submit(client.run, spec("a")) for _ in range(3)]
        errors = [each.exception(10) for each in waiting]
    thread.join()
    assert [type(error) for error in errors] == [HarnessProError] * 3
    with pytest.raises(HarnessProError, match="sandbox launcher: no longer there"):
        client.run(spec("late"))
    client.close()


def test_a_closed_client_starts_nothing():
    client, thread = playing(lambda sock: bool(wire.receive(sock)))
    client.close()
    thread.join()
    with pytest.raises(HarnessProError, match="the connection was closed"):
        client.run(spec("a"))


def test_an_inherited_descriptor_makes_a_client():
    ours, theirs = socket.socketpair()
    client = SandboxClient.from_fd(ours.detach(), "S0")
    with theirs, ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(client.run, spec("a"))
        message = wire.receive(theirs) or {}
        wire.send(theirs, {"id": message["id"], "result": result("a")})
        assert waiting.result(10).result == b"a"
        client.close()
    assert client.level == "S0"
