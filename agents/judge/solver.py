"""One question to the brain; a score for each answer."""

from __future__ import annotations

import json
import os

from harnesspro.sdk import Harness, Malformed


def solve(task: dict[str, dict], h: Harness) -> object:
    """`{"scores": [...]}` for the answers of `task["input"]["question"]`, in their order."""
    asked = task["input"]
    n_answers = len(asked["question"]["answers"])
    reply = h.ask(
        "brain",
        [
            {"role": "system", "content": h.prompt("rules")},
            {"role": "user", "content": wording(asked)},
        ],
        response_format=reply_format(n_answers),
        max_output_tokens=h.knob("max_output_tokens"),
    )
    value = reply.json()
    if value is None:
        raise Malformed("the brain's reply holds no JSON" + cut(reply.finish_reason))
    scores = value.get("scores") if isinstance(value, dict) else value
    if not isinstance(scores, list) or len(scores) != n_answers:
        raise Malformed(f"expected a list of {n_answers} scores")
    return {"scores": scores}


def wording(asked: dict) -> str:
    """The question, and on a second attempt what was wrong with the first reply."""
    text = json.dumps(asked["question"], ensure_ascii=False, indent=1)
    if asked.get("repair"):
        text += f"\n\nYour last reply could not be used: {asked['repair']}. Reply again."
    return text


def reply_format(n_answers: int) -> dict:
    """Binds the reply to one score an answer, where the model can be bound."""
    path = os.path.join(os.path.dirname(__file__), "schema", "reply.json")
    with open(path, encoding="utf-8") as file:
        schema = json.load(file)
    schema["properties"]["scores"].update(minItems=n_answers, maxItems=n_answers)
    return {"type": "json_schema", "json_schema": {"name": "reply", "schema": schema}}


def cut(finish_reason: str) -> str:
    """Says so where the reply ended at the token limit."""
    return " (it was cut at the token limit)" if finish_reason == "length" else ""
