import json
import math
from collections import Counter
from typing import Any

import pytest

from harnesspro.core.errors import ModelUnknown
from harnesspro.core.ports import ChatRequest
from harnesspro.core.records import Price, Usage
from harnesspro.formats.tasks import gold_names
from harnesspro.providers.sim import LATENCY_SD, SimProvider, draw_tasks, true_option
from harnesspro.providers.sim_request import features_of
from harnesspro.providers.sim_tasks import FAMILIES, nonce_in

TASK = draw_tasks(0, 1)[0]["input"]


def a_request(
    text: str = "", *, system: str = "", model: str = "sim/small", **asked
) -> ChatRequest:
    text = text or f"{TASK['question']}\nOptions: {', '.join(TASK['options'])}"
    messages = ({"role": "system", "content": system}, {"role": "user", "content": text})
    return ChatRequest(model=model, messages=messages, **{"max_output_tokens": 400, **asked})


def bound_to(schema) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}


def nonce_of(record) -> str:
    nonce = nonce_in(record["input"]["question"])
    assert nonce is not None
    return nonce


def reply(request: ChatRequest):
    return SimProvider().complete(request, timeout_s=1.0)


def test_the_same_seed_draws_the_same_tasks_and_another_seed_others():
    assert draw_tasks(7, 20) == draw_tasks(7, 20)
    ours, theirs = ({r["input"]["question"] for r in draw_tasks(seed, 50)} for seed in (7, 8))
    assert not ours & theirs


def test_a_task_has_five_short_options_a_schema_of_them_and_its_truth_apart():
    for record in draw_tasks(3, 200):
        given = record["input"]
        assert set(record) == {"input", "family", "gold"}
        assert given["answer_schema"] == {"enum": given["options"]}
        assert len(set(given["options"])) == 5
        assert all(4 <= len(option) <= 6 for option in given["options"])
        assert gold_names(given) == set()
        assert record["gold"] == true_option(nonce_of(record), given["options"])


def test_the_truth_does_not_depend_on_the_order_and_sits_in_every_place():
    places = Counter[int]()
    for record in draw_tasks(1, 500):
        options = record["input"]["options"]
        assert true_option(nonce_of(record), options[::-1]) == record["gold"]
        places[options.index(record["gold"])] += 1
    assert all(70 <= places[place] <= 130 for place in range(5))


def test_families_come_in_their_declared_shares():
    found = Counter(record["family"] for record in draw_tasks(2, 2000))
    assert {name: round(found[name] / 2000, 1) for name in FAMILIES} == {
        "match": 0.5,
        "trace": 0.3,
        "odd": 0.2,
    }


def test_the_same_request_and_seed_give_the_same_reply():
    assert reply(a_request(seed=5, temperature=0.7)) == reply(a_request(seed=5, temperature=0.7))


def test_without_temperature_noise_every_seed_names_the_same_option():
    alone = "Give the option alone."
    asked = [a_request(system=alone, temperature=0.0, seed=seed) for seed in range(20)]
    assert len({reply(request).text for request in asked}) == 1


def test_at_temperature_0_the_same_request_has_the_same_reply_whatever_the_seed():
    asked = [a_request(temperature=0.0, seed=seed) for seed in range(20)]
    assert len({reply(request).text for request in asked}) == 1


def test_options_that_are_all_the_same_fail_no_call():
    text = f"{TASK['question']}\nOptions: moss, moss"
    assert "moss" in reply(a_request(text)).text


def test_usage_and_latency_follow_their_formulas():
    got = reply(a_request("abcdefgh", model="sim/echo", system="x"))
    assert got.text == "abcdefgh"
    assert got.usage == Usage(uncached_in_tokens=4 + 1 + 4 + 2, out_tokens=2)
    assert got.finish_reason == "stop"
    formula = 0.2 + 11 / 2000 + 2 / 50
    factors = sorted(
        reply(a_request("abcdefgh", model="sim/echo", system="x", seed=k)).latency_s / formula
        for k in range(200)
    )
    assert factors[100] == pytest.approx(1.0, abs=0.1)
    assert factors[168] == pytest.approx(math.exp(LATENCY_SD), rel=0.15)


def test_a_reply_over_the_token_limit_is_cut_and_says_so():
    got = reply(a_request("abcdefghijkl", model="sim/echo", max_output_tokens=2))
    assert (got.text, got.finish_reason, got.usage.out_tokens) == ("abcdefgh", "length", 2)


def test_a_stop_sequence_ends_the_reply():
    assert reply(a_request("one;two", model="sim/echo", stop=(";",))).text == "one"


def test_offered_tools_cost_tokens():
    tools = ({"type": "function", "function": {"name": "look"}},)
    with_tools = reply(a_request(model="sim/echo", tools=tools)).usage.in_tokens
    assert with_tools > reply(a_request(model="sim/echo")).usage.in_tokens


def test_a_schema_binds_the_reply_to_one_option():
    schema = {"type": "object", "properties": {"answer": {"enum": TASK["options"]}}}
    got = json.loads(reply(a_request(response_format=bound_to(schema), seed=1)).text)
    assert list(got) == ["answer"]
    assert got["answer"] in TASK["options"]


def test_free_text_in_the_schema_leaves_room_to_think():
    think = {"type": "string"}
    schema = {"type": "object", "properties": {"why": think, "answer": {"enum": TASK["options"]}}}
    request = a_request(response_format=bound_to(schema), seed=1)
    assert len(json.loads(reply(request).text)["why"]) > 100
    assert features_of(request).thinks


def test_a_request_without_a_case_is_told_so():
    assert reply(a_request("Hello.")).text == "I see no case with options here."


@pytest.mark.parametrize(
    ("system", "feature"),
    [
        ("Compare each of the options with the notes.", {"goes_through_options": True}),
        ("Think step by step.", {"at_length": True}),
        ("Give the chosen option alone: no explanation.", {"answer_only": True}),
        ("The reply must be exactly one of the options.", {"strict_form": True}),
        ("Example: a\n\nExample: b", {"n_examples": 2}),
        ("Go by the letters.", {"shortcut": True}),
        ("We care for our people and plant a hundred trees every April by the sea.", {"n_junk": 1}),
    ],
)
def test_the_law_reads_what_it_is_told(system, feature):
    plain = features_of(a_request(system="Hello.", temperature=0.5))
    told = features_of(a_request(system=system, temperature=0.5))
    moved = {name for name in told.__slots__ if getattr(told, name) != getattr(plain, name)}
    assert {name: getattr(told, name) for name in moved} == feature


def test_prices_are_the_simulators_own_and_count_as_paid():
    assert SimProvider().price("sim/small") == Price(
        model="sim/small",
        in_nanos_per_mtok=100_000_000,
        out_nanos_per_mtok=400_000_000,
        cache_read_nanos_per_mtok=100_000_000,
        cache_write_nanos_per_mtok=100_000_000,
        source="simulator",
        paid=True,
    )


def test_a_model_it_does_not_play_is_refused_and_has_no_price():
    assert SimProvider().price("sim/none") is None
    with pytest.raises(ModelUnknown, match=r"sim/judge, .*sim/planner, sim/small"):
        SimProvider().check("sim/none")
    with pytest.raises(ModelUnknown):
        reply(a_request(model="sim/none"))


@pytest.mark.parametrize("odd", [[1], "x", 5, {"a": 5}, {"a": {"properties": [1]}}, None])
def test_a_schema_that_is_none_fails_no_call_so_that_no_trial_is_void_by_it(odd):
    for schema in ({"properties": odd}, {"type": "object", "properties": odd}):
        assert reply(a_request(response_format=bound_to(schema))).usage.out_tokens > 0
