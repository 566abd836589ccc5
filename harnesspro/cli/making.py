"""Runs a package's own generators once, in the sandbox that harnesses run in."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from harnesspro.core.errors import IntegrityError, SandboxUnavailable
from harnesspro.core.ports import Sandbox, SandboxResult, SandboxSpec

WALL_S, OUTPUT_BYTES = 120.0, 20_000_000
_FIX = (
    "apt install bubblewrap, or: pip install 'harnesspro[sandbox]'; `harnesspro doctor` says more"
)


def run_in_sandbox(files: Mapping[str, str], *, program: str, payload: str) -> bytes:
    """What `program` wrote to `answer.json`: no network, no key, nothing of this machine's files.

    `files` are relative path -> text, the program's folder; it gets the folder and the work folder
    as arguments and `payload` as `task.json`.

    Raises:
        SandboxUnavailable: no sandbox here.
        IntegrityError: the program failed, or wrote nothing.
    """
    with _private_folder() as home:
        code = home / "code"
        _lay(code, files)
        with _sandbox(home, code) as sandbox:
            result = sandbox.run(_spec(code, program, payload))
    return _written(program, result)


def _written(program: str, result: SandboxResult) -> bytes:
    if result.exit_code != 0 or result.result is None:
        last = (result.stderr.strip().splitlines() or ["it wrote nothing"])[-1]
        raise IntegrityError(program, f"{result.ended} ({result.exit_code}): {last[:200]}")
    return result.result


def _spec(code: Path, program: str, payload: str) -> SandboxSpec:
    from harnesspro.sandbox.box import CODE, WORK
    from harnesspro.sandbox.start import base_python

    python = os.path.realpath(base_python())
    return SandboxSpec(
        name="tasks",
        code_dir=str(code),
        argv=(python, "-I", "-S", "-B", f"{CODE}/{program}", CODE, WORK),
        payload=payload,
        broker=False,
        wall_s=WALL_S,
        output_bytes=OUTPUT_BYTES,
    )


@contextmanager
def _private_folder() -> Iterator[Path]:
    """A short folder that the sandbox's own user can pass through; gone at the end."""
    folder = Path(tempfile.mkdtemp(prefix="hp-"))
    folder.chmod(0o711)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _sandbox(home: Path, code: Path) -> Iterator[Sandbox]:
    from harnesspro.sandbox.client import SandboxClient
    from harnesspro.sandbox.probes import require
    from harnesspro.sandbox.start import start_launcher

    try:
        level = require(allow_unsandboxed=False)
        process, sock = start_launcher(
            level=level,
            trial_socket=str(home / "no.sock"),
            work_root=str(home / "work"),
            code_roots=[str(code)],
        )
    except SandboxUnavailable as error:
        raise SandboxUnavailable(
            "these tasks are made by a package's code, which runs in a sandbox only",
            error.found,
            fix=_FIX,
        ) from error
    client = SandboxClient(sock, level)
    try:
        yield client
    finally:
        client.close()
        process.wait()


def _lay(code: Path, files: Mapping[str, str]) -> None:
    """The files, readable to the sandbox's own user."""
    for name, text in files.items():
        path = code / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for path in (code, *code.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
