"""Gives up this process's own access for good, then becomes another program.

`python -I -S confine.py --read P ... --write P ... -- COMMAND...`: capabilities dropped, Landlock
over the file system (only these paths), TCP denied, signals and abstract sockets kept inside where
the kernel knows how. Standard library only; run it single-threaded, Landlock holds per thread.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

UNAVAILABLE = 71
"""The exit code where the kernel has no Landlock: nothing was started, nothing was given up."""
USAGE, MISSING_COMMAND = 2, 127

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
ASK_VERSION, PATH_BENEATH = 1, 1
NO_NEW_PRIVS, DROP_BOUND, AMBIENT, CLEAR_ALL = 38, 24, 47, 4
CAPABILITY_VERSION, LAST_CAPABILITY = 0x20080522, 63

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
FIRST_RIGHTS = (1 << 13) - 1
REFER, TRUNCATE, DEVICE_CONTROL = 1 << 13, 1 << 14, 1 << 15
READING = EXECUTE | READ_FILE | READ_DIR
ON_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | DEVICE_CONTROL
TCP = 0b11
SCOPES = 0b11

_libc = ctypes.CDLL(None, use_errno=True)


def landlock_abi() -> int:
    """The version of Landlock this kernel speaks; 0 where there is none."""
    if sys.platform != "linux":
        return 0
    return max(0, int(_libc.syscall(CREATE_RULESET, None, 0, ASK_VERSION)))


def rights(abi: int) -> int:
    """Every file system right that Landlock of this version can take away."""
    known = FIRST_RIGHTS
    for since, right in ((2, REFER), (3, TRUNCATE), (5, DEVICE_CONTROL)):
        if abi >= since:
            known |= right
    return known


def ruleset(abi: int, *, tcp: bool = True) -> bytes:
    """What to take away: file system rights, from 4 on TCP, from 6 on what leaves the domain."""
    fields = [rights(abi)]
    if abi >= 4:
        fields.append(TCP if tcp else 0)
    if abi >= 6:
        fields.append(SCOPES)
    return struct.pack(f"={len(fields)}Q", *fields)


def confine(*, read: Sequence[str], write: Sequence[str]) -> None:
    """Keep reading and executing below `read`, everything below `write`, nothing else.

    Paths that do not exist grant nothing. It cannot be undone and children inherit it. Connecting
    to UNIX sockets by path stays possible.

    Raises:
        OSError: a step failed; the process may be half confined and should end.
    """
    drop_capabilities()
    _call(_libc.prctl(NO_NEW_PRIVS, 1, 0, 0, 0))
    landlock(read=read, write=write)


def landlock(*, read: Sequence[str], write: Sequence[str], tcp: bool = True) -> None:
    """The Landlock part of it alone; `tcp` is whether TCP is denied too. It needs NO_NEW_PRIVS.

    Raises:
        OSError: the kernel refused, or has no Landlock.
    """
    abi = landlock_abi()
    attributes = ruleset(abi, tcp=tcp)
    rules = _call(_libc.syscall(CREATE_RULESET, attributes, len(attributes), 0))
    for paths, granted in ((read, READING), (write, rights(abi))):
        for path in paths:
            _grant(rules, path, granted & rights(abi))
    _call(_libc.syscall(RESTRICT_SELF, rules, 0))
    os.close(rules)


def drop_capabilities() -> None:
    """None effective, permitted, inheritable or to be had by executing anything.

    Raises:
        OSError: the kernel refused.
    """
    drop_bounding()
    _libc.prctl(AMBIENT, CLEAR_ALL, 0, 0, 0)
    head, none = struct.pack("=Ii", CAPABILITY_VERSION, 0), bytes(24)
    _call(_libc.capset(head, none))


def drop_bounding() -> None:
    """No program executed from here on can gain a capability; a change of user stays possible."""
    for number in range(LAST_CAPABILITY + 1):
        _libc.prctl(DROP_BOUND, number, 0, 0, 0)  # without SETPCAP refused, and then not needed


def _grant(rules: int, path: str, granted: int) -> None:
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(fd).st_mode):
            granted &= ON_FILES
        rule = struct.pack("=Qi", granted, fd)
        _call(_libc.syscall(ADD_RULE, rules, PATH_BENEATH, rule, 0))
    finally:
        os.close(fd)


def _call(answer: int) -> int:
    if answer < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return answer


def parse(arguments: Sequence[str]) -> tuple[list[str], list[str], list[str]]:
    """Paths to read, paths to write, and the command.

    Raises:
        ValueError: not of the form this program takes.
    """
    paths: dict[str, list[str]] = {"--read": [], "--write": []}
    words = iter(arguments)
    for word in words:
        if word == "--":
            command = list(words)
            if command:
                return paths["--read"], paths["--write"], command
            break
        if word not in paths:
            raise ValueError(f"{word!r} is neither --read, --write nor --")
        paths[word].append(next(words, ""))
    raise ValueError("no command after --")


def main(arguments: Sequence[str]) -> int:
    """Confine, then become the command; returns only when that fails."""
    try:
        read, write, command = parse(arguments)
    except ValueError as error:
        return _fail(USAGE, f"{error}")
    if landlock_abi() < 1:
        return _fail(UNAVAILABLE, "this kernel has no Landlock (or it is off at boot)")
    try:
        confine(read=read, write=write)
    except OSError as error:
        return _fail(UNAVAILABLE, f"Landlock: {error}")
    try:
        os.execvp(command[0], command)  # noqa: S606 - the command is the point
    except OSError as error:
        return _fail(MISSING_COMMAND, f"{command[0]}: {error}")


def _fail(code: int, message: str) -> int:
    print(f"confine: {message}", file=sys.stderr)  # noqa: T201 - a program of its own
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
