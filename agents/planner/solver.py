"""One question to the brain; its reply as JSON."""

from __future__ import annotations

import json
import os

from harnesspro.sdk import Harness, Malformed


def solve(task: dict[str, dict], h: Harness) -> object:
    """The reply to `task["input"]["question"]`, asked in the question's direction."""
    asked = task["input"]
    system = h.prompt("rules") + "\n\n" + h.prompt(asked["question"]["direction"])
    reply = h.ask(
        "brain",
        [
            {"role": "system", "content": system},
            {"role": "user", "content": wording(asked)},
        ],
        response_format=reply_format(),
        max_output_tokens=h.knob("max_output_tokens"),
    )
    value = reply.json()
    if value is None:
        raise Malformed("the brain's reply holds no JSON" + cut(reply.finish_reason))
    return value


def wording(asked: dict) -> str:
    """The question, and on a second attempt what was wrong with the first reply."""
    text = json.dumps(asked["question"], ensure_ascii=False, indent=1)
    if asked.get("repair"):
        text += f"\n\nYour last reply could not be used: {asked['repair']}. Reply again."
    return text


def reply_format() -> dict:
    """Binds the reply to the schema, where the model can be bound."""
    path = os.path.join(os.path.dirname(__file__), "schema", "reply.json")
    with open(path, encoding="utf-8") as file:
        schema = json.load(file)
    return {"type": "json_schema", "json_schema": {"name": "reply", "schema": schema}}


def cut(finish_reason: str) -> str:
    """Says so where the reply ended at the token limit."""
    return " (it was cut at the token limit)" if finish_reason == "length" else ""
