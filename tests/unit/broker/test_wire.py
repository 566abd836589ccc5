"""What a harness may ask, and what it hears."""

import json

import pytest

from harnesspro.broker.wire import Refused, completion, parse_body, read_call, token_bound
from harnesspro.core.ports import ChatReply, ChatRequest
from harnesspro.core.records import Usage
from tests.unit.broker.builders import MODEL, grant

MESSAGES = [{"role": "user", "content": "hi"}]


def read(**fields):
    return read_call({"model": "solver", "messages": MESSAGES} | fields, grant())


def test_the_role_becomes_the_model_and_the_bounds_are_put_in():
    assert read(
        temperature=0.5,
        stop="END",
        max_tokens=20,
        reasoning_effort="low",
        response_format={"type": "json_object"},
        tools=[{"type": "function"}],
    ) == (
        "solver",
        ChatRequest(
            model=MODEL,
            messages=({"role": "user", "content": "hi"},),
            max_output_tokens=20,
            temperature=0.5,
            response_format={"type": "json_object"},
            tools=({"type": "function"},),
            stop=("END",),
            effort="low",
        ),
    )


@pytest.mark.parametrize(
    ("fields", "bound"),
    [
        ({}, 50),
        ({"max_tokens": 20}, 20),
        ({"max_completion_tokens": 30}, 30),
        ({"max_tokens": 5000}, 50),
        ({"max_tokens": None}, 50),
    ],
)
def test_output_is_bounded_by_the_role(fields, bound):
    assert read(**fields)[1].max_output_tokens == bound


@pytest.mark.parametrize(
    "fields",
    [
        {"user": "me", "n": 1, "stream": False, "top_p": 1.0, "seed": 7},
        {"tool_choice": "auto", "parallel_tool_calls": True, "logit_bias": None},
    ],
)
def test_harmless_fields_are_ignored(fields):
    assert read(**fields) == read()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"model": "gpt-9"}, "model: 'gpt-9'; expected a role of this harness: solver"),
        ({"model": ["solver"]}, r"model: \['solver'\]"),
        ({"stream": True}, "stream: replies come whole here"),
        ({"top_p": 0.5}, "top_p: only 1 is carried"),
        ({"n": 3}, "n: only 1 is carried"),
        ({"logit_bias": {"1": 2}}, "logit_bias: not carried"),
        ({"messages": []}, "messages: expected a list"),
        ({"messages": "hi"}, "messages: expected a list"),
        ({"messages": [{"content": "hi"}]}, r"messages\.0: expected an object with a role"),
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]},
            r"messages\.0\.content: only text",
        ),
        ({"max_tokens": 0}, "max_tokens: expected a whole number"),
        ({"max_tokens": True}, "max_tokens: expected a whole number"),
        ({"temperature": "warm"}, "temperature: "),
        ({"stop": [1]}, r"stop\.0: "),
    ],
)
def test_what_would_change_the_reply_and_is_not_carried_is_refused(fields, message):
    with pytest.raises(Refused, match=message) as refused:
        read(**fields)
    assert (refused.value.status, refused.value.code) == (400, "invalid")


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"[1]",
        b"{",
        b'{"a": NaN}',
        b'{"a": 1e999}',
        b'{"a": "\\ud800"}',
        b"[" * 100_000,
        b"\xff",
    ],
)
def test_a_body_that_is_not_a_json_object_is_refused(raw):
    with pytest.raises(Refused, match="body: not"):
        parse_body(raw)


def test_deep_nesting_is_refused_not_crashed_on():
    deep = json.loads("[" * 700 + "]" * 700)
    with pytest.raises(Refused):
        read(messages=[{"role": "user", "content": "hi", "x": deep}])


def test_the_token_bound_covers_every_byte():
    text = "é" * 100
    request = read(messages=[{"role": "user", "content": text}])[1]
    assert token_bound(request) >= 200


def test_a_completion_tells_neither_the_model_nor_the_time_nor_a_replay():
    reply = ChatReply(
        text="yes",
        finish_reason="tool_calls",
        usage=Usage(uncached_in_tokens=3, cache_read_tokens=2, out_tokens=4, reasoning_tokens=1),
        model=MODEL,
        latency_s=1.0,
        tool_calls=({"id": "1"},),
        response_id="secret",
    )
    assert completion("solver", "f" * 64, reply) == {
        "id": "chatcmpl-" + "f" * 24,
        "object": "chat.completion",
        "created": 0,
        "model": "solver",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "yes", "tool_calls": [{"id": "1"}]},
                "finish_reason": "tool_calls",
            }
        ],
        "usage": {
            "prompt_tokens": 5,
            "completion_tokens": 4,
            "total_tokens": 9,
            "prompt_tokens_details": {"cached_tokens": 2},
            "completion_tokens_details": {"reasoning_tokens": 1},
        },
    }
