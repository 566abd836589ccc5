"""Asks for the call several times and answers with what most samples say."""

from __future__ import annotations

import json

from harnesspro.sdk import Harness, Malformed, Reply


def solve(task: dict, h: Harness) -> dict:
    """The winning call, `{"name", "arguments"}`; Malformed where no reply holds one."""
    given = task["input"]
    messages = conversation(given, h)
    votes, reply = vote(messages, given, h)
    for _ in range(h.knob("retries")):
        if votes:
            break
        said = {"role": "assistant", "content": reply.text}
        reminder = {"role": "user", "content": h.prompt("again")}
        reply = ask([*messages, said, reminder], given, h)
        votes = read_calls(reply, given)
    if not votes:
        raise Malformed("no reply held a call of one of the functions")
    return json.loads(leader(votes))


def conversation(given: dict, h: Harness) -> list[dict]:
    """What never changes first, what varies last, so that a prompt cache can serve the front."""
    describe = one_line if h.knob("function_detail") == "short" else json.dumps
    functions = "\n".join(describe(function) for function in given["functions"])
    question = h.prompt("question", functions=functions, request=given["request"])
    return [
        {"role": "system", "content": h.prompt("system")},
        {"role": "user", "content": question},
    ]


def one_line(function: dict) -> str:
    """`name(argument: type, argument?: type)`; a question mark says optional."""
    parameters = function["parameters"]
    required = parameters.get("required", ())
    arguments = [
        f"{name}{'' if name in required else '?'}: {about.get('type', 'any')}"
        for name, about in parameters.get("properties", {}).items()
    ]
    return f"{function['name']}({', '.join(arguments)})"


def vote(messages: list[dict], given: dict, h: Harness) -> tuple[list[str], Reply]:
    """The calls read from the samples in the order drawn, and the last reply."""
    votes, reply = [], None
    n_samples = h.knob("samples")
    for n_drawn in range(1, n_samples + 1):
        reply = ask(messages, given, h)
        votes += read_calls(reply, given)
        if h.knob("stop_when_agreed") == "yes" and settled(votes, n_left=n_samples - n_drawn):
            break
    return votes, reply


def ask(messages: list[dict], given: dict, h: Harness) -> Reply:
    """One reply; every sample of a task is the same request, so that equal draws stay equal."""
    constrained = h.knob("constrain") == "schema"
    return h.ask(
        "caller",
        messages,
        temperature=h.knob("temperature"),
        max_output_tokens=h.knob("max_output_tokens"),
        response_format=schema_format(given) if constrained else None,
    )


def schema_format(given: dict) -> dict:
    """The task's answer schema in the API's shape."""
    schema = {"name": "call", "schema": given["answer_schema"]}
    return {"type": "json_schema", "json_schema": schema}


def read_calls(reply: Reply, given: dict) -> list[str]:
    """The reply's call as canonical JSON, in a list of one; empty where there is none."""
    call = reply.json()
    if isinstance(call, list) and len(call) == 1:
        call = call[0]
    if not isinstance(call, dict) or not isinstance(call.get("arguments"), dict):
        return []
    if call.get("name") not in [function["name"] for function in given["functions"]]:
        return []
    call = {"name": call["name"], "arguments": call["arguments"]}
    try:
        return [json.dumps(call, sort_keys=True, allow_nan=False)]
    except ValueError:  # NaN or Infinity, which Python reads and JSON does not know
        return []


def leader(votes: list[str]) -> str:
    """The most frequent vote; among equals the one seen first."""
    return max(dict.fromkeys(votes), key=votes.count)


def settled(votes: list[str], *, n_left: int) -> bool:
    """Whether `n_left` more votes cannot change the leader."""
    if not votes:
        return False
    first = leader(votes)
    lead = votes.count(first)
    for rival in dict.fromkeys(votes):
        at_most = votes.count(rival) + n_left
        wins_ties = votes.index(rival) < votes.index(first)
        if rival != first and (at_most > lead or (at_most == lead and wins_ties)):
            return False
    return n_left <= lead  # at a tie a new answer comes after the leader
