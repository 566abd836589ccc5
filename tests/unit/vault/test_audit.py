"""What the audit says of a small run's records, each time one thing in them is wrong."""

from typing import Any

import pytest

from harnesspro.core.hashing import content_hash
from harnesspro.core.ports import GradeReply, Opening
from harnesspro.core.records import Task
from harnesspro.core.splits import split
from harnesspro.vault.audit import Entry, Evidence, audit, files_hold, head_of, log_problems
from harnesspro.vault.certificate import certificate, extended, run_events

ROOT = "ab" * 32
KEY = "split-key"
TASKS = tuple(Task(task_id=f"task-{i}", input=f"question {'abcdefghij'[i]}?") for i in range(10))
TRIALS = [{"trial_id": f"t-{i}", "answer": i} for i in range(3)]
FILES = {"run.json": "00", "ledger.db": "11"}
CLOSED = {"event": "closed", "n_files": 2, "root": content_hash(FILES), "files": FILES}


def opening(n_openings: int = 1, canary_hits: int = 0) -> Opening:
    return Opening(
        replies=tuple(
            GradeReply(digest=content_hash(t["trial_id"], t["answer"]), grade="right")
            for t in TRIALS
        ),
        n_openings=n_openings,
        canary_hits=canary_hits,
        merkle_root=ROOT,
    )


def ledger(opened: Opening) -> list[tuple[str, Any]]:
    parts = split(TASKS, split_key=KEY, n_search=4, n_confirm=3)
    sides = {"search": parts.search, "confirm": parts.confirm, "sealed": parts.sealed}
    kept = {name: [task.content_key for task in side] for name, side in sides.items()}
    return [
        ("split", kept),
        *(("trial", trial) for trial in TRIALS),
        ("verdicts", []),
        ("opening", opened.model_dump(mode="json")),
        ("sitting", {"elapsed_s": 1}),
    ]


def evidence(
    *,
    opened: Opening | None = None,
    records: list[tuple[str, Any]] | None = None,
    header: dict[str, Any] | None = None,
    report: dict[str, Any] | None = None,
    tasks: tuple[Task, ...] = TASKS,
) -> Evidence:
    told = opened or opening()
    events = run_events(
        seal={"taskset_id": "set-1", "merkle_root": ROOT, "n": 10},
        isolation="S3",
        firewall="F2",
        search_bits=0.0,
        opening=told,
        n_harnesses=3,
    )
    made = certificate(events)
    counts = {key: made[key] for key in ("leaked_bits", "vault_openings", "canary_hits")}
    levels = {"isolation": "S3", "firewall": "F2"}
    return Evidence(
        certificate=made,
        header={"isolation": "S3", "split_key": KEY, "seal": {"merkle_root": ROOT}}
        | (header or {}),
        report={"certificate": counts, "levels": levels} | (report or {}),
        tasks=tasks,
        ledger=tuple(
            Entry(seq, kind, str(seq), value)
            for seq, (kind, value) in enumerate(records or ledger(told), 1)
        ),
    )


def failing(found: Evidence) -> list[str]:
    return [name for name, problems in audit(found).items() if problems]


def test_a_run_as_it_should_be_has_no_problem():
    assert failing(evidence()) == []


def test_a_run_that_never_opened_a_vault_has_none_either():
    made = certificate(
        run_events(
            seal=None,
            isolation="S3",
            firewall="F1",
            search_bits=0.0,
            opening=None,
            n_harnesses=0,
        )
    )
    header = {"isolation": "S3", "split_key": KEY, "seal": None}
    assert failing(Evidence(certificate=made, header=header, report=None, tasks=TASKS)) == []


def test_another_root_in_the_header_is_another_vault():
    assert failing(evidence(header={"seal": {"merkle_root": "cd" * 32}})) == ["seal"]


def test_levels_cannot_be_improved_in_the_report_or_the_header():
    better = {"levels": {"isolation": "S3", "firewall": "F3"}}
    assert failing(evidence(report=better)) == ["levels"]
    assert failing(evidence(header={"isolation": "S0"})) == ["levels"]


def test_another_split_key_gives_other_search_tasks():
    assert failing(evidence(header={"split_key": "chosen to please"})) == ["split"]


def test_a_task_on_both_sides_of_the_split_is_found():
    records = ledger(opening())
    records[0][1]["confirm"].append(records[0][1]["search"][0])
    assert failing(evidence(records=records)) == ["split"]


def test_tasks_that_are_gone_are_found():
    assert failing(evidence(tasks=TASKS[1:])) == ["split"]


@pytest.mark.parametrize("change", [{"n_openings": 2}, {"merkle_root": "0"}, {"replies": []}])
def test_the_opening_on_record_is_the_one_certified(change):
    records = ledger(opening())
    records[-2] = ("opening", opening().model_dump(mode="json") | change)
    assert failing(evidence(records=records)) == ["opening"]


def test_grades_of_answers_the_run_never_stored_are_found():
    records = ledger(opening())
    records[1] = ("trial", {"trial_id": "t-0", "answer": "another"})
    found = audit(evidence(records=records))
    assert found["opening"] == ["1 graded answers are not among those the run stored"]


@pytest.mark.parametrize("kind", ["trial", "candidate", "verdicts", "picks", "round"])
def test_whatever_decides_after_the_opening_may_have_used_it(kind):
    value = TRIALS[0] if kind == "trial" else {}
    records = [*ledger(opening()), (kind, value)]
    found = audit(evidence(records=records))
    assert found["blind search"] == [f"{kind} records were written after the vault was opened"]


def test_an_opening_without_a_record_of_it_is_found():
    records = [record for record in ledger(opening()) if record[0] != "opening"]
    assert failing(evidence(records=records)) == ["opening"]


def test_a_smaller_bound_than_the_formula_gives_is_found():
    found = evidence(opened=opening(n_openings=4))
    assert failing(found) == []
    bound = next(e for e in found.certificate["events"] if e["event"] == "leak_bound")
    bound["accuracy_points"] = 0.0
    assert failing(found) == ["leak bound"]


def test_counts_in_the_report_are_the_certificates():
    counts = {"leaked_bits": 0, "vault_openings": 0, "canary_hits": 0}
    assert failing(evidence(report={"certificate": counts})) == ["report"]


def test_a_canary_found_outside_the_vault_voids_the_run():
    found = audit(evidence(opened=opening(canary_hits=2)))
    assert found["report"] == ["2 canaries of the vault were found outside it: the run is void"]


def test_records_of_another_form_are_a_problem_and_no_crash():
    records = ledger(opening())
    records[0] = ("split", "nothing")
    assert failing(evidence(records=records)) == ["split"]


def test_only_a_closed_certificate_vouches_for_files():
    made = certificate([{"event": "levels"}])
    assert "does not end with a closing event" in files_hold(made, FILES)[0]
    closed = extended(made, CLOSED)
    assert files_hold(closed, FILES) == []
    assert files_hold(closed, {**FILES, "x": "22"}) == ["x: added"]
    assert "cut" in files_hold(extended(closed, {"event": "levels"}), FILES)[0]


def test_a_closing_event_that_names_other_files_than_its_root_is_found():
    forged = {**CLOSED, "files": {"run.json": "00"}}
    closed = extended(certificate([]), forged)
    assert files_hold(closed, {"run.json": "00"}) == [
        "the closing event's root is not that of its files"
    ]


def test_the_vaults_own_log_tells_of_an_opening_left_out():
    log: list[dict[str, Any]] = [
        {"event": "opening", "n": 1, "run": "r1"},
        {"event": "opening", "n": 2, "run": "r2"},
    ]
    opened = evidence().certificate
    assert log_problems(log, run_id="r1", certificate=opened) == []
    assert log_problems(log, run_id="r2", certificate=opened) == [
        "the vault knows of no such opening"
    ]
    shut = certificate([{"event": "levels"}])
    assert log_problems(log, run_id="r1", certificate=shut) == [
        "the vault was opened for this run, the certificate does not say so"
    ]


def test_the_vaults_own_log_tells_of_a_certificate_written_anew():
    first = extended(evidence().certificate, CLOSED)
    log: list[dict[str, Any]] = [
        {"event": "opening", "n": 1, "run": "r1"},
        {"event": "certified", "run": "r1", "head": head_of(first)},
    ]
    assert log_problems(log, run_id="r1", certificate=first) == []
    anew = extended(evidence().certificate, {**CLOSED, "files": {}, "n_files": 0})
    assert log_problems(log, run_id="r1", certificate=anew) == [
        "the certificate is not the one the vault's log names"
    ]
