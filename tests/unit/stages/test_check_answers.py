import json

import pytest

from harnesspro.core.answers import cluster
from harnesspro.core.errors import HarnessProError
from harnesspro.core.hashing import content_id
from harnesspro.core.ports import SandboxResult, SandboxSpec
from harnesspro.core.records import AnswerSpec, Check, UserCheck
from harnesspro.stages.check_answers import (
    CheckBench,
    answer_name,
    answer_text,
    check_answers,
    results_on_record,
    user_checks,
)
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
