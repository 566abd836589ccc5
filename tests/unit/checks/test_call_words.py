import pytest

from harnesspro.checks import checks_for, passes, probes_for
from tests.unit.checks.test_checks import CALLS, STOCK, WEATHER, call, call_task, function

ROUTE = function(
    "route",
    origin={"type": "string"},
    destination={"type": "string"},
    seats={"type": "integer"},
    hours={"type": "integer"},
)
PAINT = function("paint", colour={"type": "string", "enum": ["red", "blue"]})


def said(name, request, answer, *functions):
    check = next(one for one in checks_for(CALLS) if one.name == name)
    return passes(check, call_task(request, *functions), CALLS, answer)


@pytest.mark.parametrize(
    ("request_text", "name", "fits"),
    [
        ("How is the weather in Oslo?", "weather", True),
        ("How is the weather in Oslo?", "stock", False),
        ("And in Oslo?", "stock", True),
        ("The weather of the stock market", "stock", True),
    ],
)
def test_another_function_of_which_the_request_speaks_is_noticed(request_text, name, fits):
    assert said("names_its_function", request_text, call(name), WEATHER, STOCK) is fits


def test_the_only_function_is_never_the_wrong_one():
    assert said("names_its_function", "Weather?", call("stock"), STOCK)


@pytest.mark.parametrize(
    ("arguments", "fits"),
    [
        ({"origin": "Rome", "destination": "Bern"}, True),
        ({"origin": "Bern", "destination": "Rome"}, False),
        ({"origin": "Rome", "destination": "Rome"}, False),
        ({"seats": 3, "hours": 5}, True),
        ({"seats": 5, "hours": 3}, False),
        ({"seats": 3, "hours": 3}, False),
        ({"origin": "Oslo", "destination": "Oslo"}, True),
    ],
)
def test_values_that_would_stand_nearer_to_their_names_exchanged_are_noticed(arguments, fits):
    request = "Go from Rome to Bern with 3 seats in 5 hours"
    assert said("in_their_places", request, call("route", **arguments), ROUTE) is fits


def test_a_number_told_twice_in_two_writings_may_be_passed_twice():
    request = "I need 3 seats for three hours"
    assert said("in_their_places", request, call("route", seats=3, hours=3), ROUTE)


@pytest.mark.parametrize(
    ("request_text", "colour", "fits"),
    [
        ("Paint it red", "blue", False),
        ("Paint it red", "red", True),
        ("Paint it red or blue", "blue", True),
        ("Paint it", "blue", True),
        ("Paint the door that was bored", "blue", True),
    ],
)
def test_an_option_told_is_the_one_passed(request_text, colour, fits):
    assert said("takes_the_option_told", request_text, call("paint", colour=colour), PAINT) is fits


@pytest.mark.parametrize(
    ("request_text", "arguments", "fits"),
    [
        ("Rome, 3 seats and 5 hours", {"origin": "Rome", "seats": 3, "hours": 5}, True),
        ("Rome, 3 seats and 5 hours", {"origin": "Rome", "seats": 3}, False),
        ("Rome, 2 minutes", {"origin": "Rome", "hours": 120}, True),
        ("Order 77 came late. Rome, 3 seats", {"origin": "Rome", "seats": 3}, True),
        ("Rome, 3 seats. Sorry, 4", {"origin": "Rome", "seats": 4}, True),
        ("Rome, an area of 10 m^2", {"origin": "Rome", "hours": 10}, True),
        ("3 seats", {}, True),
    ],
)
def test_numbers_beside_a_passed_value_are_passed_too(request_text, arguments, fits):
    assert said("uses_the_numbers", request_text, call("route", **arguments), ROUTE) is fits


def test_true_answers_to_probes_pass_every_check():
    tasks = [call_task("x", ROUTE, PAINT), call_task("y", WEATHER, STOCK)]
    refused = [
        (one.name, probe.family)
        for probe in probes_for(CALLS, tasks, seed=5, n=300)
        for one in checks_for(CALLS)
        if not passes(one, probe.task, CALLS, probe.answer)
    ]
    assert len(refused) <= 3
