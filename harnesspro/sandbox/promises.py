"""What each level promises, in words. The named ones are tried from inside at every probe; pure."""

from __future__ import annotations

from dataclasses import dataclass

LEVELS = ("S3", "S2r", "S2")
"""The isolated ones, best first."""
UNSANDBOXED = "S0"
MADE_OF = {
    "S3": "bubblewrap: namespaces of its own, no capabilities, a system call filter",
    "S2r": "without bubblewrap, for root: namespaces, a root of its own, Landlock, another user",
    "S2": "for anybody: Landlock and a system call filter without sockets",
    "S0": "nothing; only with --allow-unsandboxed, stamped unsandboxed, never into an archive",
}


@dataclass(frozen=True, slots=True)
class Promise:
    """`fact` is its name in the answer of the program that tries it, empty for what tests show."""

    fact: str
    text: str
    levels: tuple[str, ...] = LEVELS


APART = ("S3", "S2r")
PROMISES = (
    Promise("not_root", "runs as an ordinary user"),
    Promise("no_capabilities", "holds no capability and can gain none"),
    Promise("no_new_privileges", "set-user-id programs give it nothing"),
    Promise("filtered", "no ptrace, keyring, io_uring, bpf, mounts"),
    Promise("no_namespaces", "can make no namespaces of its own"),
    Promise("no_network", "reaches no network; vsock and abstract sockets included"),
    Promise("no_doors", "reaches no other program by a named socket (a message bus)"),
    Promise("no_environment", "finds no key: not in its environment nor in that of another"),
    Promise("alone", "sees no process but its own"),
    Promise("no_signals", "can signal no process but its own"),
    Promise("read_only", "cannot change code, sdk, interpreter or any file of the host"),
    Promise("no_gold", "cannot read answers, vault or home folders"),
    Promise("gold_absent", "answers, vault and home folders are not even there", APART),
    Promise("", "every process dies with it, and with us, by the kernel's hand", APART),
    Promise("", "memory, time and number of all its processes are bounded"),
    Promise("", "bytes and number of the files it writes are bounded"),
    Promise("", "time and output are bounded; its answer is opened safely", (*LEVELS, UNSANDBOXED)),
    Promise("", "its own programs may use sockets, /proc and shared memory", (*APART, UNSANDBOXED)),
)
NEVER = (
    "surviving an exploit of the Linux kernel",
    "side channels: timing, load on shared cores",
    "peaks of a tenth of a second in the memory of all its processes (each is bounded at once)",
)
ORDINARY_USER = "files it writes in a tenth of a second beyond the bound (each file is bounded)"


def promised(level: str) -> tuple[str, ...]:
    """What a start at this level may be relied on for."""
    return tuple(promise.text for promise in PROMISES if level in promise.levels)


def not_promised(level: str, *, as_root: bool) -> tuple[str, ...]:
    """What it may not be relied on for."""
    missing = tuple(promise.text for promise in PROMISES if level not in promise.levels)
    watched = level == "S2" or (level == "S3" and not as_root)
    return (*missing, *NEVER, *((ORDINARY_USER,) if watched else ()))


def tried(level: str) -> dict[str, str]:
    """Fact -> promise: what the code inside must find to be so."""
    return {p.fact: p.text for p in PROMISES if p.fact and level in p.levels}
