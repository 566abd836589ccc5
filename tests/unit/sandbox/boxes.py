"""A launcher, its client and a folder it may show, begun and ended around a test."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harnesspro.core.ports import SandboxResult, SandboxSpec
from harnesspro.sandbox.client import SandboxClient
from harnesspro.sandbox.start import start_launcher
from tests.unit.sandbox.ordinary import UID


def raw_spec(**changes: Any) -> dict[str, Any]:
    """A start spec as it goes over the socket."""
    spec = SandboxSpec(name="raw", code_dir="/c", argv=None, payload='{"x": 1}')
    return {**json.loads(json.dumps(dataclasses.asdict(spec))), **changes}


@dataclass
class Box:
    """What a test holds of one launcher."""

    client: SandboxClient
    process: subprocess.Popen[bytes]
    folder: Path
    code: Path

    def sh(self, line: str, **changes: Any) -> SandboxResult:
        """Run a shell line inside."""
        return self.run(("sh", "-c", line), **changes)

    def python(self, source: str, **changes: Any) -> SandboxResult:
        """Run a program inside with the interpreter of the sandbox."""
        files = {"attack.py": source, **changes.pop("files", {})}
        line = f"exec {interpreter()} -I -S -B attack.py"
        return self.run(("sh", "-c", line), files=files, **changes)

    def run(self, argv: tuple[str, ...] | None, **changes: Any) -> SandboxResult:
        """One start with the code folder shown."""
        settings = {"payload": "{}", "broker": False, "wall_s": 20.0, **changes}
        spec = SandboxSpec(name="test", code_dir=str(self.code), argv=argv, **settings)
        return self.client.run(spec)

    def solve(self, source: str, **changes: Any) -> SandboxResult:
        """Run `solver.py:solve` as a trial."""
        (self.code / "solver.py").write_text(source)
        payload = {
            "entry": "solver.py:solve",
            "task": {"input": "q"},
            "token": "t",
            "harness": {"parts": {}, "knobs": {}},
        }
        return self.run(None, payload=json.dumps(payload), **changes)


def interpreter() -> str:
    """The interpreter as it is found inside."""
    from harnesspro.sandbox.start import base_python

    return os.path.realpath(base_python())


@contextmanager
def open_folder() -> Iterator[Path]:
    """A short folder that other users can pass through."""
    folder = Path(tempfile.mkdtemp(prefix="hpt-"))
    folder.chmod(0o711)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


DENIED = str(Path(__file__).parent / "denied.py")
ORDINARY = [sys.executable, str(Path(__file__).parent / "ordinary.py")]


@contextmanager
def launched(level: str, *, ordinary: bool = False) -> Iterator[Box]:
    """A proven launcher, its broker a listening socket that answers nothing.

    `ordinary` starts it as an ordinary user, even where the tests are run by root.
    """
    with open_folder() as folder, socket.socket(socket.AF_UNIX) as broker:
        broker.bind(str(folder / "broker.sock"))
        broker.listen()
        (folder / "broker.sock").chmod(0o666)
        code, work = folder / "code", folder / "w"
        for place in (code, work):
            place.mkdir()
            place.chmod(0o755)
        prefix = ORDINARY if ordinary and os.geteuid() == 0 else []
        if prefix:
            os.chown(work, UID, UID)
        process, sock = start_launcher(
            level=level,
            trial_socket=str(folder / "broker.sock"),
            work_root=str(work),
            code_roots=[str(code)],
            prefix=prefix,
        )
        client = SandboxClient(sock, level)
        try:
            yield Box(client, process, folder, code)
        finally:
            client.close()
            process.wait(20)


LADDER = {
    "S3": ("S3", False),
    "S3-ordinary": ("S3", True),
    "S2r": ("S2r", False),
    "S2": ("S2", True),
    "S0": ("S0", False),
}
"""Name -> level, and whether an ordinary user starts it: every way a start can be made."""


def marked(marker: str) -> list[int]:
    """The processes of the host that carry the marker in their command line."""
    found = []
    for line in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if marker.encode() in line.read_bytes():
                found.append(int(line.parent.name))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def wait_until(condition: Callable[[], object], seconds: float = 10.0) -> bool:
    """Whether it came true in time."""
    deadline = time.monotonic() + seconds
    while not (met := condition()) and time.monotonic() < deadline:
        time.sleep(0.01)
    return bool(met)
