"""What a start without bubblewrap does to itself before it becomes the command it was ordered to be.

The order of the steps is the point: what needs a right comes before the right is given up.
Standard library only.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import resource
import signal
import socket
import struct

from harnesspro.sandbox import confine, kernel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, NoReturn

MISSING_COMMAND, FAILED = 127, 126
DOOR = 3
"""The descriptor over which connections to the broker are asked for where no socket can be made."""
ABOVE = 64
GET_FLAGS, SET_FLAGS, UP = 0x8913, 0x8914, 1
RESTORED = ("SIGPIPE", "SIGXFSZ", "SIGINT", "SIGTERM", "SIGCHLD")


def tell(status: int, name: str, value: object) -> None:
    """One line of a few bytes, whole or not at all."""
    os.write(status, json.dumps({name: value})[:2000].encode() + b"\n")


def enter(
    order: Mapping[str, Any],
    streams: tuple[int, int],
    status: int,
    *,
    door: int | None,
) -> NoReturn:
    """Close oneself in as ordered and run the command; a step that fails is told, nothing is run."""
    try:
        if order["level"] == "S2r":
            _stand_alone(order, (*streams, status))
        _become(order, streams, status, door=door)
    except (OSError, ValueError, KeyError, TypeError) as error:
        tell(status, "failed", f"{error}")
    finally:
        os._exit(FAILED)


def _stand_alone(order: Mapping[str, Any], held: tuple[int, ...]) -> None:
    """As first process of the namespaces: mount, then wait for a child, which alone returns."""
    kernel.prctl(kernel.PARENT_DEATH_SIGNAL, signal.SIGKILL)
    os.setsid()
    root = order["root"]
    for source, target, kind, flags, options in order["mounts"]:
        kernel.mount(source, root + target, kind, flags=flags, options=options)
    _loopback()
    socket.sethostname("sandbox")
    kernel.become_root_of(root)
    pid = os.fork()
    if pid == 0:
        return
    for fd in held:
        os.close(fd)
    confine.drop_capabilities()
    while (ended := os.waitpid(-1, 0))[0] != pid:
        pass
    exit_code = os.waitstatus_to_exitcode(ended[1])
    os._exit(exit_code if exit_code >= 0 else 128 - exit_code)


def _loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as wire:
        asked = struct.pack("16sh14x", b"lo", 0)
        (flags,) = struct.unpack_from("h", fcntl.ioctl(wire, GET_FLAGS, asked), 16)
        fcntl.ioctl(wire, SET_FLAGS, struct.pack("16sh14x", b"lo", flags | UP))


def _become(
    order: Mapping[str, Any], streams: tuple[int, int], status: int, *, door: int | None
) -> NoReturn:
    if order["level"] != "S2r":
        os.setsid()
    for name in RESTORED:
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")
    rules = bytes.fromhex(order["filter"])
    if order["level"] != "S0":
        confine.drop_bounding()
    if order["uid"] is not None:
        os.setgroups([])
        os.setresgid(*[order["uid"]] * 3)
        os.setresuid(*[order["uid"]] * 3)
    kernel.prctl(kernel.PARENT_DEATH_SIGNAL, signal.SIGKILL)  # a change of user has cleared it
    os.chdir(order["cwd"])
    _arrange((os.open(os.devnull, os.O_RDONLY), *streams), door)
    if order["level"] != "S0":
        confine.drop_capabilities()
        kernel.prctl(kernel.NO_NEW_PRIVS, 1)
        alone = order["level"] == "S2r"
        confine.landlock(read=order["read"], write=order["write"], tcp=not alone)
        kernel.filter_calls(rules)
    for name, bound in order["limits"].items():
        _limit(getattr(resource, name), bound)
    tell(status, "began", 1)
    os.closerange(DOOR if door is None else DOOR + 1, 1 << 20)
    _execute(order["argv"], order["env"])


def _limit(kind: int, bound: int) -> None:
    """Both limits of one kind, never above what this process has now."""
    hard = resource.getrlimit(kind)[1]
    least = bound if hard == resource.RLIM_INFINITY else min(bound, hard)
    resource.setrlimit(kind, (least, least))


def _arrange(streams: tuple[int, int, int], door: int | None) -> None:
    """Streams at 0 to 2, the door at 3; all are first moved out of the way of each other."""
    wanted = [*streams, *(() if door is None else (door,))]
    for target, fd in enumerate([lifted(fd) for fd in wanted]):
        os.dup2(fd, target)


def lifted(fd: int) -> int:
    """A copy that is out of the way of the first few."""
    return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, ABOVE)


def _execute(argv: list[str], env: Mapping[str, str]) -> NoReturn:
    try:
        os.execvpe(argv[0], argv, env)  # noqa: S606 - the command is the point
    except OSError as error:
        reason = os.strerror(error.errno or errno.ENOENT)
        os.write(2, f"{argv[0]}: {reason}\n".encode())
        os._exit(MISSING_COMMAND)
