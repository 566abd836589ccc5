import pytest

from harnesspro.checks.grounding import source_of


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("San Francisco, CA", "Find a flat in San Francisco please"),
        ("New York", "weather in new york?"),
        ("running", "I want to run, so show me running shoes"),
        ("electric cars", "an electric car of 2020"),
        ("SSN", "their social security numbers"),
        ("CAD", "how many Canadian dollars"),
        ("eur", "200 euros"),
        (3, "three of them"),
        (24, "two dozen eggs"),
        (205, "two hundred and five"),
        (45, "forty five"),
        (1500, "about 1,500 people"),
        (1_200_000, "revenues of $1M in 2019 and $1.2M in 2020"),
        (0.07, "at 7%"),
        (7.0, "a share of 0.07"),
        (-5, "five below zero"),
        (1e-9, "a distance of 1e-9"),
        (300, "cash_flows=[200,300,400]"),
        ("2", "two of them"),
        (True, "anything"),
        (None, "anything"),
    ],
)
def test_what_a_person_could_have_meant_is_grounded(value, text):
    assert source_of(text).has(value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("Paris", "weather in London"),
        ("celsius", "the temperature in London"),
        (17, "three of them"),
        (2021, "in 2020"),
        (19, "in 2019"),
        ("USA", "the capital of France"),
        ("red wine", "white bread"),
    ],
)
def test_what_nobody_said_is_not(value, text):
    assert not source_of(text).has(value)
