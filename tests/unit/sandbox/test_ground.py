"""Where files are put, which code may be shown, and what counts as an answer."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from harnesspro.sandbox import kernel
from harnesspro.sandbox.ground import Ground
from harnesspro.sandbox.lay import lay_etc, lay_sdk
from harnesspro.sandbox.place import Place
from harnesspro.sandbox.spec import Start
from tests.unit.sandbox.boxes import raw_spec

ROOT = Path(__file__).parents[3]


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    place = Place(str(tmp_path / "1"), Start(raw_spec()), level="S2", uid=None)
    yield place
    place.clear()
    assert not (tmp_path / "1").exists()


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Ground]:
    (tmp_path / "code" / "deep").mkdir(parents=True)
    ground = Ground(
        {
            "level": "S0",
            "broker": "/b",
            "work_root": str(tmp_path / "w"),
            "code_roots": [str(tmp_path / "code")],
            "sdk": str(ROOT / "harnesspro" / "sdk.py"),
            "bwrap": "",
            "bwrap_home": "",
        }
    )
    yield ground
    ground.keepers.close()
    os.wait()


def test_files_land_below_the_work_folder(place: Place):
    place.write("a/b/c.txt", "é")
    place.write("a/b/d.txt", "")
    assert Path(place.work, "a/b/c.txt").read_text() == "é"


@pytest.mark.parametrize("name", ["../x", "/x", "a/../../x", "a//b", "", ".", "a/", "a\0b"])
def test_a_name_that_leads_out_is_refused(place: Place, name: str):
    with pytest.raises(ValueError, match="no relative path"):
        place.write(name, "")
    assert os.listdir(place.work) == []


def test_a_file_is_not_written_through_a_link(place: Place, tmp_path: Path):
    os.symlink(tmp_path / "victim", Path(place.work, "task.json"))
    with pytest.raises(OSError, match="symbolic link"):
        place.write("task.json", "{}")
    assert not (tmp_path / "victim").exists()


def test_a_plain_answer_up_to_the_cap_is_taken(place: Place):
    place.write("answer.json", "12345")
    assert (place.collect(5), place.collect(4)) == (b"12345", None)


def test_an_answer_in_an_exchanged_work_folder_is_not_taken(place: Place, tmp_path: Path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "answer.json").write_text("forged")
    os.rename(place.work, place.work + ".old")
    os.symlink(tmp_path / "other", place.work)
    assert place.collect(100) is None


def test_code_is_shown_from_the_allowed_folder_and_below(ground: Ground, tmp_path: Path):
    for path in (tmp_path / "code", tmp_path / "code" / "deep"):
        fd = ground.open_code(str(path))
        assert os.fstat(fd).st_ino == path.stat().st_ino
        os.close(fd)


@pytest.mark.parametrize(
    ("below", "error"),
    [
        ("", PermissionError),
        ("code-other", PermissionError),
        ("code/..", PermissionError),
        ("code/deep/../../secret", PermissionError),
        ("code/link", OSError),
        ("code/link/deeper", OSError),
        ("code/none", FileNotFoundError),
    ],
)
def test_no_other_folder_is_shown(ground: Ground, tmp_path: Path, below: str, error):
    (tmp_path / "secret" / "deeper").mkdir(parents=True)
    (tmp_path / "code-other").mkdir()
    (tmp_path / "code" / "link").symlink_to(tmp_path / "secret")
    with pytest.raises(error):
        ground.open_code(str(tmp_path / below) if below else str(tmp_path))


def test_the_sdk_is_a_package_of_one_compiled_file(tmp_path: Path):
    lay_sdk(str(ROOT / "harnesspro" / "sdk.py"), str(tmp_path))
    package = tmp_path / "harnesspro"
    assert sorted(path.name for path in package.glob("*.py")) == ["__init__.py", "sdk.py"]
    assert (package / "__init__.py").read_text() == ""
    assert len(list((package / "__pycache__").glob("sdk.*.pyc"))) == 1


def test_the_made_up_etc_names_the_judged_and_nobody_of_the_host(tmp_path: Path):
    lay_etc(str(tmp_path / "etc"))
    users = (tmp_path / "etc" / "passwd").read_text().splitlines()
    assert [line.split(":")[0] for line in users] == ["root", "judged"]
    assert not (tmp_path / "etc" / "shadow").exists()


@pytest.fixture
def tree(tmp_path: Path) -> Iterator[int]:
    """An open folder with a file, and links that lead out of it."""
    inside = tmp_path / "inside"
    (inside / "a" / "b").mkdir(parents=True)
    (inside / "a" / "b" / "file").write_text("mine")
    (tmp_path / "secret").write_text("gold")
    (inside / "link").symlink_to("../secret")
    (inside / "a" / "up").symlink_to("..")
    (inside / "a" / "self").symlink_to("b")
    fd = os.open(inside, os.O_RDONLY)
    yield fd
    os.close(fd)


OPENERS = {
    "openat2": kernel.open_beneath,
    "by steps": lambda fd, path, flags: kernel.open_by_steps(fd, path, flags, mode=0),
}


@pytest.mark.parametrize("way", OPENERS)
def test_a_file_below_is_opened(way: str, tree: int):
    fd = OPENERS[way](tree, "a/b/file", os.O_RDONLY)
    assert os.read(fd, 10) == b"mine"
    os.close(fd)


@pytest.mark.parametrize("way", OPENERS)
@pytest.mark.parametrize(
    "path",
    ["link", "a/self/file", "a/up/link", "../secret", "a/../../secret", "/etc/passwd", "a/none"],
)
def test_nothing_is_opened_over_a_link_or_outside(way: str, path: str, tree: int):
    with pytest.raises(OSError, match=r"link|cross|Cross|Not a directory|No such file"):
        OPENERS[way](tree, path, os.O_RDONLY)
