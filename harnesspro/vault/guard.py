"""What the grader's process gives up before it opens the vault, and whose the vault is.

As root it becomes a user of its own: the vault then belongs to that user alone, and the search,
even as uid 0, holds no capability to pass by that. It keeps one: to read what it scans.
"""

from __future__ import annotations

import ctypes
import os
import resource
import stat
import struct
from pathlib import Path

GRADER_UID = 65532
"""Who the grader is when the program is started by root: no account, and not the sandbox's uid."""
_DUMPABLE, _KEEP_CAPABILITIES, _DROP_BOUND, _NO_NEW_PRIVILEGES = 4, 8, 24, 38
_READ_ANYTHING, _LAST_CAPABILITY = 2, 63
_CAPABILITY_VERSION = 0x20080522

_libc = ctypes.CDLL(None, use_errno=True)


def harden() -> None:
    """No core dumps, no ptrace, no reading of this process through /proc by the same user."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _prctl(_DUMPABLE, 0)


def become(uid: int) -> None:
    """Be this user for good, from root, with the one capability to read any file.

    Single-threaded only. Raises:
        OSError: the kernel refused a step; the process should end.
    """
    for number in range(_LAST_CAPABILITY + 1):
        _libc.prctl(_DROP_BOUND, number, 0, 0, 0)  # beyond the kernel's last one it is refused
    _prctl(_KEEP_CAPABILITIES, 1)
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    _prctl(_NO_NEW_PRIVILEGES, 1)
    head, kept = struct.pack("=Ii", _CAPABILITY_VERSION, 0), 1 << _READ_ANYTHING
    if _libc.capset(head, struct.pack("=6I", kept, kept, 0, 0, 0, 0)) != 0:
        raise OSError(ctypes.get_errno(), "capset")


def owner_for(vault: Path) -> int | None:
    """The user other than this one to whom a task set's vault belongs, or None.

    For root it is made so: what belongs to root is given to `GRADER_UID`, what belongs to somebody
    else is left theirs. Whatever stands in the way of it, the vault stays as it was.
    """
    if os.geteuid() != 0:
        return None
    try:
        owner = vault.stat().st_uid
        if owner not in (0, GRADER_UID):
            return owner
        _give(vault, GRADER_UID)
    except OSError:
        return None
    return GRADER_UID


def _give(folder: Path, uid: int) -> None:
    """A vault's folder is flat; links in it are nobody's business here."""
    for path in folder.iterdir():
        if stat.S_ISREG(path.lstat().st_mode):
            os.chown(path, uid, uid, follow_symlinks=False)
            path.chmod(0o600, follow_symlinks=True)
    os.chown(folder, uid, uid)
    folder.chmod(0o700)


def _prctl(option: int, value: int) -> None:
    if _libc.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl({option})")
