"""Attacks over sockets: there is one door, the broker's, and only where it was asked for."""

import socket

from tests.unit.sandbox.boxes import Box

FAMILIES = """
import socket
names = {16: "netlink", 17: "packet", 29: "can", 31: "bluetooth", 38: "alg", 40: "vsock", 44: "xdp"}
codes = []
for family, name in names.items():
    try:
        socket.socket(family, socket.SOCK_DGRAM).close()
        codes.append(name)
    except OSError as error:
        codes.append(str(error.errno))
open("answer.json", "w").write(" ".join(codes))
"""


def test_case_39_address_families_that_no_namespace_holds(s3: Box, s0: Box):
    assert s3.python(FAMILIES).result == b"97 97 97 97 97 97 97"
    assert b"netlink" in (s0.python(FAMILIES).result or b"")


CALL_HOME = """
import os, socket
reached = []
for kind, name in ((socket.SOCK_STREAM, "tcp"), (socket.SOCK_DGRAM, "udp")):
    try:
        with socket.socket(socket.AF_INET, kind) as wire:
            wire.connect(("127.0.0.1", int(os.environ[name])))
            wire.send(b"gold")
            reached.append(name)
    except OSError as error:
        pass
try:
    with socket.socket(socket.AF_UNIX) as wire:
        wire.connect("\\0" + os.environ["abstract"])
        reached.append("abstract")
except OSError as error:
    pass
try:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as wire:
        wire.sendto(b"query", ("192.0.2.1", 53))
        reached.append("dns")
except OSError as error:
    reached.append(str(error.errno))
open("answer.json", "w").write(" ".join(reached))
"""


def call_home(box: Box) -> tuple[bytes | None, bytes | None]:
    """What the code inside says it reached, and what the host's UDP listener really got."""
    with (
        socket.socket(socket.AF_INET, socket.SOCK_STREAM) as tcp,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp,
        socket.socket(socket.AF_UNIX) as abstract,
    ):
        for listener in (tcp, udp):
            listener.bind(("127.0.0.1", 0))
        abstract.bind(f"\0{box.folder.name}")
        tcp.listen()
        abstract.listen()
        udp.setblocking(False)
        env = {"tcp": str(tcp.getsockname()[1]), "udp": str(udp.getsockname()[1])}
        said = box.python(CALL_HOME, env={**env, "abstract": box.folder.name}).result
        try:
            got = udp.recv(10)
        except BlockingIOError:
            got = None
    return said, got


def test_case_39_tcp_udp_and_abstract_sockets_of_the_host(s3: Box, s0: Box):
    said, got = call_home(s3)
    assert (said, got) == (b"udp 101", None)  # sent into its own empty network; no route beyond
    said, got = call_home(s0)
    assert got == b"gold"
    assert (said or b"").split()[:3] == [b"tcp", b"udp", b"abstract"]


KNOCK = """
import socket
with socket.socket(socket.AF_UNIX) as wire:
    wire.connect("/run/broker.sock")
open("answer.json", "w").write("open")
"""


def test_the_brokers_socket_is_there_only_where_it_was_asked_for(s3: Box):
    assert s3.python(KNOCK, broker=True).result == b"open"
    assert s3.python(KNOCK, broker=False).result is None


def test_the_brokers_socket_cannot_be_replaced(s3: Box):
    done = s3.sh("rm -f /run/broker.sock; mv /run /gone; ls /run > answer.json", broker=True)
    assert done.result == b"broker.sock\n"
