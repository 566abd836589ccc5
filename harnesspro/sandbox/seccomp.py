"""The system calls sandboxed code may not make, as a BPF program.

A deny-list over a sandbox that already has no capabilities and no namespaces to make: it closes
what namespaces leave open (vsock and netlink sockets, ptrace, keyrings, io_uring, bpf). clone3
answers "not implemented" because its flags lie behind a pointer; libc then falls back to clone,
whose flags can be read. A start without namespaces of its own is denied more.
"""

from __future__ import annotations

import errno
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

ARCHES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

# name -> numbers in the order of ARCHES; None where the machine has no such call
DENIED: dict[str, tuple[int | None, int | None]] = {
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "fanotify_init": (300, 262),
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "acct": (163, 89),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "reboot": (169, 142),
    "syslog": (103, 116),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "move_pages": (279, 239),
    "migrate_pages": (256, 238),
    "modify_ldt": (154, None),
    "iopl": (172, None),
    "ioperm": (173, None),
}
UNKNOWN = {
    "clone3": (435, 435),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
}
# What reaches other processes of the same user where no namespace lies between.
SHARED: dict[str, tuple[int | None, int | None]] = {
    "connect": (42, 203),  # Landlock does not rule UNIX sockets with a name: the user's own bus
    "shmget": (29, 194),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "semget": (64, 190),
    "semop": (65, 193),
    "semctl": (66, 191),
    "semtimedop": (220, 192),
    "msgget": (68, 186),
    "msgsnd": (69, 189),
    "msgrcv": (70, 188),
    "msgctl": (71, 187),
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
    "chown": (92, None),
    "fchown": (93, 55),
    "lchown": (94, None),
    "fchownat": (260, 54),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "fremovexattr": (199, 16),
    "setxattrat": (463, 463),
    "removexattrat": (466, 466),
}
# Landlock rules neither, so they do nothing and say they did: copying a file goes on working.
PRETENDED: dict[str, tuple[int | None, int | None]] = {
    "chmod": (90, None),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "utime": (132, None),
    "utimes": (235, None),
    "futimesat": (261, None),
    "utimensat": (280, 88),
}
# name -> numbers, and which argument must be 0, which is oneself
ONESELF: dict[str, tuple[tuple[int, int], int]] = {
    "prlimit64": ((302, 261), 0),
    "sched_setaffinity": ((203, 122), 0),
    "sched_setscheduler": ((144, 119), 0),
    "sched_setparam": ((142, 118), 0),
    "sched_setattr": ((314, 274), 0),
    "setpriority": ((141, 140), 1),
    "ioprio_set": ((251, 30), 1),
}
CLONE, SOCKET, SOCKETPAIR = (56, 220), (41, 198), (53, 199)
# mount, cgroup, uts, ipc, user, pid, net (a time namespace cannot be asked for through clone)
NEW_NAMESPACES = 0x00020000 | 0x02000000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x60000000
UNIX, INET, INET6 = 1, 2, 10

LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
NUMBER, ARCH, FIRST_ARGUMENT, SECOND_ARGUMENT = 0, 4, 16, 24
DATAGRAM_BITS = 0b1010
"""Set in every socket type but stream and seqpacket, which alone cannot send to a name."""
ALLOW, KILL, FAIL = 0x7FFF0000, 0x80000000, 0x00050000

Instruction = tuple[int, int, int, int]
"""Code, jump if true, jump if false, operand."""


def program(machine: str, *, shared: bool = False) -> bytes:
    """The filter for `machine` (as `uname -m` names it), ready for the kernel.

    `shared` is for a start that has no namespaces of its own: no socket but connected pairs, and
    nothing that reaches other processes or changes what Landlock leaves open.

    Raises:
        ValueError: a machine whose system calls are not listed here.
    """
    if machine not in ARCHES:
        raise ValueError(f"no system call filter for {machine}; there is one for {list(ARCHES)}")
    return b"".join(struct.pack("=HBBI", *line) for line in instructions(machine, shared=shared))


def instructions(machine: str, *, shared: bool = False) -> list[Instruction]:
    """The same, readable: one tuple an instruction."""
    column = list(ARCHES).index(machine)
    lines: list[Instruction] = [
        (LOAD, 0, 0, ARCH),
        (EQUAL, 1, 0, ARCHES[machine]),
        (RETURN, 0, 0, KILL),
        (LOAD, 0, 0, NUMBER),
    ]
    if machine == "x86_64":  # the x32 calls: the same kernel code under other numbers
        lines += [(AT_LEAST, 0, 1, 0x40000000), (RETURN, 0, 0, FAIL | errno.ENOSYS)]
    tables: list[tuple[Mapping[str, tuple[int | None, int | None]], int]]
    tables = [(DENIED, errno.EPERM), (UNKNOWN, errno.ENOSYS)]
    if shared:
        tables += [(SHARED, errno.EPERM), (PRETENDED, 0)]
    for table, error in tables:
        for numbers in table.values():
            number = numbers[column]
            if number is not None:
                lines += [(EQUAL, 0, 1, number), (RETURN, 0, 0, FAIL | error)]
    if shared:
        lines += _pairs(SOCKETPAIR[column])
        for both, argument in ONESELF.values():
            lines += _oneself(both[column], FIRST_ARGUMENT + 8 * argument)
    lines += [
        (EQUAL, 0, 4, CLONE[column]),
        (LOAD, 0, 0, FIRST_ARGUMENT),
        (ANY_BIT, 0, 1, NEW_NAMESPACES),
        (RETURN, 0, 0, FAIL | errno.EPERM),
        (RETURN, 0, 0, ALLOW),
    ]
    lines += _families(SOCKET[column], () if shared else (UNIX, INET, INET6))
    lines += _families(SOCKETPAIR[column], (UNIX,))
    return [*lines, (RETURN, 0, 0, ALLOW)]


def _pairs(number: int) -> list[Instruction]:
    """Pairs of a kind that stays connected; for any other call, and a right one, go on."""
    return [
        (EQUAL, 0, 4, number),
        (LOAD, 0, 0, SECOND_ARGUMENT),
        (ANY_BIT, 0, 1, DATAGRAM_BITS),
        (RETURN, 0, 0, FAIL | errno.EPROTONOSUPPORT),
        (LOAD, 0, 0, NUMBER),
    ]


def _oneself(number: int, argument: int) -> list[Instruction]:
    """The call with this argument 0, or refused; for any other call, go on."""
    return [
        (EQUAL, 0, 4, number),
        (LOAD, 0, 0, argument),
        (EQUAL, 1, 0, 0),
        (RETURN, 0, 0, FAIL | errno.EPERM),
        (RETURN, 0, 0, ALLOW),
    ]


def _families(number: int, allowed: tuple[int, ...]) -> list[Instruction]:
    """For the call `number`, only these address families; for any other call, go on."""
    checks: list[Instruction] = [
        (EQUAL, len(allowed) - index, 0, family) for index, family in enumerate(allowed)
    ]
    body: list[Instruction] = [
        (LOAD, 0, 0, FIRST_ARGUMENT),
        *checks,
        (RETURN, 0, 0, FAIL | errno.EAFNOSUPPORT),
        (RETURN, 0, 0, ALLOW),
    ]
    return [(EQUAL, 0, len(body), number), *body]
