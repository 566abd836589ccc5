"""Which isolation this machine really has: a sandbox is started and asked from inside."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from harnesspro.core.errors import SandboxUnavailable
from harnesspro.core.ports import SandboxSpec
from harnesspro.sandbox.client import SandboxClient
from harnesspro.sandbox.start import HERE, base_python, start_launcher

PROMISES = {
    "not_root": "runs as an ordinary user",
    "no_capabilities": "holds no capability and can gain none",
    "no_new_privileges": "set-user-id programs give it nothing",
    "filtered": "no ptrace, keyring, io_uring, bpf, mounts; only UNIX and IP sockets exist",
    "no_namespaces": "can make no namespaces of its own",
    "no_network": "has no network but its own loopback; vsock included",
    "no_environment": "finds no key: the environment is made up, also that of its parent",
    "alone": "sees no process but its own, and all of them die with it or with the launcher",
    "read_only": "cannot change code, sdk, interpreter or system",
}
ALWAYS = (
    "answers, vault and home folders are not there at all, rather than forbidden",
    "time, output, answer size, processes, and memory of each process are bounded",
)
NEVER = (
    "surviving an exploit of the Linux kernel",
    "side channels: timing, load on shared cores",
    "the memory of all its processes together (each is bounded)",
)
ORDINARY_USER = "the size of its work folder in total (each file is bounded)"
UNSANDBOXED = "or --allow-unsandboxed, whose results are stamped S0 and cannot enter an archive"
INSTALL = f"apt install bubblewrap, or pip install 'harnesspro[sandbox]', {UNSANDBOXED}"
ELSEWHERE = f"use a Linux virtual machine or container, {UNSANDBOXED}"
NAMESPACES = (
    f"let bubblewrap make user namespaces (sysctl kernel.apparmor_restrict_unprivileged_userns=0 or"
    f" user.max_user_namespaces above 0; in a container --privileged), {UNSANDBOXED}"
)


@dataclass(frozen=True, slots=True)
class Isolation:
    """What a start on this machine promises. At level `none`, `reason` and `fix` say why."""

    level: Literal["S3", "none"]
    guarantees: tuple[str, ...]
    not_guaranteed: tuple[str, ...]
    reason: str = ""
    fix: str = ""


def probe() -> Isolation:
    """Start a sandbox for real and have the code inside try what it must not be able to do."""
    if sys.platform != "linux":
        return _none(f"{sys.platform} has no bubblewrap; only unsandboxed runs exist there")
    with tempfile.TemporaryDirectory(prefix="hp-") as folder:
        os.chmod(folder, 0o711)  # noqa: S103 - the judged pass through
        code = Path(folder, "code")
        code.mkdir()
        code.chmod(0o755)
        try:
            found = _ask(folder, str(code))
        except SandboxUnavailable as error:
            return _none(error.found)
    broken = [PROMISES[name] for name in PROMISES if not found.get(name)]
    if broken:
        return _none("a sandbox starts, but inside it these do not hold: " + "; ".join(broken))
    missing = NEVER if os.geteuid() == 0 else (*NEVER, ORDINARY_USER)
    return Isolation("S3", (*PROMISES.values(), *ALWAYS), missing)


def require(*, allow_unsandboxed: bool) -> str:
    """The level to run at: `S3` wherever it can be had, else `S0` if the caller allows it.

    Raises:
        SandboxUnavailable: neither.
    """
    found = probe()
    if found.level == "S3":
        return "S3"
    if allow_unsandboxed:
        return "S0"
    raise SandboxUnavailable(
        "sandbox", found.reason, expected="a bubblewrap that can start", fix=found.fix
    )


def _ask(folder: str, code: str) -> dict[str, bool]:
    process, sock = start_launcher(
        level="S3", trial_socket=f"{folder}/none", work_root=f"{folder}/work", code_roots=[code]
    )
    client = SandboxClient(sock, "S3")
    python = os.path.realpath(base_python())
    spec = SandboxSpec(
        name="probe",
        code_dir=code,
        argv=(python, "-I", "-S", "-B", "facts.py"),
        payload="{}",
        files={"facts.py": (HERE / "facts.py").read_text(encoding="utf-8")},
        broker=False,
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


def _none(reason: str) -> Isolation:
    if sys.platform != "linux":
        fix = ELSEWHERE
    else:
        fix = INSTALL if "no bubblewrap" in reason else NAMESPACES
    return Isolation("none", (), (*PROMISES.values(), *ALWAYS), reason, fix)
