"""The main job end to end: the same processes and code path as a real run, with a simulated model."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest

import harnesspro
from tests.e2e.conftest import ROOT, Ended, Terminal

pytestmark = pytest.mark.timeout(400)
SMALL = ("--n-search", "12", "--n-confirm", "24", "--max-candidates", "2", "--rounds", "1")


def improve(terminal: Terminal, *arguments: str, harness: str = "builtin:planted") -> Ended:
    return terminal.run("improve", harness, "--json", "-q", *arguments)


def essence(document: dict[str, Any]) -> dict[str, Any]:
    """What a run found, without its name, its clock and what it was billed in this sitting."""
    own = {"run_id", "elapsed_s", "spend", "words", "certificate"}
    return {key: value for key, value in document.items() if key not in own}


def n_paid_calls(run: Path) -> int:
    with sqlite3.connect(f"file:{run}/ledger.db?mode=ro", uri=True) as ledger:
        return int(
            ledger.execute("select count(*) from calls where replay_of is null").fetchone()[0]
        )


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> tuple[Terminal, Ended]:
    """One run as the README starts it."""
    terminal = Terminal(tmp_path_factory.mktemp("user"))
    return terminal, improve(terminal, "--rounds", "2")


def test_a_run_accepts_a_cheaper_harness_and_prints_the_document(
    full: tuple[Terminal, Ended],
) -> None:
    _, ended = full
    assert ended.code == 0, ended.err
    document = ended.document
    accepted = [v for v in document["verdicts"] if v["kind"] == "accept"]
    assert document["schema"] == "harnesspro/run@1"
    assert accepted
    assert accepted[0]["changed_upper"] <= 0.05
    assert accepted[0]["cost_ratio"]["high"] < 1
    assert document["levels"]["isolation"] == "S3"
    assert document["baseline"]["accuracy"]["n"] == 64
    assert document["certificate"] == {
        "leaked_bits": 0,
        "vault_openings": 1,
        "canary_hits": 0,
        "leak_bound": 0.0,
    }


def test_the_front_is_not_dominated_and_holds_the_named_picks(full: tuple[Terminal, Ended]) -> None:
    document = full[1].document
    ids = {point["candidate_id"] for point in document["front"]}
    safe = document["picks"]["cheapest_safe"]
    assert {document["picks"]["knee"], document["picks"]["best"]} <= ids
    assert safe in ids | {v["candidate_id"] for v in document["verdicts"]}
    assert document["findings"]
    assert sum(f["wasted_nanos"] for f in document["findings"]) <= 1e9 * document["diagnosed_usd"]


def test_the_run_folder_stands_alone(full: tuple[Terminal, Ended]) -> None:
    terminal, ended = full
    (run,) = terminal.runs()
    names = {path.name for path in run.iterdir()}
    expected = {"run.json", "ledger.db", "graph.db", "trees.git", "trajectories"}
    assert expected | {"report.json", "report.html", "certificate.json"} <= names
    assert json.loads((run / "report.json").read_text()) == ended.document
    gold = [path.name for path in run.rglob("*") if "gold" in path.name]
    assert gold == []


def test_looking_verbs_speak_of_the_run(full: tuple[Terminal, Ended], tmp_path: Path) -> None:
    terminal, ended = full
    accepted = next(v["candidate_id"] for v in ended.document["verdicts"] if v["kind"] == "accept")
    assert terminal.run("show", "--json").document == ended.document
    assert terminal.run("show").code == 0
    assert terminal.run("diff", "latest", "baseline", accepted).out
    page = tmp_path / "page.html"
    assert terminal.run("view", "latest", "--html", str(page)).code == 0
    assert accepted.removeprefix("h-")[:6] in page.read_text()
    diagnosis = terminal.run("diagnose", "latest", "--json").document
    assert diagnosis["schema"] == "harnesspro/diagnosis@1"
    assert diagnosis["findings"]


def test_the_exported_harness_answers_as_the_run_recorded(
    full: tuple[Terminal, Ended], tmp_path: Path
) -> None:
    terminal, ended = full
    accepted = next(v["candidate_id"] for v in ended.document["verdicts"] if v["kind"] == "accept")
    exported = terminal.run("export", "latest", accepted, "--to", str(tmp_path / "lean"))
    assert exported.code == 0, exported.err
    agent = harnesspro.load(tmp_path / "lean")
    (run,) = terminal.runs()
    tasks = [json.loads(line) for line in (run / "tasks.jsonl").read_text().splitlines()]
    by_id = {task["task_id"]: task for task in tasks}
    with sqlite3.connect(f"file:{run}/ledger.db?mode=ro", uri=True) as ledger:
        rows = ledger.execute("select value from records where kind = 'trial'").fetchall()
    trials = [json.loads(value) for (value,) in rows]
    recorded = [t for t in trials if t["harness_id"] == accepted and t["draw"] == "search/0"]
    assert recorded
    for trial in recorded:
        result = agent.run(by_id[trial["task_id"]]["input"])
        assert (result.outcome, result.answer) == (trial["outcome"], trial["answer"])


def test_a_second_run_starts_from_the_archive_of_the_first(full: tuple[Terminal, Ended]) -> None:
    terminal, _ = full
    ended = improve(terminal, "--rounds", "1", "--seed", "11")
    assert ended.code == 0, ended.err
    proposers = {point["proposer"] for point in ended.document["candidates"]}
    assert any(proposer.startswith("skeleton:") for proposer in proposers), proposers


def test_the_graph_checkpoints_are_no_second_truth(full: tuple[Terminal, Ended]) -> None:
    terminal, whole = full
    run = terminal.runs()[0]
    for path in run.glob("graph.db*"):
        path.unlink()
    again = terminal.run("improve", "--resume", run.name, "--json", "-q")
    assert essence(again.document) == essence(whole.document)
    assert again.document["spend"] == whole.document["spend"]
    assert again.document["certificate"]["vault_openings"] == 1


def test_ctrl_c_keeps_what_was_measured_and_names_the_way_on(terminal: Terminal) -> None:
    child = terminal.start("improve", "builtin:planted", *SMALL)
    wait_for_trials(terminal, n=5)
    os.killpg(child.pid, signal.SIGINT)
    _, err = child.communicate(timeout=60)
    assert child.returncode == 130
    assert "--resume" in err
    assert terminal.run("improve", "--resume", "latest", "--json", "-q").code == 0


def test_a_run_stopped_while_it_confirms_goes_on_to_its_end(terminal: Terminal) -> None:
    child = terminal.start("improve", "builtin:planted", "-q", *SMALL)
    wait_for_trials(terminal, n=5, draw="confirm/0")
    os.killpg(child.pid, signal.SIGINT)
    child.communicate(timeout=60)
    assert child.returncode == 130
    resumed = terminal.run("improve", "--resume", "latest", "--json", "-q")
    assert resumed.code in {0, 5}, resumed.err
    assert resumed.document["verdicts"]
    assert resumed.document["certificate"]["vault_openings"] == 1


def test_a_diagnosis_stopped_half_way_is_made_whole_when_it_goes_on(terminal: Terminal) -> None:
    child = terminal.start("diagnose", "builtin:planted", "-q", "--n-tasks", "30")
    wait_for_trials(terminal, n=3)
    os.killpg(child.pid, signal.SIGINT)
    child.communicate(timeout=60)
    assert child.returncode == 130
    resumed = terminal.run("improve", "--resume", "latest", "--json", "-q")
    assert resumed.code == 0, resumed.err
    assert resumed.document["n_trials"] == 30


def test_a_second_orchestrator_on_the_same_run_is_refused(terminal: Terminal) -> None:
    child = terminal.start("improve", "builtin:planted", "-q", *SMALL)
    wait_for_trials(terminal, n=3)
    second = terminal.run("improve", "--resume", "latest", "-q")
    child.communicate(timeout=120)
    assert second.code == 3
    assert "run" in second.err
    assert child.returncode == 0


def test_a_harness_with_nothing_left_to_save_ends_with_exit_code_5(terminal: Terminal) -> None:
    lean = terminal.home / "lean"
    shutil.copytree(ROOT / "tests" / "data" / "planted_lean", lean)
    ended = improve(terminal, "--rounds", "1", harness=str(lean))
    assert ended.code == 5, ended.err
    document = ended.document
    assert [point["candidate_id"] for point in document["front"]] == [
        document["baseline"]["candidate_id"]
    ]
    assert document["words"][0] == "No change beat the harness as it came."
    assert document["power"]["agreement_bound_at_zero"] < 0.05


def test_a_budget_that_is_gone_before_any_improvement_ends_with_exit_code_4(
    terminal: Terminal,
) -> None:
    ended = improve(terminal, *SMALL, "--budget-usd", "0.0008")
    assert ended.code == 4, ended.err
    spent = [json.loads(line) for line in ended.out.splitlines()]
    assert all(document["spend"]["paid_usd"] <= 0.0008 for document in spent)


def test_a_planner_brain_proposes_on_the_improvers_purse(terminal: Terminal) -> None:
    ended = improve(terminal, *SMALL, "--improver-model", "sim/planner")
    assert ended.code == 0, ended.err
    assert ended.document["spend"]["improver_usd"] > 0
    (run,) = terminal.runs()
    with sqlite3.connect(f"file:{run}/ledger.db?mode=ro", uri=True) as ledger:
        rows = ledger.execute("select value from records where kind = 'proposal'").fetchall()
    authors = {patch["proposer"] for (value,) in rows for patch in json.loads(value)}
    assert {"planner:cost", "planner:success"} & authors, authors


def test_a_dry_run_prints_the_plan_and_makes_nothing(terminal: Terminal) -> None:
    ended = terminal.run("improve", "builtin:planted", "--dry-run", "--json")
    assert ended.code == 0, ended.err
    assert ended.document["trials"]["high"] > ended.document["trials"]["low"] > 0
    assert terminal.runs() == []


def test_eval_opens_the_vault_only_when_asked(terminal: Terminal) -> None:
    shut = terminal.run("eval", "builtin:planted", "--n-tasks", "8", "--json", "-q").document
    opened = terminal.run(
        "eval", "builtin:planted", "--n-tasks", "8", "--gold", "--json", "-q"
    ).document
    assert shut["accuracy"] is None
    assert shut["certificate"]["vault_openings"] == 0
    assert opened["accuracy"]["n"] == 8
    assert opened["certificate"]["vault_openings"] == 1


def wait_for_trials(terminal: Terminal, *, n: int, draw: str = "") -> Path:
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        for path in terminal.home.glob(".harnesspro/runs/*/ledger.db"):
            try:
                with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as ledger:
                    query = "select value from records where kind = 'trial'"
                    trials = [json.loads(value) for (value,) in ledger.execute(query)]
                    if sum(trial["draw"].startswith(draw) for trial in trials) >= n:
                        return path
            except sqlite3.OperationalError:
                pass
        time.sleep(0.05)
    raise AssertionError(f"no {n} trials on record within 90 s")


def test_the_owners_checks_run_in_the_sandbox_and_move_the_score(terminal: Terminal) -> None:
    mine = terminal.home / "mine"
    shutil.copytree(ROOT / "harnesses" / "planted", mine)
    (mine / "short.py").write_text(
        "import sys\n"
        "answer = open('/work/answer.txt').read()\n"
        "sys.exit(0 if len(answer) < 5 else 1)\n"
    )
    with (mine / "harness.yaml").open("a") as manifest:
        manifest.write('checks:\n  - {name: short, command: ["python3", "/harness/short.py"]}\n')
    plain = terminal.run("eval", "builtin:planted", "--n-tasks", "8", "--json", "-q").document
    checked = terminal.run("eval", str(mine), "--n-tasks", "8", "--json", "-q").document
    (run,) = [
        r
        for r in terminal.runs()
        if json.loads((r / "run.json").read_text())["config"]["harness_ref"] == str(mine)
    ]
    with sqlite3.connect(f"file:{run}/ledger.db?mode=ro", uri=True) as ledger:
        rows = ledger.execute("select value from records where kind = 'user_check'").fetchall()
    said = {json.loads(value)["passed"] for (value,) in rows}
    assert said == {True, False}
    assert checked["score"]["mean"] < plain["score"]["mean"]
