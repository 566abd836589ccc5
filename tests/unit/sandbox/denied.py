"""Runs a command on a kernel that knows less: `denied.py namespaces,landlock COMMAND...`."""

import errno
import os
import struct
import sys

from harnesspro.sandbox import confine, kernel, seccomp

NO_LANDLOCK = (
    (seccomp.LOAD, 0, 0, seccomp.NUMBER),
    (seccomp.EQUAL, 0, 1, confine.CREATE_RULESET),
    (seccomp.RETURN, 0, 0, seccomp.FAIL | errno.ENOSYS),
    (seccomp.RETURN, 0, 0, seccomp.ALLOW),
)


def deny(names: list[str]) -> None:
    """For this process and all that it starts."""
    kernel.prctl(kernel.NO_NEW_PRIVS, 1)
    if "landlock" in names:
        kernel.filter_calls(b"".join(struct.pack("=HBBI", *line) for line in NO_LANDLOCK))
    if "namespaces" in names:
        kernel.filter_calls(seccomp.program(os.uname().machine))


if __name__ == "__main__":
    deny(sys.argv[1].split(","))
    os.execvp(sys.argv[2], sys.argv[2:])
