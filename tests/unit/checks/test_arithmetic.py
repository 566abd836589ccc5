from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harnesspro.checks.arithmetic import agrees, exact, renumbered, sum_in, written


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Calculate 31 * -89 - -8.", -2751),
        ("Calculate -( 47 + 96 ) + 17.", -126),
        ("Calculate ( -( 3 + 7 ) ).", -10),
        ("State the answer to the following problem: 30 - 65 + 7 =", -28),
        ("What is 1.5 + 2.25?", Fraction(15, 4)),
        ("What is 1 / 3?", Fraction(1, 3)),
        ("Find the Greatest Common Divisor (GCD) of these numbers: 12, 18, 30. Give it.", 6),
        ("What is the least common multiple of 4 and 6?", 12),
        ("What is 2010 - 2015 known for?", None),
        ("What is 5 plus 7?", None),
        ("The shop is open 9 - 17.", None),
        ("Calculate 1 + 1. Then calculate 2 + 2.", None),
        ("Calculate 1 / 0.", None),
        ("Calculate 2 ** 9.", None),
        ("", None),
    ],
)
def test_only_plain_arithmetic_that_is_asked_for_is_worked_out(text, value):
    found = sum_in(text)
    assert (found and found.value) == value


def test_the_result_is_held_to_six_digits_and_only_where_no_rounding_is_asked():
    assert agrees("What is 1 / 3?", 0.333333)
    assert not agrees("What is 1 / 3?", 0.33)
    assert agrees("What is 1 / 3, rounded? Calculate 1 / 3.", 0.33)
    assert agrees("How are you?", 5)
    assert not agrees("Calculate 1 + 1.", float("nan"))
    assert not agrees("Calculate 1 + 1.", float("inf"))
    assert not agrees("Calculate 1 + 1.", 10**400)


@given(st.lists(st.integers(-999, 999), min_size=2, max_size=6), st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_sums_are_exact_and_their_copies_have_the_value_they_say(numbers, seed):
    text = f"Calculate {' + '.join(map(str, numbers))}."
    found = sum_in(text)
    assert found is not None
    assert found.value == sum(numbers)
    copy = renumbered(text, np.random.default_rng(seed))
    if copy is not None:
        again = sum_in(copy[0])
        assert again is not None
        assert (again.value, len(copy[0])) == (copy[1], len(text))


@given(st.text(alphabet="0123456789+-*/(). ", max_size=40))
@settings(max_examples=200, deadline=None)
def test_no_expression_raises(text):
    value = exact(text)
    assert value is None or isinstance(value, Fraction)


@given(st.integers(-(10**9), 10**9), st.integers(0, 6))
def test_decimals_are_written_as_they_are(number, places):
    text = written(Fraction(number, 10**places))
    assert text is not None
    assert Fraction(text) == Fraction(number, 10**places)


def test_what_is_no_decimal_is_not_written():
    assert written(Fraction(1, 3)) is None
