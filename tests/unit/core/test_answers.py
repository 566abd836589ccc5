import pytest
from hypothesis import given
from hypothesis import strategies as st

from harnesspro.core.answers import NO_ANSWER, cluster, parse_number, same

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("kind", "a", "b"),
    [
        ("json", {"x": 1, "y": [2.0]}, {"y": [2], "x": 1.0}),
        ("json", 0.1 + 0.2, 0.3),
        ("choice", " Red\n", "red"),
        ("text", "Two  words", "two words"),
        ("number", "1,234.50", 1234.5),
        ("number", 7.0, "7"),
        ("number", 1 / 3, 0.333333333333),
        ("code", "def f(x):\n    # why\n    return x+1", "def f(x):\n\n  return x + 1\n"),
        ("code", "fn f() {  \n\n}", "fn f() {\n}"),
    ],
)
def test_two_spellings_are_one_answer(kind, a, b):
    assert same(kind, a, b)


@pytest.mark.parametrize(
    ("kind", "a", "b"),
    [
        ("json", {"x": 1}, {"x": True}),
        ("json", {"x": "1"}, {"x": 1}),
        ("json", [1, 2], [2, 1]),
        ("json", {"x": "a"}, {"x": "A"}),
        ("json", None, {}),
        ("number", 3, 3.001),
        ("number", "3 apples", 3),
        ("code", "x = 1", "x = 2"),
    ],
)
def test_different_answers_stay_apart(kind, a, b):
    assert not same(kind, a, b)


def test_every_way_of_giving_no_answer_is_one_cluster():
    keys = {cluster("json", outcome, None) for outcome in ("malformed", "limit", "crashed")}

    assert keys == {NO_ANSWER}


def test_an_answer_that_says_none_is_not_no_answer():
    assert cluster("text", "answered", "none") != NO_ANSWER


def test_a_void_trial_has_no_cluster():
    with pytest.raises(ValueError, match="void"):
        cluster("text", "void", None)


def test_a_number_of_a_thousand_digits_is_text():
    assert parse_number("9" * 5000) is None


@given(JSON)
def test_json_keys_do_not_depend_on_spelling_or_order(value):
    def respell(item):
        if isinstance(item, dict):
            return {key: respell(item[key]) for key in reversed(list(item))}
        if isinstance(item, list):
            return [respell(one) for one in item]
        if isinstance(item, int) and not isinstance(item, bool) and abs(item) < 2**53:
            return float(item)
        return item

    assert same("json", value, respell(value))


@given(st.text())
def test_any_text_is_code_enough_to_have_a_key(text):
    assert cluster("code", "answered", text) == cluster("code", "answered", text)
