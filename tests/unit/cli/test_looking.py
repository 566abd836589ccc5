"""show, view, diff, trace, export: on a finished run, and where there is nothing to look at."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from harnesspro.cli import looking
from harnesspro.core.errors import ConfigError, HarnessProError, IntegrityError, UsageError
from harnesspro.formats.native import load_harness
from tests.unit.cli.runs import BASE, BETTER, RUN_ID, TASKS, finished_run, report

BASE_ID, BETTER_ID = BASE.harness_id, BETTER.harness_id


@pytest.fixture
def out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    finished_run(tmp_path / ".harnesspro")
    return tmp_path / ".harnesspro"


def run(*arguments: str) -> object:
    app = typer.Typer()
    looking.register(app)
    return app(args=list(arguments), prog_name="harnesspro", standalone_mode=False)


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert run(*arguments) == 0
    return capsys.readouterr().out


def document(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    value = json.loads(printed(capsys, *arguments))
    assert isinstance(value, dict)
    return value


# --- show and view -----------------------------------------------------------------------------


def test_show_prints_the_summary_of_the_latest_run(capsys, out):
    text = printed(capsys, "show")
    assert (
        text.splitlines()[1] == "  toy is 67 % cheaper: $0.042 instead of $0.126 for 1,000 tasks."
    )
    assert f"harnesspro export {RUN_ID} {BETTER_ID[2:8]} --to toy-{BETTER_ID[2:8]}" in text


def test_show_json_is_the_report_itself(capsys, out):
    shown = document(capsys, "show", RUN_ID[:8], "--json")
    assert shown == report().model_dump(mode="json", by_alias=True)


def test_show_csv_has_a_line_a_harness(capsys, out):
    lines = list(csv.DictReader(io.StringIO(printed(capsys, "show", "--csv"))))
    assert [line["candidate_id"] for line in lines] == [BASE_ID, BETTER_ID]


def test_show_takes_one_format_at_a_time(out):
    with pytest.raises(UsageError, match="expected one of the two"):
        run("show", "--csv", "--json")


def test_show_draws_the_front_of_those_that_are_fast_enough(capsys, out):
    text = printed(capsys, "show", "--max-latency-s", "1.5")
    assert text.splitlines()[1] == (
        "  No harness takes at most 1.5 s a task on average, so there is no front."
    )
    shown = document(capsys, "show", "--json", "--max-latency-s", "2")
    assert [one["candidate_id"] for one in shown["front"]] == [BETTER_ID]
    assert shown["words"][0].startswith("The front is of harnesses that take at most 2.0 s")
    lines = list(
        csv.DictReader(io.StringIO(printed(capsys, "show", "--csv", "--max-latency-s", "1")))
    )
    assert [line["kind"] for line in lines] == ["baseline", "other"]


def test_show_of_an_eval_run_prints_its_own_document(capsys, out):
    other = {"schema": "harnesspro/eval@1", "run_id": RUN_ID}
    (out / "runs" / RUN_ID / "report.json").write_text(json.dumps(other))
    assert document(capsys, "show", "--json") == other
    with pytest.raises(UsageError, match="an improve run"):
        run("show", "--csv")
    with pytest.raises(UsageError, match="--max-latency-s"):
        run("show", "--max-latency-s", "2")


@pytest.mark.parametrize("schema", [None, "x", "harnesspro/eval@1", "harnesspro/diagnosis@1"])
def test_a_report_that_lost_its_content_is_said_to_be_damaged(out, schema):
    damaged = {} if schema is None else {"schema": schema}
    (out / "runs" / RUN_ID / "report.json").write_text(json.dumps(damaged))
    with pytest.raises(IntegrityError, match=r"report\.json"):
        run("show")


def test_view_writes_the_page_into_the_run_folder_once(capsys, out):
    page = out / "runs" / RUN_ID / "report.html"
    assert printed(capsys, "view") == f"{page}\n"
    assert "toy is 67 % cheaper" in page.read_text()
    page.write_text("kept")
    assert printed(capsys, "view", "latest") == f"{page}\n"
    assert page.read_text() == "kept"


def test_view_writes_where_it_is_told(capsys, out, tmp_path):
    assert printed(capsys, "view", "--html", "x.html") == "x.html\n"
    assert (tmp_path / "x.html").read_text().startswith("<!doctype html>")
    with pytest.raises(ConfigError, match="cannot write: No such file"):
        run("view", "--html", "nowhere/x.html")


# --- diff --------------------------------------------------------------------------------------

PROMPT_DIFF = f"""\
--- baseline/prompts/system.md
+++ {BETTER_ID[2:10]}/prompts/system.md
@@ -1,3 +1,3 @@
 Think hard.
-Be kind.
+Be brief.\\x1b[31m
 Answer.
"""


@pytest.mark.parametrize(
    "name", [BETTER_ID, BETTER_ID[:8], BETTER_ID[2:8], "knee", "cheapest_safe", "cheapest-safe"]
)
def test_a_diff_is_unified_and_shows_hidden_characters(capsys, out, name):
    text = printed(capsys, "diff", "latest", "baseline", name)
    assert text.endswith(PROMPT_DIFF)
    assert text.startswith("--- baseline/budgets.yaml\n")


def test_a_diff_as_a_document_has_a_file_each(capsys, out):
    value = document(capsys, "diff", RUN_ID, "knee", "baseline", "--json")
    assert [value[key] for key in ("schema", "run_id", "a", "b")] == [
        "harnesspro/diff@1",
        RUN_ID,
        BETTER_ID,
        BASE_ID,
    ]
    assert [(f["path"], f["status"]) for f in value["files"]] == [
        ("budgets.yaml", "changed"),
        ("prompts/system.md", "changed"),
    ]
    assert "+samples: 3\n" in value["files"][0]["diff"]


def test_a_diff_with_itself_says_so(capsys, out):
    assert run("diff", "latest", "knee", "knee") == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.endswith("are the same harness\n")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("best", "best: no such point on the front"),
        ("zzz", f"zzz: no such candidate in run {RUN_ID}; expected baseline, knee, cheapest_safe"),
        ("h-", "h-: begins 2 candidates"),
    ],
)
def test_an_unknown_candidate_lists_what_there_is(out, name, message):
    with pytest.raises(UsageError) as caught:
        run("diff", "latest", "baseline", name)
    assert str(caught.value).startswith(message)


# --- trace -------------------------------------------------------------------------------------


def test_a_trace_reads_as_what_happened(capsys, out):
    assert printed(capsys, "trace", "latest", "baseline", "cc") == (
        f"{TASKS[2]}  {BASE_ID}  search/0  answered  1 call  $0.00000250  1.5 s  S3\n\n"
        "--- 1 system\nBe brief.\n\n"
        "--- 2 user\n2+2?\n\n"
        "--- 3 writer (sim/small, 10 in, 3 out, $0.00000250, 1.5 s, stop)\n"
        "four\\x1b]0;x\\x07\n\n"
        "--- note\nvoted\n\n"
        '--- answer\n{\n  "arguments": {\n    "x": "\\u001b[31m"\n  },\n  "name": "f"\n}\n'
    )


def test_a_trace_as_a_document_carries_every_draw_in_atif(capsys, out):
    value = document(capsys, "trace", "latest", "knee", TASKS[0], "--json")
    trajectories = value.pop("trajectories")
    assert value == {
        "schema": "harnesspro/trace@1",
        "run_id": RUN_ID,
        "candidate_id": BETTER_ID,
        "task_id": TASKS[0],
    }
    assert [t["schema_version"] for t in trajectories] == ["ATIF-v1.8"] * 2
    assert [t["extra"]["harnesspro"]["draw"] for t in trajectories] == ["search/0", "search/1"]
    assert trajectories[0]["agent"]["name"] == "toy"


@pytest.mark.parametrize(
    ("task", "message"),
    [
        ("task-aa", "task-aa: begins 2 tasks; expected task-aaaa000000000000, task-aabb"),
        ("zz", f"zz: no trial of {BASE_ID} on such a task; expected one of task-aaaa"),
    ],
)
def test_an_unknown_task_lists_what_there_is(out, task, message):
    with pytest.raises(UsageError) as caught:
        run("trace", "latest", "baseline", task)
    assert str(caught.value).startswith(message)


# --- export ------------------------------------------------------------------------------------


def test_an_export_is_the_harness_itself_under_the_same_id(capsys, out, tmp_path):
    assert printed(capsys, "export", "latest", "knee", "--to", "mine") == "mine\n"
    assert load_harness(tmp_path / "mine").harness_id == BETTER_ID
    assert load_harness(tmp_path / "mine").knob_values == {"samples": 1}


def test_its_provenance_says_where_it_comes_from(capsys, out, tmp_path):
    value = document(capsys, "export", "latest", "knee", "--to", "mine", "--json")
    provenance = json.loads((tmp_path / "mine" / "provenance.json").read_text())
    assert value == {
        "schema": "harnesspro/export@1",
        "path": "mine",
        "run_id": RUN_ID,
        "candidate_id": BETTER_ID,
        "harness_id": BETTER_ID,
        "stamp": "confirmed",
        "verdict": "accept",
        "isolation": "S3",
        "files": sorted(BETTER.files),
    }
    digests = {
        path: hashlib.sha256((tmp_path / "mine" / path).read_bytes()).hexdigest()
        for path in BETTER.files
    }
    assert provenance["files"] == digests
    assert provenance["approved"] == {"solver.py": digests["solver.py"]}
    assert provenance["parent_id"] == BASE_ID
    assert provenance["models"] == report().models
    assert provenance["changes"] == [
        {
            "candidate_id": BETTER_ID,
            "summary": "One sample instead of three.",
            "proposer": "operator:fewer_samples",
            "direction": "cost",
            "hypothesis": "Samples agree.",
            "knobs": {"samples": 1},
            "paths": ["prompts/system.md"],
        }
    ]


def test_an_export_never_overwrites(out, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("keep me")
    with pytest.raises(ConfigError, match="is not empty"):
        run("export", "latest", "knee", "--to", "mine")
    assert os.listdir(tmp_path / "mine") == ["notes.txt"]


def test_a_run_under_way_can_be_compared_but_not_exported(capsys, out, tmp_path):
    (out / "runs" / RUN_ID / "report.json").unlink()
    assert "samples: 1" in printed(capsys, "diff", "latest", "baseline", BETTER_ID)
    with pytest.raises(ConfigError, match=f"no report yet.*--resume {RUN_ID}"):
        run("export", "latest", BETTER_ID, "--to", "mine")
    assert not (tmp_path / "mine").exists()


# --- nothing there -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        ("show",),
        ("view",),
        ("diff", "latest", "a", "b"),
        ("trace", "latest", "a", "b"),
        ("export", "latest", "a", "--to", "x"),
    ],
)
def test_without_a_run_every_verb_names_the_command_that_makes_one(tmp_path, arguments):
    with pytest.raises(HarnessProError, match="start one with: harnesspro improve") as caught:
        run(*arguments, "--out", str(tmp_path))
    assert caught.value.exit_code == 2


def test_show_loads_neither_the_loop_nor_a_provider_nor_statistics(out):
    code = (
        "import sys, typer\n"
        "from harnesspro.cli import looking\n"
        "app = typer.Typer(); looking.register(app)\n"
        "app(args=['show'], standalone_mode=False)\n"
        "heavy = {'scipy', 'langgraph', 'litellm', 'altair', 'git', 'optuna', 'numpy'}\n"
        "print(sorted(heavy & {name.partition('.')[0] for name in sys.modules}))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "[]"
