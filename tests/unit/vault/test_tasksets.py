import hashlib
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from harnesspro.core.errors import IntegrityError, TasksError
from harnesspro.formats.tasks import load_tasks
from harnesspro.formats.tasksets import task_set
from harnesspro.vault.grading import grade
from harnesspro.vault.records import verified_records
from harnesspro.vault.tasksets import (
    TaskSource,
    bfcl_gold,
    bfcl_records,
    ensure_sealed,
    local_sets,
    pull_tasks,
)
from tests.unit.vault.sealing import record


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path


def function(name: str = "math.add") -> dict[str, Any]:
    properties = {
        "a": {"type": "integer", "description": "first"},
        "b": {"type": "float", "description": "second", "default": 1.0},
    }
    parameters = {"type": "dict", "properties": properties, "required": ["a"]}
    return {"name": name, "description": "Adds.", "parameters": parameters}


def question(task_id: str) -> dict[str, Any]:
    turn = [{"role": "user", "content": f"add for {task_id}"}]
    return {"id": task_id, "question": [turn], "function": [function(), function("other")]}


def answer(task_id: str) -> dict[str, Any]:
    return {"id": task_id, "ground_truth": [{"math.add": {"a": [41414141], "b": ["", 2.0]}}]}


class Wheel:
    """Stands for the package index: serves one wheel and remembers where it was put."""

    def __init__(self, path: Path, *, n: int = 120) -> None:
        with zipfile.ZipFile(path, "w") as archive:
            for family in ("multiple", "simple_python"):
                ids = [f"{family}_{index}" for index in range(n)]
                for folder, make in (("", question), ("possible_answer/", answer)):
                    lines = "".join(json.dumps(make(task_id)) + "\n" for task_id in ids)
                    archive.writestr(f"bfcl_eval/data/{folder}BFCL_v4_{family}.json", lines)
        self.content = path.read_bytes()
        self.served: list[Path] = []

    def download(self, requirement: str, place: Path) -> Path:
        assert requirement == "bfcl-eval==1"
        self.served.append(place / "package.whl")
        self.served[-1].write_bytes(self.content)
        return self.served[-1]

    def catalogue(self, sha256: str | None = None) -> dict[str, TaskSource]:
        source = TaskSource(
            name="bfcl",
            about="calls",
            requirement="bfcl-eval==1",
            sha256=sha256 or hashlib.sha256(self.content).hexdigest(),
            licence="Apache-2.0",
            answer_kind="json",
            scheme="bfcl",
            read=bfcl_records,
        )
        return {"bfcl": source}


@pytest.fixture
def wheel(tmp_path: Path) -> Wheel:
    return Wheel(tmp_path / "made.whl")


def pulled(wheel: Wheel) -> tuple[Path, list[str]]:
    said: list[str] = []
    folder = pull_tasks(
        "bfcl", say=said.append, catalogue=wheel.catalogue(), download=wheel.download
    )
    return folder, said


def test_a_pull_splits_the_wheel_and_keeps_no_copy_of_it(wheel, home):
    folder, said = pulled(wheel)
    assert folder == home / "cache/harnesspro/tasks/bfcl"
    sha256 = hashlib.sha256(wheel.content).hexdigest()
    assert said == [
        "bfcl: 220 tasks (multiple, simple_python), 220 with gold in the vault from the PyPI "
        f"package bfcl-eval==1 (Apache-2.0); the SHA-256 matches ({sha256[:12]}…)"
    ]
    assert [path.exists() for path in wheel.served] == [False]
    assert list(home.rglob("*.whl")) == [home / "made.whl"]


def test_the_public_side_of_a_pull_holds_no_answer_and_no_official_id(wheel, home):
    folder, _ = pulled(wheel)
    text = "".join(path.read_text() for path in (home / "cache").rglob("*") if path.is_file())
    assert "41414141" not in text
    assert '"multiple_3"' not in text
    tasks = load_tasks(folder / "tasks.jsonl")
    assert {task.family for task in tasks} == {"multiple", "simple_python"}


def test_every_right_answer_is_in_the_vault(wheel, home):
    seal = task_set(str(pulled(wheel)[0])).seal
    assert seal is not None
    vault = home / "data/harnesspro/vault" / seal["taskset_id"]
    content = (vault / "gold.jsonl").read_bytes()
    records = verified_records(content, root=seal["merkle_root"], where="gold")
    assert [record.gold for record in records] == [
        {"math.add": {"a": [41414141], "b": ["", 2.0]}}
    ] * 220
    assert len({record.rest["id"] for record in records}) == 220


def test_the_same_hundred_are_chosen_everywhere(wheel, tmp_path):
    with zipfile.ZipFile(tmp_path / "made.whl") as archive:
        chosen = [r["id"] for r in bfcl_records(archive) if r["family"] == "simple_python"]
    assert len(chosen) == 100
    assert chosen[:3] == ["simple_python_13", "simple_python_12", "simple_python_102"]


def test_a_second_pull_downloads_nothing_and_says_so(wheel):
    folder, _ = pulled(wheel)
    again, said = pulled(wheel)
    assert (again, len(wheel.served)) == (folder, 1)
    assert said[0].startswith("bfcl: already here, 220 tasks")


@pytest.mark.parametrize(
    "lost", ["cache/**/tasks.jsonl", "cache/**/seal.json", "data/**/gold.jsonl"]
)
def test_a_pull_mends_what_is_missing(wheel, home, lost):
    folder, _ = pulled(wheel)
    (path,) = home.glob(lost)
    path.unlink()
    pulled(wheel)
    assert len(wheel.served) == 2
    assert task_set(str(folder)).seal is not None


def test_a_pull_replaces_tasks_that_were_edited(wheel):
    folder, _ = pulled(wheel)
    tasks = folder / "tasks.jsonl"
    tasks.write_text("\n".join(tasks.read_text().split("\n")[1:]))
    with pytest.raises(TasksError, match="changed after it was sealed"):
        task_set("builtin:bfcl")
    pulled(wheel)
    assert len(load_tasks(task_set("builtin:bfcl").tasks_path)) == 220


def test_another_file_than_the_pinned_one_is_refused_and_nothing_kept(wheel, home):
    with pytest.raises(IntegrityError, match="not the package that was pinned"):
        pull_tasks(
            "bfcl",
            say=print,
            catalogue=wheel.catalogue(sha256="0" * 64),
            download=wheel.download,
        )
    assert sorted(path.name for path in home.iterdir()) == ["made.whl"]
    assert not wheel.served[0].exists()


def test_a_failed_download_leaves_what_is_here(wheel):
    folder, _ = pulled(wheel)
    tasks = folder / "tasks.jsonl"
    tasks.write_text("edited by hand")
    with pytest.raises(IntegrityError):
        pull_tasks(
            "bfcl",
            say=print,
            catalogue=wheel.catalogue(sha256="0" * 64),
            download=wheel.download,
        )
    assert tasks.read_text() == "edited by hand"


def test_an_unknown_name_says_what_there_is():
    with pytest.raises(TasksError, match="expected bfcl"):
        pull_tasks("gsm8k", say=print)


# --- sets made here ------------------------------------------------------------------------------


def ensured(name: str, records: Any) -> Path:
    return ensure_sealed(name, records, answer_kind="text", scheme="exact", say=print)


def test_a_set_is_made_once_by_name():
    calls = []

    def draw() -> list[dict[str, Any]]:
        calls.append(1)
        return [record(index) for index in range(3)]

    first = ensured("planted-seed7", draw)
    before = (first / "tasks.jsonl").read_text()
    assert ensured("planted-seed7", draw) == first
    assert ((first / "tasks.jsonl").read_text(), calls) == (before, [1])
    assert ensured("planted-seed8", [record(0)]) != first
    assert [seal.name for _, seal in local_sets()] == ["planted-seed7", "planted-seed8"]


# --- BFCL's gold ---------------------------------------------------------------------------------


def test_what_a_function_requires_may_not_be_left_out():
    truth = [{"math.add": {"a": [1, ""], "b": ["", 2.0]}}]
    gold = bfcl_gold(question("x"), truth)
    assert gold == {"math.add": {"a": [1], "b": ["", 2.0]}}
    assert grade("bfcl", "json", {"name": "math.add", "arguments": {"b": 2}}, gold) == "wrong"
    assert grade("bfcl", "json", {"name": "math.add", "arguments": {"a": 1}}, gold) == "right"
