"""One task put to the brain; its own answer."""

from __future__ import annotations

import json

from harnesspro.sdk import Harness, Malformed

PLAIN = {"number": {"type": "number"}, "json": {}, "files": {"type": "object"}}


def solve(task: dict[str, dict], h: Harness) -> object:
    """`{"answer": ...}` to the task of `task["input"]["question"]`."""
    asked = task["input"]
    reply = h.ask(
        "brain",
        [
            {"role": "system", "content": h.prompt("rules")},
            {"role": "user", "content": wording(asked)},
        ],
        response_format=reply_format(asked["question"]),
        max_output_tokens=h.knob("max_output_tokens"),
    )
    value = reply.json()
    if not isinstance(value, dict) or "answer" not in value:
        raise Malformed('the reply holds no {"answer": ...}' + cut(reply.finish_reason))
    return {"answer": value["answer"]}


def wording(asked: dict) -> str:
    """The question, and on a second attempt what was wrong with the first reply."""
    text = json.dumps(asked["question"], ensure_ascii=False, indent=1)
    if asked.get("repair"):
        text += f"\n\nYour last reply could not be used: {asked['repair']}. Reply again."
    return text


def reply_format(question: dict) -> dict:
    """Binds the reply to the form of the answer, where the model can be bound.

    Definitions move to the root, where the pointers in the answer's schema look for them.
    """
    answer = dict(question.get("answer_schema") or {})
    answer = answer or PLAIN.get(question["answer_kind"], {"type": "string"})
    schema = {
        "type": "object",
        "additionalProperties": False,
        "required": ["answer"],
        **{key: answer.pop(key) for key in ("$defs", "definitions") if key in answer},
        "properties": {"answer": answer},
    }
    return {"type": "json_schema", "json_schema": {"name": "reply", "schema": schema}}


def cut(finish_reason: str) -> str:
    """Says so where the reply ended at the token limit."""
    return " (it was cut at the token limit)" if finish_reason == "length" else ""
