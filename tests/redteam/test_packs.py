"""Archive entries that somebody else packed, or laid down as a folder."""

import io
import os
import stat
import tarfile
import unicodedata
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from harnesspro.core.errors import HarnessProError, IntegrityError
from harnesspro.core.hashing import content_id
from harnesspro.store.archive import FileArchive
from harnesspro.store.unpack import unpacked
from tests.unit.store.test_archive import FILES, entry

SOUND = {"entry.json": entry().model_dump_json(), **{f"files/{k}": v for k, v in FILES.items()}}


def zipped(
    extra: dict[str, bytes], *, link: str = "", compress: int = zipfile.ZIP_DEFLATED
) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compress) as pack:
        for name, text in SOUND.items():
            pack.writestr(name, text)
        for name, data in extra.items():
            info = zipfile.ZipInfo(name)
            info.compress_type = compress
            if link:
                info.external_attr = (stat.S_IFLNK | 0o777) << 16
            pack.writestr(info, link or data)
    return out.getvalue()


def tarred(*extra: tarfile.TarInfo, data: bytes = b"x", mode: str = "w:gz") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as pack:  # type: ignore[call-overload]
        for name, text in SOUND.items():
            info = tarfile.TarInfo(name)
            info.size = len(text.encode())
            pack.addfile(info, io.BytesIO(text.encode()))
        for info in extra:
            info.size = len(data) if info.isreg() else 0
            pack.addfile(info, io.BytesIO(data) if info.isreg() else None)
    return out.getvalue()


def member(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def gigabytes() -> bytes:
    """A hundred megabytes of nothing, in 100 kB."""
    return tarred(member("files/zero"), data=bytes(100_000_000))


PACKS: dict[str, Callable[[], bytes]] = {
    "zip ..": lambda: zipped({"../../outside": b"x"}),
    "zip absolute": lambda: zipped({"/tmp/outside": b"x"}),
    "zip backslash": lambda: zipped({"..\\outside": b"x"}),
    "zip link": lambda: zipped({"files/link": b""}, link="/etc/hostname"),
    "zip case clash": lambda: zipped({"files/HARNESS.yaml": b"x"}),
    "zip file where a folder is": lambda: zipped({"files/prompts": b"x"}),
    "zip decomposed name": lambda: zipped({f"files/{unicodedata.normalize('NFD', 'é')}.md": b"x"}),
    "zip hidden name": lambda: zipped({"files/a\u202egnp.md": b"x"}),
    "zip git": lambda: zipped({"files/.git/config": b"[core]"}),
    "zip bomb": lambda: zipped({"files/zero": bytes(200_000_000)}),
    "zip of many bombs": lambda: zipped({f"files/{n}": bytes(900_000) for n in range(60)}),
    "zip of many files": lambda: zipped({f"files/{n}": b"x" for n in range(600)}),
    "zip in a zip": lambda: zipped({"files/inner.zip": zipped({})}),
    "zip of a binary": lambda: zipped({"files/model.bin": b"\xff\xfe\x00"}),
    "zip of another file": lambda: zipped({"README.md": b"x"}),
    "zip cut": lambda: zipped({})[:-100],
    "tar ..": lambda: tarred(member("../../outside")),
    "tar absolute": lambda: tarred(member("/tmp/outside")),
    "tar link": lambda: tarred(member("files/link", tarfile.SYMTYPE, "/etc")),
    "tar hard link": lambda: tarred(member("files/link", tarfile.LNKTYPE, "entry.json")),
    "tar device": lambda: tarred(member("files/null", tarfile.CHRTYPE)),
    "tar pipe": lambda: tarred(member("files/pipe", tarfile.FIFOTYPE)),
    "tar case clash": lambda: tarred(member("files/Harness.yaml")),
    "tar twice the same": lambda: tarred(member("entry.json")),
    "tar bomb": gigabytes,
    "tar cut": lambda: tarred()[:-20],
    "no pack": lambda: b"format: harnesspro/1\n",
    "nothing": lambda: b"",
    "twenty-one megabytes": lambda: b"PK\x03\x04" + bytes(21_000_000),
}


@pytest.mark.parametrize("name", PACKS)
def test_case_40_a_hostile_pack_writes_nothing(tmp_path: Path, name: str):
    archive = FileArchive(tmp_path / "own", None)
    with pytest.raises(IntegrityError):
        archive.add_packed(PACKS[name](), where="evil")
    assert list(tmp_path.rglob("*")) == []
    assert archive.entries() == ()


@pytest.mark.parametrize("pack", [zipped({}), tarred(), tarred(mode="w")])
def test_case_40_an_honest_pack_is_taken_and_its_score_is_a_claim(tmp_path: Path, pack: bytes):
    archive = FileArchive(tmp_path / "own", None)
    taken = archive.add_packed(pack, where="honest")
    assert archive.entries() == (taken,)
    assert archive.files(taken.entry_id) == FILES
    assert (taken.stamp, taken.lesson) == (
        "observed",
        "claimed, not run here: Samples agreed; one is enough.",
    )


def test_case_40_an_entry_whose_files_are_others_is_refused_before_anything_is_written(
    tmp_path: Path,
):
    own = entry().model_copy(
        update={"harness_id": content_id("h", {"a": "b"}), "stamp": "confirmed"}
    )
    lying = {**SOUND, "entry.json": own.model_dump_json()}
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as made:
        for name, text in lying.items():
            made.writestr(name, text)
    with pytest.raises(IntegrityError, match="files of h-"):
        FileArchive(tmp_path / "own", None).add_packed(out.getvalue(), where="lying")
    assert list(tmp_path.iterdir()) == []
    assert unpacked(zipped({}), where="x") == SOUND


def test_case_40_an_extractor_that_believes_names_writes_outside(tmp_path: Path):
    place = tmp_path / "a" / "b"
    place.mkdir(parents=True)
    with zipfile.ZipFile(io.BytesIO(PACKS["zip .."]())) as pack:
        for info in pack.infolist():
            target = place / info.filename
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(pack.read(info))
    assert (tmp_path / "outside").read_text() == "x"


def test_case_40_an_extractor_that_believes_kinds_makes_links(tmp_path: Path):
    with tarfile.open(fileobj=io.BytesIO(PACKS["tar link"]())) as pack:
        pack.extractall(tmp_path, filter="fully_trusted")
    assert os.readlink(tmp_path / "files/link") == "/etc"


def linked(path: Path) -> None:
    """The thing itself stands elsewhere, a link to it in its place."""
    elsewhere = path.parent.parent.parent / f"moved-{path.name}"
    path.rename(elsewhere)
    path.symlink_to(elsewhere)


LAID: dict[str, Callable[[Path], object]] = {
    "a link to a file": lambda place: (place / "files/l").symlink_to("/etc/hostname"),
    "a link to a folder": lambda place: (place / "files/l").symlink_to("/etc"),
    "a link for the files": lambda place: linked(place / "files"),
    "a link for the entry": lambda place: linked(place / "entry.json"),
    "a pipe": lambda place: os.mkfifo(place / "files/pipe"),
    "one more file": lambda place: (place / "files/more.md").write_text("x"),
    "a large file": lambda place: (place / "files/more.md").write_text("x" * 1_000_001),
    "a name with an escape": lambda place: (place / "files/a\x1b.md").write_text("x"),
    "a binary": lambda place: (place / "files/a.bin").write_bytes(b"\xff\xfe"),
    "a hard link elsewhere": lambda place: os.link(place / "entry.json", place / "files/e.json"),
}


@pytest.mark.parametrize("name", LAID)
def test_case_40_an_entry_laid_down_as_a_folder_is_read_only_where_it_is_whole(
    tmp_path: Path, name: str
):
    archive = FileArchive(tmp_path / "own", None)
    archive.add(entry(), FILES)
    LAID[name](tmp_path / "own/e-1")
    assert archive.entries() == ()
    assert len(archive.problems()) == 1
    with pytest.raises(HarnessProError):
        archive.files("e-1")
