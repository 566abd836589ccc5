"""One writer a run folder: a lock that dies with its holder, and where it cannot be trusted."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from harnesspro.core.errors import ConfigError, RunLocked

LOCK_FILE = "writer.lock"
_NETWORK_FILE_SYSTEMS = frozenset(
    [
        "nfs",
        "nfs4",
        "cifs",
        "smb3",
        "smbfs",
        "ncpfs",
        "afs",
        "ceph",
        "glusterfs",
        "lustre",
        "beegfs",
        "gpfs",
        "pvfs2",
        "fuse.sshfs",
        "fuse.s3fs",
        "fuse.rclone",
        "fuse.glusterfs",
        "fuse.ceph",
        "fuse.gcsfuse",
    ]
)


class RunLock:
    """Holds a run folder for this process from construction to `release`."""

    def __init__(self, run_dir: Path) -> None:
        """Make the folder if need be, and lock it.

        Raises:
            RunLocked: another process holds it.
            ConfigError: it cannot be made or written, or file locks mean nothing there.
        """
        self._run_dir = run_dir
        try:
            run_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
            refuse_network(run_dir)
            self._file = os.open(run_dir / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise ConfigError(
                str(run_dir), f"cannot be written ({error.strerror})", fix="choose another --out"
            ) from error
        self._take()

    def _take(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.read(self._file, 64).decode(errors="replace").strip() or "unknown"
            os.close(self._file)
            raise RunLocked(
                str(self._run_dir),
                f"process {holder} writes this run",
                fix="wait for it to end, or start a run of its own",
            ) from error
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Let another process have the folder. Idempotent."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def refuse_network(folder: Path) -> None:
    """Return where the folder lies on a local disk, as far as the system tells.

    Raises:
        ConfigError: it lies on a file system served over a network.
    """
    mounts = Path("/proc/self/mountinfo")
    if not mounts.exists():
        return
    kind = file_system_of(folder, mounts.read_text(encoding="utf-8"))
    if kind in _NETWORK_FILE_SYSTEMS:
        raise ConfigError(
            str(folder),
            f"lies on a network file system ({kind})",
            expected="a local disk, where locks and syncs can be trusted",
            fix="choose another --out",
        )


def file_system_of(folder: Path, mountinfo: str) -> str:
    """The type of the file system that holds `folder`, by the lines of mountinfo; or ``""``."""
    inside = folder.resolve()
    best, kind = -1, ""
    for line in mountinfo.splitlines():
        left, _, right = line.partition(" - ")
        point = Path(left.split(" ")[4].encode().decode("unicode_escape"))
        depth = len(point.parts)
        if depth >= best and inside.is_relative_to(point):
            best, kind = depth, right.split(" ", 1)[0]
    return kind
