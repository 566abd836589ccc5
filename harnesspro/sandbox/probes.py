"""Which levels this machine really has: each is started and asked from inside."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from harnesspro.core.errors import SandboxUnavailable
from harnesspro.core.ports import SandboxSpec
from harnesspro.sandbox import promises
from harnesspro.sandbox.client import SandboxClient
from harnesspro.sandbox.start import HERE, ISOLATED, base_python, start_launcher

SECRET = "not to be read from inside"  # noqa: S105 - planted where it must not be found
LAST_RESORT = "or --allow-unsandboxed, whose results are stamped S0 and cannot enter an archive"
INSTALL = "apt install bubblewrap, or pip install 'harnesspro[sandbox]'"
ELSEWHERE = "use a Linux virtual machine or container"
NAMESPACES = (
    "let bubblewrap make user namespaces (sysctl kernel.apparmor_restrict_unprivileged_userns=0 or"
    " user.max_user_namespaces above 0; in a container --privileged)"
)
AS_ROOT = "start it as root, where root may make namespaces (in a container --privileged)"
LANDLOCK = "Linux 6.12 or newer with landlock among /sys/kernel/security/lsm (boot with lsm=...)"
INTERPRETER = "an interpreter, and its packages, in a folder that other users can read"


@dataclass(frozen=True, slots=True)
class Rung:
    """One level on this machine. Where it does not start, `reason` says why and `how` what helps."""

    level: str
    starts: bool
    guarantees: tuple[str, ...]
    not_guaranteed: tuple[str, ...]
    reason: str = ""
    how: str = ""


@dataclass(frozen=True, slots=True)
class Isolation:
    """The level a run gets here, or `none`. `reason` and `fix` are about the better ones."""

    level: str
    guarantees: tuple[str, ...]
    not_guaranteed: tuple[str, ...]
    reason: str = ""
    fix: str = ""


def rung(level: str) -> Rung:
    """Start a sandbox for real and have the code inside try what it must not be able to do."""
    as_root = sys.platform == "linux" and os.geteuid() == 0
    words = (promises.promised(level), promises.not_promised(level, as_root=as_root))
    if sys.platform != "linux" and level != promises.UNSANDBOXED:
        return Rung(
            level, False, *words, f"{sys.platform} has none of what it is made of", ELSEWHERE
        )
    try:
        found = _ask(level)
    except SandboxUnavailable as error:
        return Rung(level, False, *words, error.found, _help(level, error.found))
    broken = [text for fact, text in promises.tried(level).items() if not found.get(fact)]
    if broken:
        reason = "it starts, but inside it these do not hold: " + "; ".join(broken)
        return Rung(level, False, *words, reason, _help(level, reason))
    return Rung(level, True, *words)


def ladder() -> tuple[Rung, ...]:
    """Every level, best first, the unsandboxed one last."""
    return tuple(rung(level) for level in (*promises.LEVELS, promises.UNSANDBOXED))


def best(rungs: Iterator[Rung]) -> Isolation:
    """The first that starts; what is missing for a better one goes with it."""
    missing: list[Rung] = []
    for each in rungs:
        if each.starts and each.level != promises.UNSANDBOXED:
            return Isolation(
                each.level,
                each.guarantees,
                each.not_guaranteed,
                _reasons(missing),
                _way_up(missing),
            )
        missing.append(each)
    missing = [each for each in missing if each.level != promises.UNSANDBOXED]
    every = tuple(promise.text for promise in promises.PROMISES)
    return Isolation("none", (), every, _reasons(missing), f"{_way_up(missing)}, {LAST_RESORT}")


def probe() -> Isolation:
    """The best level that starts here; worse ones are not tried."""
    return best(map(rung, promises.LEVELS))


def require(*, allow_unsandboxed: bool) -> str:
    """The level to run at: the best to be had, else `S0` if the caller allows it.

    Raises:
        SandboxUnavailable: none.
    """
    found = probe()
    if found.level != "none":
        return found.level
    if allow_unsandboxed:
        return promises.UNSANDBOXED
    raise SandboxUnavailable(
        "sandbox", found.reason, expected="one of them to start", fix=found.fix
    )


def require_again(level: str, *, allow_unsandboxed: bool) -> str:
    """The level a run that began at `level` would go on at: that one where it starts.

    Raises:
        SandboxUnavailable: it does not start here, nor any other.
    """
    if level in promises.LEVELS and rung(level).starts:
        return level
    return require(allow_unsandboxed=allow_unsandboxed)


def _reasons(missing: list[Rung]) -> str:
    if sys.platform != "linux":
        return f"{sys.platform} has no sandbox of ours; only unsandboxed runs exist there"
    return "; ".join(f"{each.level}: {each.reason}" for each in missing)


def _way_up(missing: list[Rung]) -> str:
    """How to get the best of them."""
    return missing[0].how if missing else ""


def _help(level: str, reason: str) -> str:
    if level == "S3":
        return INSTALL if "no bubblewrap" in reason else NAMESPACES
    if level == "S2":
        return INTERPRETER if "Permission denied" in reason else LANDLOCK
    return AS_ROOT if level == "S2r" else ""


def _ask(level: str) -> dict[str, bool]:
    """What the program inside found, and what was seen of it outside."""
    with _outside() as (folder, env):
        code = Path(folder, "code")
        code.mkdir()
        code.chmod(0o755)
        found = _inside(level, folder, {**env, "CODE": "/harness"})
        untouched = Path(env["OPEN"]).stat()
        if (untouched.st_size, untouched.st_mode & 0o777) != (len(SECRET), 0o666):
            found["read_only"] = False
    return found


@contextlib.contextmanager
def _outside() -> Iterator[tuple[str, dict[str, str]]]:
    """What a sandbox must not reach: listeners, a closed file, an open one, a process."""
    with (
        tempfile.TemporaryDirectory(prefix="hp-") as folder,
        socket.socket() as tcp,
        socket.socket(socket.AF_UNIX) as named,
        socket.socket(socket.AF_UNIX) as abstract,
    ):
        os.chmod(folder, 0o711)  # noqa: S103 - the judged pass through
        gold, everyones = Path(folder, "gold"), Path(folder, "open")
        for path, mode in ((gold, 0o600), (everyones, 0o666)):
            path.write_text(SECRET, encoding="utf-8")
            path.chmod(mode)
        tcp.bind(("127.0.0.1", 0))
        named.bind(f"{folder}/named")
        os.chmod(f"{folder}/named", 0o666)  # noqa: S103 - open to all, and still out of reach
        whispered = f"hp-{os.path.basename(folder)}"
        if sys.platform == "linux":
            abstract.bind(f"\0{whispered}")
            abstract.listen()
        for listener in (tcp, named):
            listener.listen()
        yield (
            folder,
            {
                "TCP": str(tcp.getsockname()[1]),
                "NAMED": f"{folder}/named",
                "ABSTRACT": whispered,
                "GOLD": str(gold),
                "OPEN": str(everyones),
                "OTHER": str(os.getpid()),
            },
        )


def _inside(level: str, folder: str, env: Mapping[str, str]) -> dict[str, bool]:
    code = f"{folder}/code"
    process, sock = start_launcher(
        level=level, trial_socket=f"{folder}/none", work_root=f"{folder}/work", code_roots=[code]
    )
    client = SandboxClient(sock, level)
    spec = SandboxSpec(
        name="probe",
        code_dir=code,
        argv=(os.path.realpath(base_python()), *ISOLATED, "facts.py"),
        payload="{}",
        files={"facts.py": (HERE / "facts.py").read_text(encoding="utf-8")},
        broker=False,
        env=env,
    )
    try:
        result = client.run(spec)
    finally:
        client.close()
        process.wait()
    if result.result is None:
        last = result.stderr.strip().rpartition("\n")[2]
        raise SandboxUnavailable("sandbox", f"its probe {result.ended}: {last}")
    found: dict[str, bool] = json.loads(result.result)
    return found
