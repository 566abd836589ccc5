import importlib.util
import json
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harnesspro import sdk
from harnesspro.core.records import Patch, Task
from harnesspro.formats.content import harness_path
from harnesspro.formats.native import apply_patch, load_harness, sdk_payload

FOLDER = harness_path("builtin:toolcaller")
FUNCTIONS = [
    {
        "name": "timer.start",
        "description": "Start a timer.",
        "parameters": {
            "type": "object",
            "properties": {
                "minutes": {"type": "integer", "description": "How long."},
                "label": {"description": "A name."},
            },
            "required": ["minutes"],
        },
    },
    {"name": "stop", "description": "Stop all.", "parameters": {"type": "object"}},
]
SCHEMA = {"oneOf": [{"type": "object"}]}
TASK = Task(
    task_id="t",
    input={"request": "Wake me in 20", "functions": FUNCTIONS, "answer_schema": SCHEMA},
)
TEN, TWENTY = ({"name": "timer.start", "arguments": {"minutes": minutes}} for minutes in (10, 20))


def _solver() -> Any:
    spec = importlib.util.spec_from_file_location("toolcaller_solver", FOLDER / "solver.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SOLVER = _solver()


def run(replies: list[str], **knobs: Any) -> tuple[Any, list[Any]]:
    """The answer (None where malformed) and the requests made; one too many fails the test."""
    harness = load_harness(FOLDER)
    patch = Patch(
        parent_id=harness.harness_id, knobs=knobs, direction="knobs", proposer="t", summary="s"
    )
    left, sent = list(replies), []

    def send(body: Any) -> Any:
        assert left, f"no reply is left for {body}"
        sent.append(body)
        message = {"content": left.pop(0)}
        return {"choices": [{"message": message, "finish_reason": "stop"}]}

    payload = sdk_payload(apply_patch(harness, patch), TASK)
    h = sdk.Harness(payload["harness"], send)
    try:
        answer = SOLVER.solve(payload["task"], h)
    except sdk.Malformed:
        answer = None
    assert not left, f"{len(left)} replies were not asked for"
    return answer, sent


def test_the_answer_most_samples_give_wins():
    replies = [json.dumps(TEN), json.dumps(TWENTY), json.dumps(TWENTY)]
    assert run(replies)[0] == TWENTY


def test_among_equals_the_first_seen_wins():
    other = json.dumps({"name": "stop", "arguments": {}})
    assert run([json.dumps(TEN), json.dumps(TWENTY), other])[0] == TEN


def test_fences_prose_key_order_and_extra_keys_do_not_split_the_vote():
    fenced = 'Sure:\n```json\n{"arguments": {"minutes": 20}, "name": "timer.start"}\n```'
    listed = json.dumps([{**TWENTY, "why": "asked"}])
    assert run([json.dumps(TEN), fenced, listed])[0] == TWENTY


@pytest.mark.parametrize(
    "text",
    [
        "I would start a timer.",
        json.dumps(FUNCTIONS[0]),
        '{"name": "cook", "arguments": {}}',
        '{"name": "stop", "arguments": {"x": NaN}}',
        '{"name": "stop", "arguments": [1]}',
    ],
)
def test_what_is_no_call_of_a_known_function_has_no_vote(text):
    assert run([text, json.dumps(TEN), text])[0] == TEN


def test_a_retry_shows_the_bad_reply_and_the_form_that_is_wanted():
    answer, sent = run(["no", "still no", "what?", json.dumps(TEN)])
    assert answer == TEN
    assert [message["role"] for message in sent[3]["messages"]] == [
        "system",
        "user",
        "assistant",
        "user",
    ]
    assert sent[3]["messages"][2]["content"] == "what?"


def test_nothing_readable_at_all_is_malformed():
    assert run(["no"] * 4)[0] is None
    assert run(["no"] * 3, retries=0)[0] is None


def test_all_samples_are_the_same_request_byte_for_byte():
    _, sent = run([json.dumps(TEN)] * 3)
    assert sent[0] == sent[1] == sent[2]
    assert {key: sent[0][key] for key in ("model", "temperature", "max_tokens")} == {
        "model": "caller",
        "temperature": 0.7,
        "max_tokens": 200,
    }
    assert "response_format" not in sent[0]


def test_constrained_calls_carry_the_answers_schema():
    _, (sent,) = run([json.dumps(TEN)], samples=1, constrain="schema")
    assert sent["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "call", "schema": SCHEMA},
    }


def test_the_prompt_ends_with_the_request_and_shows_functions_in_full_or_short():
    full, short = (
        run([json.dumps(TEN)], samples=1, function_detail=detail)[1][0]["messages"][1]["content"]
        for detail in ("full", "short")
    )
    assert full.endswith("Request: Wake me in 20")
    assert json.dumps(FUNCTIONS[0]) in full
    assert "timer.start(minutes: integer, label?: any)\nstop()" in short


def test_drawing_stops_once_two_of_three_agree():
    assert run([json.dumps(TEN)] * 2, stop_when_agreed="yes")[0] == TEN


VOTES = st.lists(st.sampled_from(["a", "b", "c", None]), min_size=1, max_size=5)


def stopped(replies: list[str | None]) -> list[str]:
    """The votes cast before the rule says that the leader cannot lose."""
    votes: list[str] = []
    for n_drawn, reply in enumerate(replies, 1):
        votes += [reply] if reply is not None else []
        if SOLVER.settled(votes, n_left=len(replies) - n_drawn):
            break
    return votes


@given(VOTES)
def test_stopping_early_never_changes_who_wins(replies):
    every = [reply for reply in replies if reply is not None]
    early = stopped(replies)
    assert (SOLVER.leader(early) if early else None) == (SOLVER.leader(every) if every else None)


def test_stopping_is_as_early_as_it_can_be():
    """A vote goes on only if some way of drawing the rest would change its winner."""
    for drawn, n_left in product(range(1, 4), range(1, 3)):
        for votes in product("abc", repeat=drawn):
            futures = product("abcd", repeat=n_left)
            winners = {SOLVER.leader([*votes, *future]) for future in futures}
            certain = winners == {SOLVER.leader(votes)}
            assert SOLVER.settled(list(votes), n_left=n_left) == certain
