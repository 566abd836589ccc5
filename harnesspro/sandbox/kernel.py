"""What the kernel offers and Python does not: mounts, namespaces, ids of one thread, openat2.

Standard library only; every call fails as an OSError that says what was tried.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import struct
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

NEW_MOUNTS, NEW_CGROUP, NEW_UTS, NEW_IPC = 0x00020000, 0x02000000, 0x04000000, 0x08000000
NEW_USER, NEW_PIDS, NEW_NET = 0x10000000, 0x20000000, 0x40000000
READ_ONLY, NO_SUID, NO_DEV, NO_EXEC, REMOUNT = 1, 2, 4, 8, 32
BIND, RECURSIVE, SLAVE, DETACH = 4096, 16384, 1 << 19, 2
PARENT_DEATH_SIGNAL, DUMPABLE, CHILD_SUBREAPER, NO_NEW_PRIVS, SECCOMP = 1, 4, 36, 38, 22
FILTER = 2
OPENAT2 = 437
NO_MAGIC_LINKS, NO_SYMLINKS, BENEATH = 2, 4, 8
SET_IDS = {"x86_64": (117, 119), "aarch64": (147, 149)}
"""setresuid and setresgid as system calls, which change the calling thread alone."""
PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}

_libc = ctypes.CDLL(None, use_errno=True)


def call(name: str, *args: int | bytes | None) -> int:
    """A libc function that answers below 0 where it fails.

    Raises:
        OSError: it failed.
    """
    words = (ctypes.c_long(word) if isinstance(word, int) else word for word in args)
    answer = int(getattr(_libc, name)(*words))
    if answer < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
    return answer


def prctl(option: int, value: int) -> None:
    """As the system call of this name; nothing where there is none."""
    if sys.platform == "linux":
        call("prctl", option, value, 0, 0, 0)


def mount(source: str, target: str, kind: str, *, flags: int, options: str = "") -> None:
    """As the system call of this name; `kind` is the file system."""
    try:
        call("mount", source.encode(), target.encode(), kind.encode(), flags, options.encode())
    except OSError as error:
        raise OSError(error.errno, f"{error.strerror} ({source} on {target})") from error


def bind(source: str, target: str, *, read_only: bool) -> None:
    """Show a folder or file at a second place, without set-user-id programs and devices."""
    mount(source, target, "", flags=BIND | RECURSIVE)
    if read_only:
        mount("", target, "", flags=BIND | REMOUNT | READ_ONLY | NO_SUID | NO_DEV)


def become_root_of(folder: str) -> None:
    """Make a mounted folder the root of this mount namespace; the old root is gone."""
    os.chdir(folder)
    call("syscall", PIVOT_ROOT[os.uname().machine], b".", b".")
    call("umount2", b".", DETACH)
    os.chdir("/")


def filter_calls(program: bytes) -> None:
    """Install a seccomp program for this thread and all it starts; it needs NO_NEW_PRIVS."""
    lines = ctypes.create_string_buffer(program, len(program))
    head = struct.pack("HP", len(program) // 8, ctypes.addressof(lines))
    call("prctl", SECCOMP, FILTER, head, 0, 0)


def open_beneath(folder: int, path: str, flags: int, mode: int = 0) -> int:
    """Open `path` below the open `folder`: no link on the way, no way out, not even by a race.

    Raises:
        OSError: it leads out (EXDEV), over a link (ELOOP), or cannot be opened.
    """
    flags |= os.O_CLOEXEC
    how = struct.pack("=3Q", flags, mode, BENEATH | NO_SYMLINKS | NO_MAGIC_LINKS)
    if sys.platform == "linux":
        with contextlib.suppress(Absent):
            return _openat2(folder, os.fsencode(path), how)
    return open_by_steps(folder, path, flags, mode=mode)


class Absent(OSError):
    """This kernel has no such call."""


def _openat2(folder: int, path: bytes, how: bytes) -> int:
    try:
        return call("syscall", OPENAT2, folder, path, how, len(how))
    except OSError as error:
        raise (Absent if error.errno == errno.ENOSYS else OSError)(*error.args) from error


def open_by_steps(folder: int, path: str, flags: int, *, mode: int) -> int:
    """The same where the kernel has no call for it: each part is opened below the one before."""
    *way, name = path.split("/")
    if {"..", ""} & {*way, name}:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), path)
    at = os.dup(folder)
    try:
        for part in way:
            below = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=at)
            os.close(at)
            at = below
        return os.open(name, flags | os.O_NOFOLLOW, mode, dir_fd=at)
    finally:
        os.close(at)


@contextlib.contextmanager
def this_thread_as(uid: int | None) -> Iterator[None]:
    """Real and effective ids of this one thread (the raw calls know no others) are `uid`; None
    changes nothing. What it starts meanwhile is that user's for good; whose process it is decides
    over its limits where root lacks SYS_RESOURCE.
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
