import io
import socket
from pathlib import Path

import pytest
from rich.console import Console

from harnesspro.cli.checkup import examine
from harnesspro.cli.documents import plan_of
from harnesspro.cli.prepare import Prepared, prepare
from harnesspro.config import RunConfig
from harnesspro.core.errors import ConfigError, ModelUnknown, ProviderError
from harnesspro.core.records import Task
from harnesspro.formats.native import save_harness
from harnesspro.formats.tasksets import TaskSet
from harnesspro.vault.seal import seal_records
from harnesspro.view.plain import print_plan
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


@pytest.fixture
def mine(tmp_path):
    """A harness folder and the flags of a run of it."""
    save_harness(a_harness(), tmp_path / "mine")
    (tmp_path / "tasks.jsonl").write_text("".join(f'{{"input": "{word}"}}\n' for word in "abcd"))
    return str(tmp_path / "mine"), FLAGS | {"tasks_ref": str(tmp_path / "tasks.jsonl")}


def test_the_models_of_channels_are_checked_and_priced_before_the_run(mine):
    folder, flags = mine
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/v"
        channels = ("panel:sim/planner", "judge:sim/planner", f"verifier:{url}")
        ready = prepare(folder, flags | {"channels": channels}, verb="improve", say=print)

    assert [(price.model, price.paid) for price in ready.prices] == [
        ("sim/small", True),
        ("sim/planner", True),
        (f"verifier/{url}", False),
    ]
    plan = plan_of(ready, Path(folder).parent)
    assert (plan["channels"], plan["n_probes"]) == (list(channels), 0)
    printed = io.StringIO()
    print_plan(plan, Console(file=printed, width=200))
    assert f"Asked where answers differ: {', '.join(channels)}" in printed.getvalue()


@pytest.mark.parametrize(
    ("channel", "error", "told"),
    [
        ("judge:sim/nobody", ModelUnknown, "plays no such model"),
        ("verifier:ftp://a", ModelUnknown, "no http or https address"),
        ("verifier:http://127.0.0.1:9/", ProviderError, r"nothing answers at 127\.0\.0\.1:9"),
    ],
)
def test_a_channel_that_cannot_be_asked_is_said_before_the_run(mine, channel, error, told):
    folder, flags = mine
    with pytest.raises(error, match=told):
        prepare(folder, flags | {"channels": (channel,)}, verb="improve", say=print)


def test_a_judge_of_the_harnesss_own_model_is_let_in_with_a_word_of_warning(mine):
    folder, flags = mine
    for channel, n_words in (("judge:sim/small", 1), ("judge:sim/planner", 0)):
        said: list[str] = []
        prepare(folder, flags | {"channels": (channel,)}, verb="improve", say=said.append)
        assert [line.partition(", so")[0] for line in said] == [
            "judge:sim/small: the harness asks the same model"
        ] * n_words


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
