"""What the launcher lays ready: folders, a copy of the sdk, a made-up /etc, and one place a start.

Started as root, the launcher keeps a mount namespace of its own in which interpreter, code and
broker socket lie at neutral paths that the sandbox's uid can reach, whatever home they are under.
Standard library only.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import os
import py_compile
import shutil
import stat
import sys

from harnesspro.sandbox import box, seccomp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

SANDBOX_UID = 65533
"""Who the judged is when the launcher is root: no account, and not the uid of unmapped files."""
DISK_BYTES, DISK_FILES = 256 << 20, 20_000
"""Bounds of /work and /tmp; root counts both, an ordinary user's /work has the file size only."""
NEW_MOUNTS, NEW_NET = 0x00020000, 0x40000000
NO_SUID, NO_DEV, BIND, RECURSIVE, SLAVE, DETACH = 2, 4, 4096, 16384, 1 << 19, 2
SET_IDS = {"x86_64": (117, 119), "aarch64": (147, 149)}
"""setresuid and setresgid as system calls, which change the calling thread alone."""

_libc = ctypes.CDLL(None, use_errno=True)


def call(name: str, *args: int | bytes | None) -> None:
    """A libc function that answers 0 or fails.

    Raises:
        OSError: it failed.
    """
    if getattr(_libc, name)(*(ctypes.c_long(a) if isinstance(a, int) else a for a in args)) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def mount(source: str, target: str, kind: str, *, flags: int, options: str = "") -> None:
    """As the system call of this name; `kind` is the file system."""
    try:
        call("mount", source.encode(), target.encode(), kind.encode(), flags, options.encode())
    except OSError as error:
        raise OSError(error.errno, f"{error.strerror} ({source} on {target})") from error


@contextlib.contextmanager
def this_thread_as(uid: int | None) -> Iterator[None]:
    """Real and effective ids of this one thread (the raw calls know no others) are `uid`; None
    changes nothing. Whose process it is decides over its limits where root lacks SYS_RESOURCE.
    """
    if uid is None:
        yield
        return
    for number in reversed(SET_IDS[os.uname().machine]):
        call("syscall", number, uid, uid, 0)
    try:
        yield
    finally:
        for number in SET_IDS[os.uname().machine]:
            call("syscall", number, 0, 0, 0)


class Ground:
    """The launcher's own folders, made once. `as_root` is whether the judged get another uid."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        """Prepare everything a start needs.

        Raises:
            OSError: a folder cannot be made, or root may not make a mount namespace.
            ValueError: no system call filter for this machine.
        """
        self.level: str = config["level"]
        self.broker: str = config["broker"]
        self.code_roots: list[str] = [os.path.realpath(root) for root in config["code_roots"]]
        self.python, self.prefix = os.path.realpath(sys.executable), sys.base_prefix
        self.python_source, self.bwrap = self.prefix, config["bwrap"]
        self.as_root = self.level == "S3" and os.geteuid() == 0
        self.base = os.path.join(config["work_root"], "launcher")
        os.makedirs(self.base, mode=0o711 if self.as_root else 0o700, exist_ok=True)
        self.numbers = itertools.count(1)
        if self.as_root:
            self._hide(config["bwrap_home"])
        self.judge, self.etc = os.path.join(self.base, "judge"), os.path.join(self.base, "etc")
        lay_sdk(config["sdk"], self.judge)
        self.keeper = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bare.py")
        if self.level == "S3":
            self.as_uid = SANDBOX_UID if self.as_root else None
            self.filter = seccomp.program(os.uname().machine)
            self.links, self.folders = system_folders()
            lay_etc(self.etc)

    def _hide(self, bwrap_home: str) -> None:
        call("unshare", NEW_MOUNTS | NEW_NET)
        mount("", "/", "", flags=RECURSIVE | SLAVE)
        mount("tmpfs", self.base, "tmpfs", flags=NO_SUID | NO_DEV, options="mode=0711")
        self.python_source = self._bind(self.prefix, "python")
        wheel = self._bind(bwrap_home, "bwrap")
        self.bwrap = os.path.join(wheel, os.path.relpath(self.bwrap, bwrap_home))

    def _bind(self, source: str, name: str) -> str:
        target = os.path.join(self.base, name)
        os.mkdir(target)
        mount(source, target, "", flags=BIND | RECURSIVE)
        return target

    def place(self) -> Place:
        """Room for one start; the caller clears it."""
        return Place(os.path.join(self.base, str(next(self.numbers))), as_root=self.as_root)

    def open_code(self, path: str) -> int:
        """A descriptor of the folder `path`, reached without links from a folder that is allowed.

        Raises:
            PermissionError: outside the allowed folders.
            OSError: no such folder, or a link on the way.
        """
        for root in self.code_roots:
            if path == root or path.startswith(root + "/"):
                return _walk(root, path[len(root) :])
        raise PermissionError(f"code outside the folders this launcher may show: {path}")


class Place:
    """One start's host side: `work` (the judged writes it) and, for root, neutral binds."""

    def __init__(self, folder: str, *, as_root: bool) -> None:
        """Make the folders empty; nothing is mounted or placed yet."""
        self.as_root, self.folder = as_root, folder
        self.work = os.path.join(folder, "work")
        os.makedirs(self.work, mode=0o700)
        self.mounts: list[str] = []
        if self.as_root:
            os.chmod(folder, 0o711)  # noqa: S103 - the judged pass through
            options = f"size={DISK_BYTES},nr_inodes={DISK_FILES},mode=0700"
            owner = f"uid={SANDBOX_UID},gid={SANDBOX_UID}"
            self._mount("tmpfs", self.work, "tmpfs", NO_SUID | NO_DEV, f"{options},{owner}")
        self.work_fd = os.open(self.work, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def _mount(self, source: str, target: str, kind: str, flags: int, options: str = "") -> None:
        mount(source, target, kind, flags=flags, options=options)
        self.mounts.append(target)

    def neutral(self, source: str, name: str, *, through: int | None = None) -> str:
        """Where the sandbox's uid finds `source`: the source itself unless the launcher is root.

        `through` is an open descriptor of it, so that what was checked is what is shown.
        """
        if not self.as_root:
            return source
        target = os.path.join(self.folder, name)
        if os.path.isdir(source):
            os.mkdir(target)
        else:
            os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644))
        real = source if through is None else f"/proc/self/fd/{through}"
        self._mount(real, target, "", BIND)
        return target

    def write(self, name: str, text: str) -> None:
        """Put a file under the work folder, owned by the judged.

        Raises:
            ValueError: a name that leads out of the folder.
            OSError: it cannot be written.
        """
        parts = name.split("/")
        if not all(parts) or {".", ".."} & set(parts) or "\0" in name:
            raise ValueError(f"files: {name!r} is no relative path below the work folder")
        for depth in range(1, len(parts)):
            folder = "/".join(parts[:depth])
            if not os.path.isdir(os.path.join(self.work, folder)):
                os.mkdir(folder, 0o755, dir_fd=self.work_fd)
                self._own(folder)
        flags = os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(name, flags, 0o644, dir_fd=self.work_fd), "w", encoding="utf-8") as file:
            file.write(text)
        self._own(name)

    def _own(self, name: str) -> None:
        if self.as_root:
            os.chown(name, SANDBOX_UID, SANDBOX_UID, dir_fd=self.work_fd)

    def collect(self, cap: int) -> bytes | None:
        """answer.json, if it is a plain file of at most `cap` bytes and no link; else None."""
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            fd = os.open("answer.json", flags, dir_fd=self.work_fd)
        except OSError:
            return None
        with open(fd, "rb") as file:
            info = os.fstat(fd)
            if not stat.S_ISREG(info.st_mode) or info.st_nlink != 1 or info.st_size > cap:
                return None
            data = file.read(cap + 1)
        return data if len(data) <= cap else None

    def clear(self) -> None:
        """Give everything back. What an ordinary user cannot remove stays until the run ends."""
        os.close(self.work_fd)
        for target in reversed(self.mounts):
            call("umount2", target.encode(), DETACH)
        try:
            shutil.rmtree(self.folder, ignore_errors=True)
        except RecursionError:  # a tree nested deeper than this interpreter descends
            return


def _walk(root: str, below: str) -> int:
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    fd = os.open(root, flags)
    for part in filter(None, below.split("/")):
        try:
            if part == "..":
                raise PermissionError(f"code: '..' below {root}")
            step = os.open(part, flags | os.O_NOFOLLOW, dir_fd=fd)
        finally:
            os.close(fd)
        fd = step
    return fd


def lay_sdk(sdk: str, judge: str) -> None:
    """The sdk alone as a package, compiled once so that no start pays for it."""
    package = os.path.join(judge, "harnesspro")
    os.makedirs(os.path.join(package, "__pycache__"), exist_ok=True)
    for name, source in (("__init__.py", None), ("sdk.py", sdk)):
        target = os.path.join(package, name)
        if source is None:
            with open(target, "w", encoding="utf-8"):
                pass
        else:
            shutil.copyfile(source, target)
        py_compile.compile(target, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)


def system_folders() -> tuple[dict[str, str], list[str]]:
    """Beside /usr: the links into it, with their targets, and the folders of their own."""
    links = {name: os.readlink(f"/{name}") for name in box.SYSTEM if os.path.islink(f"/{name}")}
    return links, [name for name in box.SYSTEM if name not in links and os.path.isdir(f"/{name}")]


def lay_etc(etc: str) -> None:
    """The few files under /etc that ordinary programs look for; nothing that tells of the host."""
    os.makedirs(etc, exist_ok=True)
    root = os.geteuid() == 0
    uid, gid = (SANDBOX_UID, SANDBOX_UID) if root else (os.geteuid(), os.getegid())
    texts = {
        "passwd": f"root:x:0:0::/:/bin/sh\njudged:x:{uid}:{gid}::/work:/bin/sh\n",
        "group": f"root:x:0:\njudged:x:{gid}:\n",
        "hosts": "127.0.0.1 localhost\n",
        "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
    }
    for name, text in texts.items():
        with open(os.path.join(etc, name), "w", encoding="utf-8") as file:
            file.write(text)
    if os.path.exists("/etc/ld.so.cache"):
        shutil.copyfile("/etc/ld.so.cache", os.path.join(etc, "ld.so.cache"))
    if os.path.isdir("/etc/alternatives"):
        copy_links("/etc/alternatives", os.path.join(etc, "alternatives"))


def copy_links(source: str, target: str) -> None:
    """Every symbolic link of one folder, as a link."""
    os.makedirs(target, exist_ok=True)
    for name in os.listdir(source):
        link = os.path.join(source, name)
        if os.path.islink(link):
            os.symlink(os.readlink(link), os.path.join(target, name))
