import pytest
from hypothesis import given
from hypothesis import strategies as st

from harnesspro.core.errors import UsageError
from harnesspro.vault.grading import gold_problem, grade, same_json

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("kind", "answer", "gold", "expected"),
    [
        ("text", " Paris\n", "paris", "right"),
        ("text", "Paris!", "Paris", "wrong"),
        ("text", 4, "4", "wrong"),
        ("choice", "B ", "b", "right"),
        ("choice", 2, 2, "right"),
        ("choice", True, 1, "wrong"),
        ("number", 0.1 + 0.2, 0.3, "right"),
        ("number", "42", 42, "right"),
        ("number", 42.001, 42, "wrong"),
        ("number", True, 1, "wrong"),
        ("number", "many", 1, "wrong"),
        ("number", float("nan"), 1, "wrong"),
        ("number", 10**400, 1, "wrong"),
        ("json", {"a": 1}, {"a": 1.0}, "right"),
        ("json", {"a": True}, {"a": 1}, "wrong"),
        ("json", {"a": "1"}, {"a": 1}, "wrong"),
        ("json", {"a": 1, "b": None}, {"a": 1}, "wrong"),
        ("json", [1, 2], [2, 1], "wrong"),
        ("json", None, {"a": 1}, "wrong"),
        ("json", {"a": 1}, None, "no_gold"),
    ],
)
def test_exact_compares_typed_values(kind, answer, gold, expected):
    assert grade("exact", kind, answer, gold) == expected


@given(JSON)
def test_a_json_value_equals_itself(value):
    assert same_json(value, value)


@given(JSON, JSON)
def test_json_equality_is_symmetric(left, right):
    assert same_json(left, right) == same_json(right, left)


CALL = {
    "book.room": {
        "city": ["New York", "NYC"],
        "nights": [2],
        "price": [99.0, ""],
        "quiet": [True, ""],
        "tags": [["sea", "spa"], ""],
        "guest": [{"name": ["Ann"], "age": [30, ""]}, ""],
        "stops": [[{"at": ["rome", "roma"]}], ""],
        "note": ["", "late"],
    }
}
LEAST = {"city": "new-york", "nights": 2}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "right"),
        ({"city": "nyc"}, "right"),
        ({"city": "N.Y.C."}, "right"),
        ({"city": "Boston"}, "wrong"),
        ({"city": ["NYC"]}, "wrong"),
        ({"nights": 3}, "wrong"),
        ({"nights": 2.0}, "wrong"),
        ({"nights": "2"}, "wrong"),
        ({"nights": True}, "wrong"),
        ({"price": 99}, "right"),
        ({"price": 99.5}, "wrong"),
        ({"price": ""}, "wrong"),
        ({"quiet": True}, "right"),
        ({"quiet": False}, "wrong"),
        ({"quiet": 1}, "wrong"),
        ({"quiet": "true"}, "wrong"),
        ({"tags": ["Sea", "SPA"]}, "right"),
        ({"tags": ["spa", "sea"]}, "wrong"),
        ({"tags": ["sea"]}, "wrong"),
        ({"tags": []}, "right"),
        ({"guest": {"name": "ann"}}, "right"),
        ({"guest": {"name": "ann", "age": 30.0}}, "right"),
        ({"guest": {"age": 30}}, "wrong"),
        ({"guest": {"name": "ann", "pet": "cat"}}, "wrong"),
        ({"stops": [{"at": "Roma"}]}, "right"),
        ({"stops": [{"at": "Oslo"}]}, "wrong"),
        ({"stops": [{"at": "Roma"}, {"at": "Roma"}]}, "wrong"),
        ({"note": ""}, "right"),
        ({"note": "late"}, "right"),
        ({"extra": 1}, "wrong"),
        ({"city": None}, "wrong"),
    ],
)
def test_a_call_is_right_when_every_argument_is_allowed(changes, expected):
    answer = {"name": "book.room", "arguments": LEAST | changes}
    assert grade("bfcl", "json", answer, CALL) == expected


@pytest.mark.parametrize(
    "answer",
    [
        {"name": "book_room", "arguments": LEAST},
        {"name": "book.room", "arguments": {"city": "NYC"}},
        {"name": "book.room", "arguments": {"nights": 2}},
        {"name": "book.room"},
        {"name": ["book.room"], "arguments": LEAST},
        {"book.room": LEAST},
        [{"name": "book.room", "arguments": LEAST}],
        "book.room(city='NYC', nights=2)",
        None,
    ],
)
def test_another_shape_or_name_or_a_missing_argument_is_wrong(answer):
    assert grade("bfcl", "json", answer, CALL) == "wrong"


def test_quotes_of_either_kind_are_the_same_text():
    answer = {"name": "say", "arguments": {"text": "it's"}}
    assert grade("bfcl", "json", answer, {"say": {"text": ['It"s']}}) == "right"


@pytest.mark.parametrize(
    ("scheme", "kind"), [("vibes", "json"), ("bfcl", "text"), ("exact", "code"), ("exact", "poem")]
)
def test_what_a_scheme_cannot_grade_is_refused(scheme, kind):
    with pytest.raises(UsageError):
        grade(scheme, kind, "a", "a")


@pytest.mark.parametrize(
    ("scheme", "kind", "gold", "problem"),
    [
        ("bfcl", "json", CALL, None),
        ("bfcl", "json", [CALL], "not of the form {function: {argument: [allowed values]}}"),
        (
            "bfcl",
            "json",
            {"f": {"a": 1}},
            "not of the form {function: {argument: [allowed values]}}",
        ),
        ("exact", "number", "12.5", None),
        ("exact", "number", "twelve", "not a number"),
        ("exact", "choice", {"a": 1}, "not a choice"),
        ("exact", "json", {"a": 1}, None),
    ],
)
def test_gold_that_no_answer_could_match_is_told_when_sealing(scheme, kind, gold, problem):
    assert gold_problem(scheme, kind, gold) == problem
