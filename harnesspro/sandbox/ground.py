"""What the launcher lays ready before the first start, by level.

Started as root, the launcher keeps a mount namespace of its own in which interpreter, code and
broker socket lie at neutral paths that the sandbox's uid can reach, whatever home they are under.
Standard library only.
"""

from __future__ import annotations

import errno
import functools
import itertools
import os
import socket
import sys
import threading

from harnesspro.sandbox import confine, keeper, seccomp
from harnesspro.sandbox.kernel import (
    NEW_MOUNTS,
    NEW_NET,
    NO_SUID,
    RECURSIVE,
    SLAVE,
    bind,
    call,
    mount,
    open_beneath,
)
from harnesspro.sandbox.lay import SANDBOX_UID, lay_etc, lay_root, lay_sdk, made, system_folders
from harnesspro.sandbox.place import Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from harnesspro.sandbox.spec import Start

UIDS = frozenset(range(SANDBOX_UID - 255, SANDBOX_UID))
"""One a start where the kernel counts processes by uid alone."""


class Ground:
    """The launcher's own folders, made once; at all levels but S3 also the process that keeps.

    `as_root` is whether the judged get another uid, `hidden` whether the launcher has mounts of its
    own.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        """Prepare everything a start needs; call it before the first thread.

        Raises:
            OSError: a folder cannot be made, or what the level is made of cannot be had.
            ValueError: no system call filter for this machine.
        """
        self.level: str = config["level"]
        self.broker: str = config["broker"]
        self.code_roots: list[str] = [os.path.realpath(root) for root in config["code_roots"]]
        self.python, self.prefix = os.path.realpath(sys.executable), sys.base_prefix
        self.python_source = self.prefix
        self.bwrap: str = config["bwrap"]
        self.as_root = self.level != "S0" and os.geteuid() == 0
        if self.level == "S2r" and not self.as_root:
            raise PermissionError(errno.EPERM, "only root can start it")
        self.hidden = self.as_root and self.level != "S2"
        self.base = os.path.join(config["work_root"], "launcher")
        os.makedirs(self.base, mode=0o711 if self.as_root else 0o700, exist_ok=True)
        self.numbers, self.lock = itertools.count(1), threading.Lock()
        self.uids = set(UIDS)
        self.filter = b""
        if self.as_root:
            os.setgroups([])
        if self.hidden:
            self._hide()
        self.root = os.path.join(self.base, "root")
        inside = self.root if self.level == "S2r" else self.base
        self.judge, self.etc = os.path.join(inside, "judge"), os.path.join(inside, "etc")
        if self.level == "S2r":
            mount("tmpfs", made(self.root), "tmpfs", flags=NO_SUID, options="mode=0755")
        lay_sdk(config["sdk"], self.judge)
        if self.level != "S0":
            self.filter = seccomp.program(os.uname().machine, shared=self.level == "S2")
        if self.level == "S3":
            self._stand_by(config["bwrap_home"])
        else:
            self._keep()

    def _hide(self) -> None:
        call("unshare", NEW_MOUNTS | NEW_NET)
        mount("", "/", "", flags=RECURSIVE | SLAVE)
        mount("tmpfs", self.base, "tmpfs", flags=NO_SUID, options="mode=0711")

    def _stand_by(self, bwrap_home: str) -> None:
        """S3: interpreter and bubblewrap where the judged can reach them, whatever home holds them."""
        self.as_uid = SANDBOX_UID if self.as_root else None
        self.links, self.folders = system_folders()
        lay_etc(self.etc)
        if self.as_root:
            self.python_source = self._shown(self.prefix, "python")
            wheel = self._shown(bwrap_home, "bwrap")
            self.bwrap = os.path.join(wheel, os.path.relpath(self.bwrap, bwrap_home))

    def _shown(self, source: str, name: str) -> str:
        target = made(os.path.join(self.base, name))
        bind(source, target, read_only=False)
        return target

    def _keep(self) -> None:
        """The other levels: what a start does to itself is done by a process without threads."""
        if confine.landlock_abi() < 1 and self.level != "S0":
            raise OSError(errno.ENOSYS, "this kernel has no Landlock (or it is off at boot)")
        if self.level == "S2r":
            lay_etc(self.etc)
            lay_root(self.root, self.prefix)
        self.ordering = threading.Lock()
        self.keepers, theirs = socket.socketpair()
        launcher = os.getpid()
        if os.fork() == 0:
            os.closerange(3, theirs.fileno())
            os.closerange(theirs.fileno() + 1, 1 << 20)
            keeper.tend(theirs, launcher)
        theirs.close()

    def place(self, start: Start) -> Place:
        """Room for one start; the caller clears it."""
        folder = os.path.join(self.base, str(next(self.numbers)))
        if not self.as_root:
            return Place(folder, start, level=self.level, uid=None)
        uid, free = SANDBOX_UID, lambda: None
        if self.level != "S3":  # S3 counts processes apart by itself
            with self.lock:
                uid = self.uids.pop()
            free = functools.partial(self.uids.add, uid)
        return Place(folder, start, level=self.level, uid=uid, free=free)

    def open_code(self, path: str) -> int:
        """A descriptor of the folder `path`, reached without links from a folder that is allowed.

        Raises:
            PermissionError: outside the allowed folders.
            OSError: no such folder, or a link on the way.
        """
        for root in self.code_roots:
            if path == root or path.startswith(root + "/"):
                top = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
                try:
                    return self._readable(_below(top, path[len(root) :].strip("/")), path)
                finally:
                    os.close(top)
        raise PermissionError(f"code outside the folders this launcher may show: {path}")

    def _readable(self, code: int, path: str) -> int:
        if self.as_root and os.fstat(code).st_mode & 0o005 != 0o005:
            os.close(code)
            raise PermissionError(f"{path} must be readable to other users")
        return code


def _below(top: int, path: str) -> int:
    if ".." in path.split("/"):
        raise PermissionError(f"code: '..' in {path}")
    return open_beneath(top, path or ".", os.O_RDONLY | os.O_DIRECTORY)
