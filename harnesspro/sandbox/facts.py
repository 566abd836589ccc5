"""Runs inside a sandbox and writes what holds there: one true or false a promise.

Standard library only; `probes` places it, starts it and reads its answer. Where to knock, what to
read and whom to signal outside is in its environment.
"""

from __future__ import annotations

import ctypes
import json
import os
import socket

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

NETLINK, VSOCK = 16, 40
NEW_USER, TRACE_ME = 0x10000000, 0
GET_SECCOMP, GET_BOUND, GET_NO_NEW_PRIVS = 21, 23, 39
CAPABILITY_VERSION, N_CAPABILITIES = 0x20080522, 40

_libc = ctypes.CDLL(None)


def facts() -> dict[str, bool]:
    """Each promise of the level, tried rather than assumed."""
    no_new_privileges = _libc.prctl(GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1
    gold, other = os.environ["GOLD"], int(os.environ["OTHER"])
    return {
        "not_root": os.getuid() != 0,
        "no_capabilities": _capabilities() == bytes(24) and (_unbound() or no_new_privileges),
        "no_new_privileges": no_new_privileges,
        "filtered": _libc.prctl(GET_SECCOMP, 0, 0, 0, 0) == 2
        and _libc.ptrace(TRACE_ME, 0, 0, 0) != 0,
        "no_namespaces": _libc.unshare(NEW_USER) != 0,
        "no_network": not any(map(_works, (_dial, _shout, _whisper, _hail, _ask_kernel))),
        "no_doors": not _works(_knock),
        "no_environment": not any(map(_told, _processes())),
        "alone": len(_processes()) <= 3,
        "no_signals": not _works(lambda: os.kill(other, 0)),
        "read_only": not any(map(_writable, ("/", "/usr", os.environ["CODE"], "/etc", "/dev")))
        and not _works(lambda: open(os.environ["OPEN"], "r+b").close())
        and not _works(lambda: os.truncate(os.environ["OPEN"], 0)),
        "no_gold": not _works(lambda: open(gold, "rb").close()),
        "gold_absent": not os.path.lexists(gold),
    }


def _works(act: Callable[[], object]) -> bool:
    try:
        act()
    except OSError:
        return False
    return True


def _capabilities() -> bytes:
    head = ctypes.create_string_buffer(CAPABILITY_VERSION.to_bytes(4, "little") + bytes(4), 8)
    held = ctypes.create_string_buffer(24)
    return held.raw if _libc.capget(head, held) == 0 else b""


def _unbound() -> bool:
    return all(_libc.prctl(GET_BOUND, number, 0, 0, 0) != 1 for number in range(N_CAPABILITIES))


def _dial() -> None:
    with socket.socket(socket.AF_INET) as wire:
        wire.settimeout(2)
        wire.connect(("127.0.0.1", int(os.environ["TCP"])))


def _shout() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as wire:
        wire.connect(("192.0.2.1", 53))  # an address set aside for examples: a route, or none


def _whisper() -> None:
    with socket.socket(socket.AF_UNIX) as wire:
        wire.connect("\0" + os.environ["ABSTRACT"])


def _hail() -> None:
    socket.socket(VSOCK, socket.SOCK_STREAM).close()


def _ask_kernel() -> None:
    socket.socket(NETLINK, socket.SOCK_RAW).close()


def _knock() -> None:
    with socket.socket(socket.AF_UNIX) as wire:
        wire.connect(os.environ["NAMED"])


def _processes() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return []


def _told(pid: int) -> bool:
    """Whether another process tells its environment."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return bool(file.read()) and pid != os.getpid()
    except OSError:
        return False


def _writable(folder: str) -> bool:
    return _works(lambda: os.close(os.open(f"{folder}/probe", os.O_CREAT | os.O_WRONLY)))


if __name__ == "__main__":
    found = facts()
    with open("answer.json", "w", encoding="utf-8") as answer:
        json.dump(found, answer)
