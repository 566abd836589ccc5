"""What the code inside sees, everything by name, and how bubblewrap is told of it.

Pure. Standard library only.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

WORK, CODE, JUDGE, BROKER = "/work", "/harness", "/judge", "/run/broker.sock"
SYSTEM = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
READABLE = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc/alternatives", "/etc/ld.so.cache"),
    *("/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/hosts", "/etc/localtime"),
)
"""What of the host's own files code without a root of its own may read."""
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
SCRATCH = ("/tmp", "/dev/shm")  # noqa: S108 - private to one start
PATH = "/usr/local/bin:/usr/bin:/bin"

BOOT = (
    "import sys; sys.path[:0] = [sys.argv[1]]; from harnesspro import sdk; "
    "sys.exit(sdk.main(sys.argv[2], sys.argv[3]))"
)


def python_entry(python: str, *, judge: str, work: str, code: str) -> list[str]:
    """The command that runs a harness's Python entry through the sdk."""
    return [python, "-I", "-S", "-B", "-c", BOOT, judge, work, code]


def environment(work: str, prefix: str, extra: Mapping[str, str]) -> dict[str, str]:
    """All variables inside; the interpreter comes last on PATH, so system tools stay themselves."""
    path = PATH if prefix in ("/usr", "/usr/local") else f"{PATH}:{prefix}/bin"
    return {"PATH": path, "HOME": work, "LANG": "C.UTF-8", **extra}


def isolation() -> list[str]:
    """Namespaces one by one: `--disable-userns` is refused without an explicit user namespace."""
    kinds = ("user", "ipc", "pid", "net", "uts")
    return [
        *(f"--unshare-{kind}" for kind in kinds),
        *("--unshare-cgroup-try", "--disable-userns", "--die-with-parent", "--new-session"),
        *("--cap-drop", "ALL", "--hostname", "sandbox"),
    ]


def system(links: Mapping[str, str], folders: Sequence[str]) -> list[str]:
    """/usr and, as this host has them, /bin, /lib and so on: as `links` or as real `folders`."""
    arguments = ["--ro-bind", "/usr", "/usr"]
    for name, target in links.items():
        arguments += ["--symlink", target, f"/{name}"]
    for name in folders:
        arguments += ["--ro-bind", f"/{name}", f"/{name}"]
    return arguments


def private(size: int) -> list[str]:
    """What belongs to one start alone: processes, devices and scratch space of `size` bytes."""
    scratch = ["--perms", "1777", "--size", str(size), "--tmpfs"]
    own = (word for path in SCRATCH for word in (*scratch, path))
    return ["--proc", "/proc", "--dev", "/dev", *own]


def content(
    *, python: tuple[str, str], etc: str, judge: str, code: str, work: str, broker: str | None
) -> list[str]:
    """The read-only trees, the work folder and the broker's socket; (source, prefix) of python."""
    arguments = ["--ro-bind", etc, "/etc", "--ro-bind", judge, JUDGE, "--ro-bind", code, CODE]
    if not f"{python[1]}/".startswith("/usr/"):
        arguments += ["--ro-bind", *python]
    if broker is not None:
        arguments += ["--ro-bind", broker, BROKER]
    closed = ["--remount-ro", "/dev", "--remount-ro", "/"]
    return [*arguments, "--bind", work, WORK, *closed, "--chdir", WORK]


def variables(values: Mapping[str, str]) -> list[str]:
    """The environment inside. A NUL would end an argument and begin another.

    Raises:
        ValueError: a NUL, or a name that is none.
    """
    arguments: list[str] = []
    for name, value in values.items():
        if not name or "=" in name or "\0" in name + value:
            raise ValueError(f"env: {name!r} is no variable that can be set")
        arguments += ["--setenv", name, value]
    return arguments
