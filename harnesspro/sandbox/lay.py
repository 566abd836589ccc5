"""Folders as the code inside will see them: the sdk, a made-up /etc, a root without bubblewrap.

Standard library only.
"""

from __future__ import annotations

import contextlib
import os
import py_compile
import shutil

from harnesspro.sandbox import box
from harnesspro.sandbox.kernel import BIND, NO_SUID, READ_ONLY, REMOUNT, bind, mount

SANDBOX_UID = 65533
"""Who the judged is when the launcher is root: no account, and not the uid of unmapped files."""


def made(folder: str) -> str:
    """The folder, made with all above it where it is not there."""
    os.makedirs(folder, exist_ok=True)
    return folder


def lay_root(root: str, prefix: str) -> None:
    """The root that starts of level S2r see, as far as it is the same for all: read-only then."""
    bind("/usr", made(f"{root}/usr"), read_only=True)
    links, folders = system_folders()
    for name, target in links.items():
        os.symlink(target, f"{root}/{name}")
    for name in folders:
        bind(f"/{name}", made(f"{root}/{name}"), read_only=True)
    if not f"{prefix}/".startswith("/usr/"):
        bind(prefix, made(root + prefix), read_only=True)
    for path in (box.WORK, box.CODE, "/proc", *box.SCRATCH):
        made(root + path)
    for path in (box.BROKER, *box.DEVICES):
        made(os.path.dirname(root + path))
        os.close(os.open(root + path, os.O_CREAT | os.O_WRONLY, 0o644))
    for path in box.DEVICES:
        mount(path, root + path, "", flags=BIND)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        os.symlink(f"/proc/self/fd/{number}", f"{root}/dev/{name}")
    os.symlink("/proc/self/fd", f"{root}/dev/fd")
    mount("", root, "", flags=BIND | REMOUNT | READ_ONLY | NO_SUID)


def lay_sdk(sdk: str, judge: str) -> None:
    """The sdk alone as a package, compiled once so that no start pays for it."""
    package = os.path.join(judge, "harnesspro")
    os.makedirs(os.path.join(package, "__pycache__"), exist_ok=True)
    for name, source in (("__init__.py", None), ("sdk.py", sdk)):
        target = os.path.join(package, name)
        if source is None:
            with open(target, "w", encoding="utf-8"):
                pass
        else:
            shutil.copyfile(source, target)
        py_compile.compile(target, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)


def system_folders() -> tuple[dict[str, str], list[str]]:
    """Beside /usr: the links into it, with their targets, and the folders of their own."""
    links = {name: os.readlink(f"/{name}") for name in box.SYSTEM if os.path.islink(f"/{name}")}
    return links, [name for name in box.SYSTEM if name not in links and os.path.isdir(f"/{name}")]


def lay_etc(etc: str) -> None:
    """The few files under /etc that ordinary programs look for; nothing that tells of the host."""
    os.makedirs(etc, exist_ok=True)
    root = os.geteuid() == 0
    uid, gid = (SANDBOX_UID, SANDBOX_UID) if root else (os.geteuid(), os.getegid())
    texts = {
        "passwd": f"root:x:0:0::/:/bin/sh\njudged:x:{uid}:{gid}::/work:/bin/sh\n",
        "group": f"root:x:0:\njudged:x:{gid}:\n",
        "hosts": "127.0.0.1 localhost\n",
        "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
    }
    for name, text in texts.items():
        with open(os.path.join(etc, name), "w", encoding="utf-8") as file:
            file.write(text)
    if os.path.exists("/etc/ld.so.cache"):
        shutil.copyfile("/etc/ld.so.cache", os.path.join(etc, "ld.so.cache"))
    if os.path.isdir("/etc/alternatives"):
        copy_links("/etc/alternatives", os.path.join(etc, "alternatives"))


def copy_links(source: str, target: str) -> None:
    """Every symbolic link of one folder, as a link; those there already stay."""
    os.makedirs(target, exist_ok=True)
    for name in os.listdir(source):
        link = os.path.join(source, name)
        if os.path.islink(link):
            with contextlib.suppress(FileExistsError):
                os.symlink(os.readlink(link), os.path.join(target, name))
