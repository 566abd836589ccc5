import json
from typing import Any

import pytest

from harnesspro.checks.code_suite import signed
from harnesspro.core.answers import cluster
from harnesspro.core.errors import HarnessProError
from harnesspro.core.hashing import content_id
from harnesspro.core.ports import SandboxResult, SandboxSpec
from harnesspro.core.records import AnswerSpec, Check, UserCheck
from harnesspro.stages.check_answers import (
    CheckBench,
    check_answers,
    results_on_record,
    user_checks,
)
from harnesspro.stages.programs import Start, answer_name, answer_text
from harnesspro.testing.doubles import MemoryLedger, ScriptedSandbox
from tests.unit.stages.trials import HARNESS, NOT_EMPTY, a_task, a_trial

CHECK_ID = content_id("c", "not_empty", NOT_EMPTY.command)
TASKS = {name: a_task(name, files={"in/a.txt": name}) for name in ("t1", "t2", "a/b")}


def result(ended="exited", exit_code=0):
    return SandboxResult(ended=ended, exit_code=exit_code, result=None, stderr="why\n", wall_s=0.1)


def key(answer):
    return cluster("json", "answered", answer)


def bench(script, *checks, ledger=None):
    manifest = HARNESS.manifest.model_copy(update={"checks": checks or (NOT_EMPTY,)})
    return CheckBench(
        sandbox=ScriptedSandbox(script),
        ledger=ledger or MemoryLedger(),
        manifest=manifest,
        code_dir="/staged/h",
    )


def checked(script, *trials):
    """What stands on record after these trials were checked."""
    under_test = bench(script)
    check_answers(trials, TASKS, under_test)
    return results_on_record(under_test.ledger)


def test_the_owners_checks_are_admitted_at_their_word():
    manifest = HARNESS.manifest.model_copy(update={"checks": (NOT_EMPTY,)})
    assert user_checks(manifest) == (
        Check(
            check_id=CHECK_ID,
            family="user",
            name="not_empty",
            writer="user",
            admitted=True,
            reason="the owner's own check",
        ),
    )


def test_a_check_finds_the_answer_beside_the_tasks_files_and_no_broker():
    under_test = bench(lambda spec: result())
    check_answers([a_trial(answer={"a": "é"})], TASKS, under_test)

    assert isinstance(under_test.sandbox, ScriptedSandbox)
    assert under_test.sandbox.specs == [
        SandboxSpec(
            name="check-not_empty",
            code_dir="/staged/h",
            argv=NOT_EMPTY.command,
            payload=json.dumps({"task_id": "t1", "input": {"request": "do t1"}}),
            files={"in/a.txt": "t1", "answer.json": '{"a": "é"}'},
            broker=False,
            wall_s=180.0,
            output_bytes=1_000_000,
        )
    ]


@pytest.mark.parametrize(
    ("ended", "passed"),
    [
        (result(), True),
        (result(exit_code=1), False),
        (result("wall", None), False),
        (result("output", None), False),
        (result("killed", None), False),
    ],
)
def test_an_answer_passes_where_the_check_exits_with_0(ended, passed):
    assert checked([ended], a_trial()) == {(CHECK_ID, "t1", key(1)): passed}


def test_a_check_that_could_not_start_is_started_again_and_says_nothing_of_the_answer():
    refused = result("refused", None)
    assert checked([refused, result()], a_trial()) == {(CHECK_ID, "t1", key(1)): True}

    under_test = bench([refused, refused])
    with pytest.raises(HarnessProError, match=r"check not_empty: the sandbox did not start it"):
        check_answers([a_trial()], TASKS, under_test)
    assert results_on_record(under_test.ledger) == {}


def test_an_answer_is_checked_once_however_often_and_in_what_spelling_it_was_given():
    found = checked(
        [result(), result(exit_code=1), result()],
        a_trial(answer=1),
        a_trial(answer=1.0, harness_id="v"),
        a_trial(answer=2, harness_id="v"),
        a_trial("t2", answer=1),
    )
    assert found == {
        (CHECK_ID, "t1", key(1)): True,
        (CHECK_ID, "t1", key(2)): False,
        (CHECK_ID, "t2", key(1)): True,
    }


def test_where_there_is_no_answer_nothing_is_checked():
    kinds = ("malformed", "limit", "crashed", "void")
    assert checked([], *(a_trial(outcome=outcome) for outcome in kinds)) == {}


def test_a_result_on_record_stands():
    ledger = MemoryLedger()
    check_answers([a_trial()], TASKS, bench([result(exit_code=1)], ledger=ledger))
    check_answers([a_trial()], TASKS, bench([], ledger=ledger))
    assert results_on_record(ledger) == {(CHECK_ID, "t1", key(1)): False}


def test_every_check_has_its_own_word():
    other = UserCheck(name="short", command=("sh", "short.sh"))
    under_test = bench([result(), result(exit_code=1)], NOT_EMPTY, other)
    check_answers([a_trial()], TASKS, under_test)

    ids = [check.check_id for check in user_checks(under_test.manifest)]
    assert results_on_record(under_test.ledger) == {
        (ids[0], "t1", key(1)): True,
        (ids[1], "t1", key(1)): False,
    }


def test_a_task_id_may_hold_slashes():
    assert checked([result()], a_trial("a/b")) == {(CHECK_ID, "a/b", key(1)): True}


# --- generated programs --------------------------------------------------------------------------


def program(name, text="import sys"):
    return Check(check_id=f"c-{name}", family="property", name=name, writer="program", program=text)


def reporting(found, *, key=None):
    """A sandbox in which the program reports this, signed with the start's key unless told so."""

    def run(spec: SandboxSpec) -> SandboxResult:
        body = json.dumps(found)
        mark = signed(key or json.loads(spec.payload)["key"], body)
        data = json.dumps({"body": body, "mark": mark}).encode()
        return SandboxResult("exited", 0, data, "", 0.1)

    return run


def said(script, *programs, trials=None, ledger=None, **changes: Any):
    """What these programs said, and how often anything was started."""
    under_test = CheckBench(
        sandbox=ScriptedSandbox(script),
        ledger=ledger or MemoryLedger(),
        manifest=HARNESS.manifest,
        code_dir="/staged/h",
        programs=programs,
        **changes,
    )
    check_answers(trials or (a_trial(),), TASKS, under_test)
    assert isinstance(under_test.sandbox, ScriptedSandbox)
    found = {name: share for (name, _, _), share in results_on_record(under_test.ledger).items()}
    return found, len(under_test.sandbox.specs)


@pytest.mark.parametrize(("exit_code", "found"), [(0, {"c-a": 1.0}), (1, {"c-a": 0.0}), (77, {})])
def test_the_exit_code_of_a_program_that_reports_nothing_speaks(exit_code, found):
    assert said([result(exit_code=exit_code)], program("a")) == (found, 1)


def test_checks_that_are_one_program_are_decided_in_one_start_and_may_be_silent():
    script = reporting({"a": 0.25, "b": None, "c": 1.0})
    assert said(script, program("a"), program("b"), program("c")) == ({"c-a": 0.25, "c-c": 1.0}, 1)


def test_checks_of_different_programs_are_started_one_by_one():
    two = [result(), result(exit_code=1)]
    assert said(two, program("a"), program("b", "other")) == ({"c-a": 1.0, "c-b": 0.0}, 2)


def test_a_report_that_another_wrote_is_none_and_the_answer_fails_what_it_would_have_said():
    forged = reporting({"a": 1.0, "b": 1.0}, key="guessed")
    assert said(forged, program("a"), program("b")) == ({"c-a": 0.0, "c-b": 0.0}, 1)


def test_what_a_program_said_is_on_record_even_where_it_said_nothing():
    ledger = MemoryLedger()
    said([result(exit_code=77)], program("a"), ledger=ledger)
    assert said([], program("a"), ledger=ledger) == ({}, 0)


def test_answers_that_behave_alike_are_checked_once():
    trials = (a_trial(answer=1), a_trial(answer=2, harness_id="v"))
    alike = {("t1", key(1)): "b-same", ("t1", key(2)): "b-same"}
    assert said([result()], program("a"), trials=trials, behaviours=alike) == ({"c-a": 1.0}, 1)


def test_several_answers_are_checked_side_by_side_with_the_same_outcome():
    trials = tuple(a_trial(answer=n, harness_id=f"h{n}") for n in range(6))
    assert said(reporting({"a": 0.5}), program("a"), trials=trials, n_at_once=3)[1] == 6


@pytest.mark.parametrize(
    "damaged", [b"", b"{", b"[]", b'{"body": "{}"}', b'{"body": 1, "mark": 2}']
)
def test_a_damaged_report_is_no_report(damaged):
    start = Start("p", ("a",), TASKS["t1"], 1, HARNESS.manifest.answer, "/staged/h")
    assert start.report(SandboxResult("exited", 0, damaged, "", 0.1)) is None


def test_no_two_starts_share_a_key():
    starts = [Start("p", ("a",), TASKS["t1"], 1, HARNESS.manifest.answer, "/h") for _ in range(3)]
    assert len({start.key for start in starts}) == 3


@pytest.mark.parametrize(
    ("kind", "answer", "name", "text"),
    [
        ("text", "é", "answer.txt", "é"),
        ("number", 4.5, "answer.txt", "4.5"),
        ("choice", "red", "answer.txt", "red"),
        ("code", "x = 1", "answer.py", "x = 1"),
        ("json", "red", "answer.json", '"red"'),
        ("json", {"a": [1]}, "answer.json", '{"a": [1]}'),
        ("files", {"a.py": "x"}, "answer.json", '{"a.py": "x"}'),
    ],
)
def test_an_answer_lies_in_a_file_of_its_kind(kind, answer, name, text):
    spec = AnswerSpec(kind=kind)
    assert (answer_name(spec), answer_text(spec, answer)) == (name, text)
