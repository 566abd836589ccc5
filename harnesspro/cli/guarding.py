"""Starts the grader, says how strong the wall around it is, and lends it a sandbox of its own."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from harnesspro import processes
from harnesspro.config import RunHeader
from harnesspro.core.errors import HarnessProError

EXECUTABLE = "calls"
"""The scheme whose answers are run to be graded."""


@dataclass(frozen=True, slots=True)
class Guard:
    """A grader that has given up what it must not have."""

    channel: socket.socket
    """The orchestrator's end."""
    door: socket.socket
    """Where a sandbox is handed in."""
    uid: int

    def close(self) -> None:
        """Let go of both; the grader ends when the orchestrator has, too."""
        self.channel.close()
        self.door.close()


def start_grader(header: RunHeader, run_dir: Path, home: processes.Household) -> Guard | None:
    """The grader of the run's task set; None where there is no gold, or it stays shut.

    Raises:
        HarnessProError: it ended before it was ready.
    """
    if not header.has_gold or not header.config.open_gold:
        return None
    from harnesspro.formats.paths import vault_home
    from harnesspro.vault.guard import owner_for

    assert header.seal is not None
    vault = vault_home() / str(header.seal["taskset_id"])
    uid = owner_for(vault)
    ours, theirs = socket.socketpair()
    door, inner = socket.socketpair()
    empty = home.folder / "e"
    empty.mkdir(mode=0o755)
    config = {
        "fd": theirs.fileno(),
        "door_fd": inner.fileno(),
        "uid": uid,
        "isolation": header.isolation,
        "grader": {
            "vault_dir": str(vault_home()),
            **{key: header.seal[key] for key in ("taskset_id", "merkle_root")},
            **{key: header.seal[key] for key in ("answer_kind", "scheme")},
            "run_dir": str(run_dir),
            "empty_dir": str(empty),
        },
    }
    with theirs, inner:
        child = processes.start_role(
            "grader",
            config,
            env={},
            pass_fds=(theirs.fileno(), inner.fileno()),
            prefix=() if uid is not None else _narrowed(run_dir, vault),
        )
    home.add("grader", child)
    return Guard(ours, door, _ready(door))


def _narrowed(run_dir: Path, vault: Path) -> list[str]:
    """The command before the grader's that leaves it only what it reads and its vault, where the
    kernel can.
    """
    from harnesspro.sandbox import confine
    from harnesspro.sandbox.start import confined

    if confine.landlock_abi() < 1:
        return []
    archive = run_dir.parent.parent / "archive"
    return confined([], read=[str(run_dir), str(archive)], write=[str(vault)])


def _ready(door: socket.socket) -> int:
    """Wait for its first word: whose process it now is."""
    from harnesspro.vault.wire import read_frame

    door.settimeout(processes.START_TIMEOUT_S)
    try:
        word = read_frame(door)
    except (OSError, ValueError) as error:
        raise HarnessProError("grader", f"did not start: {error}") from error
    if not isinstance(word, dict):
        raise HarnessProError("grader", "ended while starting", fix="see the lines above")
    return int(word["uid"])


def lend_sandbox(guard: Guard | None, header: RunHeader, home: processes.Household) -> None:
    """A launcher that only the grader speaks to, where its answers are run to be graded.

    Apart from the search's own: nothing that a candidate did to that one reaches a grade.
    """
    if guard is None or header.seal is None or header.seal["scheme"] != EXECUTABLE:
        return
    from harnesspro.sandbox.start import start_launcher

    launcher, sock = start_launcher(
        level=header.isolation,
        trial_socket=str(home.folder / "no.sock"),
        work_root=str(home.folder / "g"),
        code_roots=[str(home.folder / "e")],
    )
    home.add("grading launcher", launcher)
    with sock:
        socket.send_fds(guard.door, [b"s"], [sock.fileno()])


def firewall_level(*, landlocked: bool, isolated: bool, shown: bool, grader_uid: int | None) -> str:
    """F2, F1 or F0.

    Without a sandbox the launcher starts any code unconfined, so nothing stronger than F0 is true;
    nor is it without Landlock, or where the vault is `shown` by a folder that stays readable.
    """
    if not (landlocked and isolated) or shown:
        return "F0"
    return "F2" if grader_uid not in (None, os.geteuid()) else "F1"


def showing(vault: Path, folders: Iterable[str]) -> str | None:
    """The first of the folders that holds the vault, or lies in it; None where all are apart."""
    inside = vault.resolve()
    for folder in folders:
        place = Path(folder).resolve()
        if inside.is_relative_to(place) or place.is_relative_to(inside):
            return folder
    return None
