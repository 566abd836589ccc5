import hashlib
import json
import stat
from pathlib import Path

import pytest

from harnesspro.core.errors import TasksError
from harnesspro.formats.paths import cache_dir, data_dir, vault_home
from harnesspro.formats.tasks import load_tasks
from harnesspro.formats.tasksets import Seal, task_set

LINE = '{"input":"q"}\n'


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path


def seal(**changes: object) -> Seal:
    fields = {
        "name": "demo",
        "taskset_id": "set-1",
        "merkle_root": "ab",
        "n": 1,
        "n_gold": 1,
        "answer_kind": "text",
        "scheme": "exact",
        "split_key": "k",
        "families": ("all",),
        "tasks_sha256": hashlib.sha256(LINE.encode()).hexdigest(),
    }
    return Seal.model_validate(fields | changes)


def put(folder: Path, *, header: str | None = None) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tasks.jsonl").write_text(LINE)
    if header is not None:
        (folder / "seal.json").write_text(header)
    return folder


def test_a_builtin_set_is_found_by_name(home):
    folder = put(home / "cache/harnesspro/tasks/demo", header=seal().model_dump_json())
    found = task_set("builtin:demo")
    assert (found.folder, found.tasks_path) == (folder, folder / "tasks.jsonl")
    assert (found.seal, found.split_key) == (json.loads(seal().model_dump_json()), "k")


def test_an_absent_builtin_set_names_the_command_that_fetches_it():
    with pytest.raises(TasksError, match="run: harnesspro tasks pull bfcl"):
        task_set("builtin:bfcl")


@pytest.mark.parametrize("ref", ["builtin:../x", "builtin:", "nowhere", "nowhere/tasks.jsonl"])
def test_what_is_no_task_set_is_refused(ref):
    with pytest.raises(TasksError):
        task_set(ref)


def test_folder_and_file_name_the_same_set(tmp_path):
    folder = put(tmp_path / "mine")
    assert task_set(str(folder)) == task_set(str(folder / "tasks.jsonl"))
    assert task_set(str(folder)).seal is None


def test_a_seal_belongs_to_its_tasks_file_alone(tmp_path):
    folder = put(tmp_path / "mine", header=seal().model_dump_json())
    (folder / "other.jsonl").write_text(LINE)
    assert task_set(str(folder / "other.jsonl")).seal is None
    assert task_set(str(folder / "tasks.jsonl")).seal is not None


def test_unsealed_tasks_split_the_same_way_every_time(tmp_path):
    first, second = put(tmp_path / "a"), put(tmp_path / "b")
    keys = {task_set(str(path)).split_key for path in (first, second, first)}
    assert len(keys) == 1
    kept = data_dir() / "split.key"
    assert kept.read_text() not in keys
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert [path.name for path in data_dir().iterdir()] == ["split.key"]


def test_another_user_splits_another_way(tmp_path, monkeypatch):
    folder = put(tmp_path / "a")
    key = task_set(str(folder)).split_key
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "else"))
    assert task_set(str(folder)).split_key != key


def test_tasks_changed_after_sealing_are_refused(tmp_path):
    header = seal(tasks_sha256="0" * 64).model_dump_json()
    with pytest.raises(TasksError, match="changed after it was sealed"):
        task_set(str(put(tmp_path / "mine", header=header)))


@pytest.mark.parametrize("header", ["{", "[]", '{"format":"other"}'])
def test_a_seal_that_is_none_is_named(tmp_path, header):
    with pytest.raises(TasksError, match=r"seal\.json"):
        task_set(str(put(tmp_path / "mine", header=header)))


def test_a_relative_base_directory_counts_as_unset(monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("XDG_DATA_HOME", "")
    monkeypatch.setenv("HOME", "/home/someone")
    assert cache_dir() == Path("/home/someone/.cache/harnesspro")
    assert vault_home() == Path("/home/someone/.local/share/harnesspro/vault")


def test_a_task_may_hold_any_line_separator(tmp_path):
    path = tmp_path / "tasks.jsonl"
    path.write_text(json.dumps({"input": "a\u2028b"}, ensure_ascii=False) + "\r\n")
    assert [task.input for task in load_tasks(path)] == ["a\u2028b"]
