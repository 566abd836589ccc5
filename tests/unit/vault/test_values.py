import math
from typing import Any

import pytest

from harnesspro.checks.code_values import encode
from harnesspro.vault.values import CallCheck, CallTest, Case, all_hold, holds, same


@pytest.mark.parametrize(
    "value", [None, True, 0, 1.5, "a", b"a", [1, [2]], (1, "a"), {"a": [1]}, {1, 2}, 10**30]
)
def test_a_plain_value_equals_itself(value):
    assert same(value, value)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (True, 1),
        (1, True),
        (0, False),
        (False, None),
        ("1", 1),
        ((1, 2), [1, 2]),
        ([1, 2], (1, 2)),
        ([1], [1, 1]),
        ({"a": 1}, {"a": True}),
        ({True: "a"}, {1: "a"}),
        ({True}, {1}),
        (math.nan, math.nan),
        ([math.nan], [math.nan]),
        (b"a", "a"),
        (1.0000001, 1),
    ],
)
def test_what_is_nearly_the_same_is_not(given, wanted):
    assert not same(given, wanted)


def test_a_whole_number_is_the_float_of_its_value():
    assert same(2.0, 2)
    assert same({1.0: [2]}, {1: [2.0]})


def test_relations_other_than_equality():
    assert holds("items", [1, 2], (1, 2), tolerance=None)
    assert not holds("items", "12", ("1", "2"), tolerance=None)
    assert holds("near", 0.5500001, 0.55, tolerance=1e-6)
    assert not holds("near", True, 1, tolerance=0.5)
    assert not holds("near", math.nan, 1, tolerance=0.5)
    assert holds("true", [0], None, tolerance=None)
    assert holds("false", "", None, tolerance=None)
    assert not holds("true", "", None, tolerance=None)


def checks(**values: Any) -> dict[str, CallCheck]:
    return {name: CallCheck(args=[], kwargs=[], value=encode(v)) for name, v in values.items()}


def given(**values: Any) -> dict[str, Any]:
    return {name: {"value": encode(value)} for name, value in values.items()}


def test_every_check_needs_its_value_and_no_other_is_taken():
    asked = checks(a=1, b=[2])
    assert all_hold(asked, given(a=1, b=[2]))
    assert not all_hold(asked, given(a=1))
    assert not all_hold(asked, given(a=1, b=[2], c=3))
    assert not all_hold(asked, {**given(a=1), "b": {"raised": "Error"}})
    assert not all_hold(asked, {**given(a=1), "b": {"value": ["l", [2]], "passed": True}})


@pytest.mark.parametrize(
    "raw", [None, [], "pass", 1, {"a": True}, {"a": {"value": ["?", []]}}, {"a": {"value": [1]}}]
)
def test_whatever_is_no_encoded_value_fails(raw):
    assert not all_hold(checks(a=1), raw)


def test_an_object_is_no_value_whatever_it_says_of_itself():
    class Always(int):
        def __eq__(self, other: object) -> bool:
            return True

        __hash__ = int.__hash__

    class Thing:
        def __eq__(self, other: object) -> bool:
            return True

        def __bool__(self) -> bool:
            return True

        __hash__ = object.__hash__

    assert not all_hold(checks(a=1), given(a=Always(7)))
    assert not all_hold(checks(a=1), given(a=Thing()))
    assert not all_hold(checks(a=Thing()), given(a=Thing()))
    truth = {"a": CallCheck(args=[], kwargs=[], relation="true")}
    assert not all_hold(truth, given(a=Thing()))


def test_cases_in_plain_json_are_checks():
    test = CallTest(
        function="f", cases=(Case(args=[1, [2]], value={"a": [3]}), Case(args=[], relation="true"))
    )
    assert test.all_checks() == {
        "case0": CallCheck(args=encode([1, [2]]), kwargs=encode({}), value=encode({"a": [3]})),
        "case1": CallCheck(args=encode([]), kwargs=encode({}), relation="true"),
    }
