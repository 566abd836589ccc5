"""The table cannot say what the suite does not show."""

import ast
from pathlib import Path
from typing import Literal

import pytest

from tests.redteam.cases import CASES, Case, case_of, names_by_case
from tests.redteam.table import Results, result_of, row, table

CLAIMED = {case.number for case in CASES if not case.not_claimed}


def test_every_attack_is_listed_once_in_order():
    assert [case.number for case in CASES] == list(range(1, 45))


def test_at_least_forty_are_claimed():
    assert len(CLAIMED) >= 40


def test_every_claimed_case_has_a_test_and_every_test_a_claimed_case():
    assert set(names_by_case()) == CLAIMED


def test_no_test_of_the_suite_is_skipped_or_expected_to_fail():
    marks = {"skip", "skipif", "xfail", "importorskip"}
    for path in Path(__file__).parent.glob("*.py"):
        tree = ast.parse(path.read_text())
        used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        assert not used & marks, path.name


@pytest.mark.parametrize(
    ("name", "number"),
    [("test_case_07_a_canary[base64]", 7), ("test_ordinary_work", None), ("test_case_7_x", None)],
)
def test_a_test_is_of_the_case_its_name_says(name, number):
    assert case_of(name) == number


def test_one_failure_or_no_run_is_no_held_case():
    assert [result_of(o) for o in (["passed"] * 3, ["passed", "failed"], ["skipped"], [])] == [
        "held",
        "FAILED",
        "FAILED",
        "NOT RUN",
    ]


def test_a_row_says_what_is_claimed_and_what_is_not():
    assert row(Case(1, "a", "S3"), ["passed"]) == "| 1 | a | S3 | 1 | held |"
    assert row(Case(1, "a", "S3", only="b"), []) == "| 1 | a | S3 | 0 | NOT RUN (b) |"
    assert row(Case(2, "a", not_claimed="why"), []) == "| 2 | a | - | - | not claimed: why |"


def test_a_case_is_claimed_at_a_level_or_not_claimed_for_a_reason():
    for fields in ({}, {"level": "S3", "not_claimed": "why"}):
        with pytest.raises(ValueError, match="case 1: a level"):
            Case(1, "a", **fields)


def test_the_plugin_keeps_a_tests_call_and_a_set_up_that_failed():
    results = Results()
    told: tuple[tuple[Literal["setup", "call"], Literal["passed", "failed"]], ...] = (
        ("setup", "passed"),
        ("call", "passed"),
        ("setup", "failed"),
    )
    for when, outcome in told:
        place = ("t.py", 1, "x")
        report = pytest.TestReport("t.py::test_case_03_x", place, {}, outcome, None, when)
        results.pytest_runtest_logreport(report)
    assert results.outcomes == {3: ["passed", "failed"]}
    assert table(results.outcomes).endswith(f"0 of {len(CLAIMED)} claimed cases held.")
