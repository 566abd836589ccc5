"""One start's host side: its work folder, what is put there, and what is taken from it.

What comes out was written by hostile code: it is opened without following any link.
Standard library only.
"""

from __future__ import annotations

import os
import shutil
import stat

from harnesspro.sandbox import box, census
from harnesspro.sandbox.kernel import BIND, DETACH, NO_DEV, NO_SUID, call, mount, open_beneath

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from harnesspro.sandbox.spec import Start


class Place:
    """One start's host side: `work` (the judged, `uid`, writes it) and, where the launcher has
    mounts of its own, bounds of bytes and files and neutral binds.
    """

    def __init__(
        self,
        folder: str,
        start: Start,
        *,
        level: str,
        uid: int | None,
        free: Callable[[], None] = lambda: None,
    ) -> None:
        """Make the folders empty; nothing is mounted or placed yet."""
        self.folder, self.level, self.uid, self.free = folder, level, uid, free
        self.hidden = uid is not None and level != "S2"
        """Whether mounts are made here; then the kernel bounds the work folder as a whole."""
        self.work = os.path.join(folder, "work")
        os.makedirs(self.work, mode=0o700)
        self.mounts: list[str] = []
        if uid is not None:
            os.chmod(folder, 0o711)  # noqa: S103 - the judged pass through
        if self.hidden:
            options = f"size={start.disk_bytes},nr_inodes={start.n_files},mode=0700"
            owner = f"uid={uid},gid={uid}"
            self._mount("tmpfs", self.work, "tmpfs", NO_SUID | NO_DEV, f"{options},{owner}")
        elif uid is not None:
            os.chown(self.work, uid, uid)
        self.work_fd = os.open(self.work, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def _mount(self, source: str, target: str, kind: str, flags: int, options: str = "") -> None:
        mount(source, target, kind, flags=flags, options=options)
        self.mounts.append(target)

    def neutral(self, source: str, name: str, *, through: int | None = None) -> str:
        """Where the sandbox's uid finds `source`: the source itself unless the launcher is root.

        `through` is an open descriptor of it, so that what was checked is what is shown.
        """
        if not self.hidden:
            return source
        target = os.path.join(self.folder, name)
        if os.path.isdir(source):
            os.mkdir(target)
        else:
            os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644))
        real = source if through is None else f"/proc/self/fd/{through}"
        self._mount(real, target, "", BIND)
        return target

    def write(self, name: str, text: str) -> None:
        """Put a file under the work folder, owned by the judged.

        Raises:
            ValueError: a name that leads out of the folder.
            OSError: it cannot be written.
        """
        parts = name.split("/")
        if not all(parts) or {".", ".."} & set(parts) or "\0" in name:
            raise ValueError(f"files: {name!r} is no relative path below the work folder")
        for depth in range(1, len(parts)):
            folder = "/".join(parts[:depth])
            if not os.path.isdir(os.path.join(self.work, folder)):
                os.mkdir(folder, 0o755, dir_fd=self.work_fd)
                self._own(folder)
        flags = os.O_CREAT | os.O_TRUNC | os.O_WRONLY
        with open(open_beneath(self.work_fd, name, flags, 0o644), "w", encoding="utf-8") as file:
            file.write(text)
        self._own(name)

    def _own(self, name: str) -> None:
        if self.uid is not None:
            os.chown(name, self.uid, self.uid, dir_fd=self.work_fd, follow_symlinks=False)

    def collect(self, cap: int) -> bytes | None:
        """answer.json, if it is a plain file of at most `cap` bytes and no link; else None."""
        try:
            fd = open_beneath(self.work_fd, "answer.json", os.O_RDONLY | os.O_NONBLOCK)
        except OSError:
            return None
        try:
            info = os.fstat(fd)
            if not stat.S_ISREG(info.st_mode) or info.st_nlink != 1 or info.st_size > cap:
                return None
            with open(fd, "rb", closefd=False) as file:
                data = file.read(cap + 1)
        finally:
            os.close(fd)
        return data if len(data) <= cap else None

    def used(self, root: int | None, most: int) -> tuple[int, int]:
        """Bytes and files written where no file system bounds them; `root` is a process inside."""
        n_bytes, n_files = (0, 0) if self.hidden else census.written(self.work, most)
        if self.level == "S3":
            n_files += census.used_inodes(root, box.SCRATCH)
        return n_bytes, n_files

    def clear(self) -> None:
        """Give everything back. What an ordinary user cannot remove stays until the run ends."""
        os.close(self.work_fd)
        for target in reversed(self.mounts):
            call("umount2", target.encode(), DETACH)
        try:
            shutil.rmtree(self.folder, ignore_errors=True)
        except RecursionError:  # a tree nested deeper than this interpreter descends
            return
        finally:
            self.free()
