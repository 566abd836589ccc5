"""S2r, S2 and S0: a start as an order to the process that forks keepers. Standard library only."""

from __future__ import annotations

import json
import os
import socket

from harnesspro.sandbox import box, jail
from harnesspro.sandbox.census import tasks_of
from harnesspro.sandbox.child import KeptChild, memory_file
from harnesspro.sandbox.kernel import BIND, NO_DEV, NO_EXEC, NO_SUID, READ_ONLY, REMOUNT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from harnesspro.sandbox.ground import Ground
    from harnesspro.sandbox.place import Place
    from harnesspro.sandbox.spec import Start

ROOM = 64
"""For what else the user starts meanwhile, where the kernel counts all processes of a user."""


def begin(ground: Ground, place: Place, start: Start) -> KeptChild:
    """Start it.

    Raises:
        OSError, ValueError: the spec asks for what it may not have, or nothing can be started.
    """
    code = ground.open_code(start.code_dir)
    try:
        build = _boxed if ground.level == "S2r" else _bare
        order = build(ground, place, start, code)
        order |= {"level": ground.level, "uid": place.uid, "filter": ground.filter.hex()}
        order["limits"] = start.limits() | _counted(ground, place, start)
        child = _sent(ground, order)
    finally:
        os.close(code)
    child.root = child.await_report("child-pid")
    child.await_report("began")
    return child


def _sent(ground: Ground, order: dict[str, Any]) -> KeptChild:
    pipes = out, err, status, stop = [os.pipe() for _ in range(4)]
    paper = memory_file(json.dumps(order).encode())
    theirs = (paper, out[1], err[1], status[1], stop[0])
    try:
        with ground.ordering:
            socket.send_fds(ground.keepers, [b"s"], theirs)
    except OSError:
        for pair in pipes:
            for fd in pair:
                os.close(fd)
        os.close(paper)
        raise
    for fd in theirs:
        os.close(fd)
    return KeptChild(out[0], err[0], status[0], stop=stop[1])


def _boxed(ground: Ground, place: Place, start: Start, code: int) -> dict[str, Any]:
    """With a root of its own, where everything lies where bubblewrap would show it."""
    options = f"size={start.disk_bytes},nr_inodes={start.n_files},mode=1777"
    mounts: list[tuple[str, str, str, int, str]] = [
        (place.work, box.WORK, "", BIND, ""),
        (place.neutral(start.code_dir, "code", through=code), box.CODE, "", BIND, ""),
        ("", box.CODE, "", BIND | REMOUNT | READ_ONLY | NO_SUID | NO_DEV, ""),
        *(("tmpfs", path, "tmpfs", NO_SUID | NO_DEV, options) for path in box.SCRATCH),
        ("proc", "/proc", "proc", NO_SUID | NO_DEV | NO_EXEC, "hidepid=2"),
    ]
    if start.broker:
        mounts.append((ground.broker, box.BROKER, "", BIND, ""))
    inner = start.argv or box.python_entry(
        ground.python, judge=box.JUDGE, work=box.WORK, code=box.CODE
    )
    box.variables(start.env)
    return {
        "argv": inner,
        "env": box.environment(box.WORK, ground.prefix, start.env),
        "cwd": box.WORK,
        "root": ground.root,
        "mounts": mounts,
        "broker": "",
        "read": ["/"],
        "write": [box.WORK, *box.SCRATCH, *box.DEVICES],
    }


def _bare(ground: Ground, place: Place, start: Start, _code: int) -> dict[str, Any]:
    """On the host's own paths: those of the sandbox are put right where they begin a word."""

    def real(text: str) -> str:
        for inside, outside in ((box.WORK, place.work), (box.CODE, start.code_dir)):
            if text == inside or text.startswith(inside + "/"):
                return outside + text[len(inside) :]
        return text

    inner = start.argv or box.python_entry(
        ground.python, judge=ground.judge, work=place.work, code=start.code_dir
    )
    values = {name: real(value) for name, value in start.env.items()}
    box.variables(values)
    return {
        "argv": [real(word) for word in inner],
        "env": box.environment(place.work, ground.prefix, values),
        "cwd": place.work,
        "broker": ground.broker if start.broker else "",
        "read": [*box.READABLE, ground.prefix, ground.judge, start.code_dir],
        "write": [place.work, *box.DEVICES],
    }


def _counted(ground: Ground, place: Place, start: Start) -> dict[str, int]:
    """The kernel's own bound of processes: exact for a uid no other start has."""
    if ground.level == "S0":
        return {}
    if place.uid is not None:
        return {"RLIMIT_NPROC": start.n_processes}
    return {"RLIMIT_NPROC": tasks_of(os.geteuid()) + start.n_processes + ROOM}


def broker_inside(ground: Ground) -> str:
    """How the code inside reaches the broker: a path, or the descriptor to ask over."""
    paths = {"S3": box.BROKER, "S2r": box.BROKER, "S2": f"fd:{jail.DOOR}"}
    return paths.get(ground.level, ground.broker)
