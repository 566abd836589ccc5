"""What is read from a coding task, and the values and inputs that follow from it."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harnesspro.checks.code_examples import Example, examples_of
from harnesspro.checks.code_inputs import inputs_of
from harnesspro.checks.code_relations import relations_of
from harnesspro.checks.code_task import Asked, Parameter, asked_of, program_of
from harnesspro.checks.code_types import fits, kind_of_annotation, kind_of_value, merged
from harnesspro.checks.code_values import (
    Opaque,
    TooBigError,
    canonical,
    decode,
    encode,
    equal,
    spelled,
)

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text() | st.integers(), inner, max_size=3)
        | st.sets(st.integers() | st.text(), max_size=4)
    ),
    max_leaves=12,
)


def asked(signature, doc="", **more):
    """The function of a prompt `def SIGNATURE: DOC`."""
    found = asked_of({"prompt": f'def {signature}:\n    """{doc}"""\n', **more})
    assert found is not None
    return found


# --- values ------------------------------------------------------------------------------------


@given(PLAIN)
def test_a_value_is_the_same_after_it_went_through_json(value):
    back = decode(json.loads(json.dumps(encode(value))))
    assert equal(back, value)
    assert type(back) is type(value)


@given(PLAIN)
def test_equal_values_have_one_spelling(value):
    again = decode(encode(value))
    assert spelled(canonical(encode(value))) == spelled(canonical(encode(again)))


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        (1, 1.0, True),
        (True, 1, False),
        (0.1 + 0.2, 0.3, True),
        (0.3, 0.30001, False),
        (math.nan, math.nan, True),
        (math.inf, -math.inf, False),
        ({1, 2, 3}, {3, 2, 1}, True),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ([1, 2], (1, 2), False),
        ([1, 2], [2, 1], False),
        ("1", 1, False),
        (["f", "1.5"], 1.5, False),
        (2**70, 2.0**70, True),
    ],
)
def test_values_cluster_by_what_they_are(a, b, same):
    assert (spelled(canonical(encode(a))) == spelled(canonical(encode(b)))) is same


def test_what_is_no_plain_value_equals_nothing_and_shows_no_address():
    encoded = encode(object())
    assert not equal(decode(encoded), decode(encoded))
    assert isinstance(decode(encoded), Opaque)
    assert "0x7" not in spelled(encoded)


@pytest.mark.parametrize("huge", [list(range(100_000)), "x" * 200_000])
def test_what_is_too_big_to_compare_is_said_so(huge):
    with pytest.raises(TooBigError):
        encode(huge)


@pytest.mark.parametrize("nonsense", [["x", []], [1, 2, 3], {"a": 1}, ["f", "one"], 1.5])
def test_what_no_value_encodes_to_is_refused(nonsense):
    with pytest.raises(ValueError, match=r"encoded|tag|float"):
        decode(nonsense)


# --- the task ----------------------------------------------------------------------------------


def test_the_function_asked_for_is_read_with_its_parameters_words_and_preamble():
    prompt = "import math\n\ndef helper(x):\n    return x\n\ndef f(a: int, b=2) -> str:\n    '''Do it.'''\n"
    assert asked_of({"prompt": prompt}) == Asked(
        name="f",
        parameters=(Parameter("a", "int", True), Parameter("b", None, False)),
        returns="str",
        doc="Do it.",
        preamble="import math\n\ndef helper(x):\n    return x",
        open_ended=False,
    )


@pytest.mark.parametrize(
    "task_input",
    [
        "def f(x):\n    '''Words.'''",
        "Complete this:\n```python\ndef f(x):\n    '''Words.'''\n```\nOnly code.",
        "Please write the following.\n\ndef f(x):\n    '''Words.'''\n\nThank you very much.",
        "def f(x):",
        "Write a function `f(x)` that doubles x.",
        {"question": "def f(x):\n    '''Words.'''", "level": 3},
        {"prompt": "def f(x):\n    pass\ndef g(x):\n    pass", "entry_point": "f"},
    ],
)
def test_the_function_is_found_wherever_the_input_holds_it(task_input):
    found = asked_of(task_input)
    assert found is not None
    assert (found.name, [parameter.name for parameter in found.parameters]) == ("f", ["x"])


@pytest.mark.parametrize("nothing", ["Sum these numbers.", {"n": 3}, None, 4, ["def f(x): pass"]])
def test_where_no_function_is_asked_for_there_is_none(nothing):
    assert asked_of(nothing) is None


def test_code_to_be_mended_comes_with_the_task_or_as_its_only_file():
    code = "def f(x):\n    return x"
    assert asked_of({"prompt": "Mend it.", "code": code}) == asked("f(x)", code=code)._replace(
        doc=code
    )
    found = asked_of("def f(x):\n    '''Words.'''", files=(code,))
    assert found is not None
    assert found.code == code
    other = asked_of("def f(x):\n    '''Words.'''", files=("def g(): pass",))
    assert other is not None
    assert other.code is None


def test_an_answer_keeps_what_the_task_defines_before_the_function():
    before = asked_of("import math\ndef f(x):\n    '''Words.'''")
    assert before is not None
    assert program_of(before, "def f(x): return math.pi") == (
        "import math\ndef f(x): return math.pi"
    )
    assert program_of(before, "def g(x): return 1") is None
    assert program_of(before, "def f(x: return") is None


# --- examples ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("doc", "expected"),
    [
        (">>> f(1)\n2", 2),
        (">>> f(1)\n[1,\n 2]\n\n>>> g(1)\n3", [1, 2]),
        ("f(1) == 'a b'", "a b"),
        ("f(1) => [1, 2] because of the rest", [1, 2]),
        ("f(1) ➞ (1, 2)", (1, 2)),
        ("f(1) -> -2.5", -2.5),
        ("f(1) returns True.", True),
        ("f(1) should return {'a': 1}, always", {"a": 1}),
        (">>> f(1) # a remark\n4", 4),
        ("f(1)\n=> 5", 5),
        (">>> f(1) == None", None),
        ("f(1) # => true", True),
    ],
)
def test_an_example_is_read_however_it_is_written(doc, expected):
    assert examples_of("f", doc) == (Example((1,), {}, expected),)


def test_an_example_may_raise_and_may_name_its_arguments():
    doc = ">>> f('a)', [1, (2)], k=3)\nTraceback (most recent call last):\nValueError: no"
    assert examples_of("f", doc) == (Example(("a)", [1, 2]), {"k": 3}, None, "ValueError"),)


@pytest.mark.parametrize(
    "doc",
    [
        "f(x) == 2",
        "f(2) = 1 + 3 = 4",
        "f(1) is best called last",
        "of(1) == 2",
        "f(1",
        "f(1) == ''x'",
        "f(1) == 1\nf(1) == 2",
    ],
)
def test_what_is_no_clear_example_is_none(doc):
    assert examples_of("f", doc) == ()


# --- kinds and inputs --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("annotation", "right", "wrong"),
    [
        ("int", [1, True], ["1", 1.5, None]),
        ("float", [1, 1.5], ["1", True]),
        ("List[int]", [[], [1]], [["a"], (1,)]),
        ("Optional[str]", [None, "a"], [1]),
        ("int | None", [None, 1], ["a"]),
        ("Tuple[int, str]", [(1, "a")], [(1,), [1, "a"]]),
        ("tuple[int, ...]", [(), (1, 2)], [("a",)]),
        ("Dict[str, List[int]]", [{"a": [1]}], [{1: [1]}, {"a": 1}]),
        ("set", [set(), frozenset({1})], [[]]),
        ("'bool'", [True], [1.0]),
        ("Whatever[int]", [1, "a", None], []),
    ],
)
def test_a_value_fits_the_kind_an_annotation_means(annotation, right, wrong):
    kind = kind_of_annotation(annotation)
    assert [fits(kind, value) for value in right] == [True] * len(right)
    assert [fits(kind, value) for value in wrong] == [False] * len(wrong)


def test_kinds_of_several_values_become_one():
    assert merged(map(kind_of_value, [[], [1], [2.5]])) == ("list", ("float",))
    assert merged(map(kind_of_value, [1, "a", None])) == ("union", ("int",), ("str",), ("none",))


@given(PLAIN)
def test_a_value_fits_its_own_kind(value):
    assert fits(kind_of_value(value), value)


@pytest.mark.parametrize(
    "signature",
    ["f(n: int)", "f(a, b)", "f(s: str, k: int = 2)", "f(lst)", "f(x: dict[str, list[float]])"],
)
def test_twenty_inputs_or_more_come_from_the_task_alone(signature):
    task = asked(signature)
    inputs = inputs_of(task, ())
    assert len({spelled(encode(args)) for args in inputs}) == len(inputs) >= 20
    assert inputs == inputs_of(task, ())
    assert {len(args) for args in inputs} == {task.n_required}


def test_inputs_are_like_the_examples_and_begin_with_them():
    task = asked("f(text, n)", "f('([])', 3) == 1")
    inputs = inputs_of(task, examples_of("f", task.doc))
    assert inputs[0] == ("([])", 3)
    assert {type(text) for text, _ in inputs} == {str}
    assert set("".join(text for text, _ in inputs)) <= set("([])")


def test_a_narrow_kind_gives_what_it_holds():
    assert set(inputs_of(asked("f(flag: bool)"), ())) == {(True,), (False,)}


def test_other_words_give_other_inputs():
    assert inputs_of(asked("f(s: str)", "One."), ()) != inputs_of(asked("f(s: str)", "Two."), ())


# --- relations ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("signature", "doc", "names"),
    [
        ("f(xs)", "Return the sum of the numbers.", {"order_free"}),
        ("f(xs)", "Return the sum of the numbers at even positions.", set()),
        ("f(xs, k)", "Return the sum of the numbers.", set()),
        ("f(xs)", "Return the sorted unique elements of a list.", {"rises", "no_doubles"}),
        ("f(xs)", "Return the list in descending order.", {"falls"}),
        ("f(xs)", "Return whether the list is sorted.", set()),
        ("f(a, b)", "Return the greatest common divisor.", {"symmetric"}),
        ("f(s)", "Count words, case-insensitive.", {"case_free"}),
        ("f(s)", "Checks if given string is a palindrome.", {"mirrored"}),
        ("f(s)", "Do what is right.", set()),
    ],
)
def test_only_words_that_promise_a_relation_give_one(signature, doc, names):
    assert {relation.name for relation in relations_of(asked(signature, doc))} == names
