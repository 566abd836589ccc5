"""Runs inside a sandbox and writes what holds there: one true or false a promise.

Standard library only; `probes` places it, starts it and reads its answer.
"""

from __future__ import annotations

import ctypes
import json
import os
import socket

AF_VSOCK, NEW_USER, TRACE_ME = 40, 0x10000000, 0


def facts() -> dict[str, bool]:
    """Each promise of the level, tried rather than assumed."""
    status = _status()
    return {
        "not_root": os.getuid() != 0,
        "no_capabilities": not any(int(status[key], 16) for key in ("CapEff", "CapPrm", "CapBnd")),
        "no_new_privileges": status["NoNewPrivs"] == "1",
        "filtered": status["Seccomp"] == "2" and _fails("ptrace", TRACE_ME, 0, 0, 0),
        "no_namespaces": _fails("unshare", NEW_USER),
        "no_network": _interfaces() == ["lo"] and not _vsock(),
        "no_environment": _read("/proc/1/environ") == "",
        "alone": sum(name.isdigit() for name in os.listdir("/proc")) <= 3,
        "read_only": not any(map(_writable, ("/", "/usr", "/harness", "/judge", "/etc", "/dev"))),
    }


def _status() -> dict[str, str]:
    lines = _read("/proc/self/status").splitlines()
    return {key: value.strip() for key, _, value in (line.partition(":") for line in lines)}


def _read(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


def _fails(name: str, *arguments: int) -> bool:
    return int(getattr(ctypes.CDLL(None), name)(*arguments)) != 0


def _interfaces() -> list[str]:
    lines = _read("/proc/net/dev").splitlines()[2:]
    return [line.partition(":")[0].strip() for line in lines]


def _vsock() -> bool:
    try:
        socket.socket(AF_VSOCK, socket.SOCK_STREAM).close()
    except OSError:
        return False
    return True


def _writable(folder: str) -> bool:
    try:
        os.close(os.open(f"{folder}/probe", os.O_CREAT | os.O_WRONLY))
    except OSError:
        return False
    return True


if __name__ == "__main__":
    found = facts()
    with open("answer.json", "w", encoding="utf-8") as answer:
        json.dump(found, answer)
