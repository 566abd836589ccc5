"""Becomes an ordinary user, for whom interpreter and sources lie where they are: `ordinary.py CMD`.

As root it first lays them open in a mount namespace of its own, since they may be below a closed
home. As an ordinary user it just runs the command.
"""

import os
import sys
from pathlib import Path

from harnesspro.sandbox.kernel import BIND, NEW_MOUNTS, RECURSIVE, SLAVE, call, mount

UID = 23456
NEEDED = {
    os.path.realpath(path) for path in (sys.base_prefix, sys.prefix, Path(__file__).parents[3])
}


def closed_ancestor(path: str) -> str | None:
    """The outermost folder on the way that other users cannot pass."""
    on_the_way = [*reversed(Path(path).parents), Path(path)]
    return next((str(at) for at in on_the_way if not at.stat().st_mode & 0o001), None)


def lay_open() -> None:
    """Put an open folder over each closed one, with only what is needed in it."""
    closed = {path: closed_ancestor(path) for path in NEEDED}
    held = {path: os.open(path, os.O_RDONLY) for path, at in closed.items() if at is not None}
    for at in {at for at in closed.values() if at is not None}:
        mount("tmpfs", at, "tmpfs", flags=0, options="mode=0755")
    for path, fd in held.items():
        os.makedirs(path, exist_ok=True)
        mount(f"/proc/self/fd/{fd}", path, "", flags=BIND | RECURSIVE)


def main(command: list[str]) -> None:
    """Never returns."""
    if os.geteuid() == 0:
        call("unshare", NEW_MOUNTS)
        mount("", "/", "", flags=RECURSIVE | SLAVE)
        lay_open()
        os.setgroups([])
        os.setresgid(UID, UID, UID)
        os.setresuid(UID, UID, UID)
    os.execv(command[0], command)


if __name__ == "__main__":
    main(sys.argv[1:])
