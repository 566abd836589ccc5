"""The same call again has the same key, and only then."""

import pytest

from harnesspro.core.ports import ChatRequest
from harnesspro.core.replay import replay_key, seed_for


def request(**changes):
    base = {"model": "m", "messages": ({"role": "user", "content": "hi"},), "max_output_tokens": 9}
    return ChatRequest.model_validate(base | changes)


def test_the_same_request_in_the_same_draw_has_the_same_key():
    assert replay_key(request(), "search/0", 0) == replay_key(request(), "search/0", 0)


def test_the_seed_is_no_part_of_the_request():
    assert replay_key(request(seed=1), "search/0", 0) == replay_key(request(seed=2), "search/0", 0)


@pytest.mark.parametrize(
    "other",
    [
        {"model": "n"},
        {"temperature": 0.0},
        {"max_output_tokens": 8},
        {"stop": ("x",)},
        {"effort": "low"},
        {"messages": ({"role": "user", "content": "ho"},)},
    ],
)
def test_any_difference_in_the_request_is_another_key(other):
    assert replay_key(request(**other), "search/0", 0) != replay_key(request(), "search/0", 0)


def test_draw_and_occurrence_make_other_keys_and_other_seeds():
    places = [("search/0", 0), ("search/0", 1), ("search/1", 0), ("confirm/0", 0)]
    keys = {replay_key(request(), draw, occurrence) for draw, occurrence in places}
    assert len(keys) == len({seed_for(key) for key in keys}) == 4


def test_a_seed_fits_31_bits():
    assert all(0 <= seed_for(f"key {n}") < 2**31 for n in range(200))
