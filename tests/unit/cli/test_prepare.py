from pathlib import Path

import pytest

from harnesspro.cli.checkup import examine
from harnesspro.cli.documents import plan_of
from harnesspro.cli.prepare import Prepared, prepare
from harnesspro.config import RunConfig
from harnesspro.core.errors import ConfigError
from harnesspro.core.records import Task
from harnesspro.formats.native import save_harness
from harnesspro.formats.tasksets import TaskSet
from harnesspro.vault.seal import seal_records
from tests.unit.builders import a_harness

FLAGS = {"tasks_ref": "tasks.jsonl", "models": {"writer": "sim/small"}}


def refused(folder, old, new):
    """What is said of a harness whose manifest has `new` in the place of `old`."""
    save_harness(a_harness(), folder)
    manifest = folder / "harness.yaml"
    manifest.write_text(manifest.read_text().replace(old, new))
    with pytest.raises(ConfigError) as caught:
        prepare(str(folder), FLAGS, verb="improve", say=print)
    return str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("{kind: json}", "{kind: code, language: rust}", "answer.language: rust for answers of"),
        ("{kind: json}", "{kind: json, language: python}", "answer.language: python for answers"),
        ('python: "solver.py:solve"', 'command: ["node", "a.js"]', "entry.command: a command"),
        ("about: A", "permits: {hosts: [example.org]}\nabout: A", "permits: not empty"),
    ],
)
def test_what_this_version_would_pass_over_in_silence_is_refused(tmp_path, old, new, told):
    assert told in refused(tmp_path / "mine", old, new)


def test_right_answers_that_are_elsewhere_are_missed_before_anything_is_spent(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    save_harness(a_harness(), tmp_path / "mine")
    seal_records(
        [{"input": word, "gold": 1} for word in "abcd"],
        name="letters",
        answer_kind="json",
        scheme="exact",
        public_dir=tmp_path / "open",
        vault_dir=tmp_path / "elsewhere",
    )
    flags = FLAGS | {"tasks_ref": str(tmp_path / "open")}

    with pytest.raises(ConfigError, match=r"right answers to these tasks are not there.*--no-gold"):
        prepare(str(tmp_path / "mine"), flags, verb="improve", say=print)
    ready = prepare(str(tmp_path / "mine"), flags | {"open_gold": False}, verb="eval", say=print)
    assert len(ready.tasks) == 4


@pytest.mark.parametrize(("asked", "refused_"), [("a", True), ("another", False)])
def test_the_sealed_file_may_not_lie_forgotten_in_the_harness_folder(
    tmp_path, monkeypatch, asked, refused_
):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    save_harness(a_harness(), tmp_path / "mine")
    (tmp_path / "mine" / "examples.jsonl").write_text(
        f'# notes\n{{"input": "{asked}", "gold": 1}}\n{{"input": NaN, "gold": 2}}\n'
    )
    (tmp_path / "tasks.jsonl").write_text("".join(f'{{"input": "{word}"}}\n' for word in "abcd"))
    flags = FLAGS | {"tasks_ref": str(tmp_path / "tasks.jsonl")}
    if not refused_:
        assert len(prepare(str(tmp_path / "mine"), flags, verb="eval", say=print).tasks) == 4
        return
    with pytest.raises(ConfigError, match="holds right answers to these tasks"):
        prepare(str(tmp_path / "mine"), flags, verb="eval", say=print)


def prepared(n_tasks):
    config = RunConfig.model_validate({"verb": "improve", "harness_ref": "mine", **FLAGS})
    tasks = tuple(Task(task_id=f"t-{i}", input=f"q {i}") for i in range(n_tasks))
    found = TaskSet(Path(), Path("tasks.jsonl"), seal=None, split_key="k")
    return Prepared(config, a_harness(), found, tasks, prices=(), isolation="S3")


def test_a_run_folder_that_cannot_be_read_does_not_stand_in_the_way_of_a_plan(tmp_path):
    damaged = tmp_path / "runs/r-1"
    damaged.mkdir(parents=True)
    (damaged / "ledger.db").write_text("")
    (damaged / "run.json").write_text("{}")

    assert plan_of(prepared(30), tmp_path)["measured"] is None


def test_the_checkup_promises_what_the_plan_would_measure(tmp_path):
    save_harness(a_harness(), tmp_path / "mine")
    tasks = tmp_path / "tasks.jsonl"
    words = ("".join(chr(97 + int(digit)) for digit in f"{i:02d}") for i in range(30))
    tasks.write_text("".join(f'{{"input": "{word}"}}\n' for word in words))

    found = examine(str(tmp_path / "mine"), FLAGS | {"tasks_ref": str(tasks)})["harness"]
    assert (found["power"]["n_search"], found["power"]["n_confirm"]) == (20, 10)
