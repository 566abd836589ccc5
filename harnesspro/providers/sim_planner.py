"""`sim/planner`: plays the planner brain on the question it finds as JSON in the user's message.

The law. 5 % of replies are prose without JSON; of the rest 10 % carry an edit that fits no file,
and 20 % move one dial at random; the others give the best idea not yet tried. Ideas come from the
dials' names and ranges and from findings that carry a paragraph; nothing left to try is `keep`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from harnesspro.providers.sim_request import question_in
from harnesspro.providers.sim_tasks import uniform

PROSE_RATE = 0.05
UNFIT_RATE = 0.10
RANDOM_RATE = 0.20

_COST_MOVES: tuple[tuple[str, object, float], ...] = (
    ("stop_when_agreed", "yes", 0.72),
    ("constrain", "schema", 0.45),
    ("samples", 1, 0.34),
    ("retries", 0, 0.95),
)
_SUCCESS_MOVES: tuple[tuple[str, object, float], ...] = (
    ("constrain", "schema", 0.45),
    ("examples", 2, 1.1),
    ("temperature", 0.0, 1.0),
    ("retries", 2, 1.1),
    ("samples", 5, 1.6),
)


def reply_text(asked: str, salt: str) -> str:
    """A PlannerReply as JSON text, or what goes wrong at the declared rates."""
    question = question_in(asked, "knobs", "parts")
    if question is None:
        return "I see no planning question here."
    if uniform("prose", salt) < PROSE_RATE:
        return "I would shorten the prompts and sample less; details on request."
    patch = _patch(question, salt)
    if patch is None:
        return json.dumps({"patches": [], "keep": True})
    return json.dumps({"patches": [patch], "keep": False})


def _patch(question: Mapping[str, Any], salt: str) -> dict[str, Any] | None:
    if uniform("unfit", salt) < UNFIT_RATE:
        return _unfit(question)
    tried = {json.dumps(item.get("knobs"), sort_keys=True) for item in question.get("history", ())}
    summaries = {item.get("summary") for item in question.get("history", ())}
    if uniform("random", salt) < RANDOM_RATE:
        ideas = list(_random_moves(question, salt))
    else:
        ideas = [*_paragraphs(question), *_moves(question)]
    present = {knob["name"]: knob["value"] for knob in question["knobs"]}
    for idea in ideas:
        vector = json.dumps({**present, **idea["knobs"]}, sort_keys=True)
        known = vector in tried if idea["knobs"] else False
        if not known and idea["summary"] not in summaries:
            return idea
    return None


def _paragraphs(question: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Drop a paragraph that a finding quotes word by word and one part holds once."""
    for finding in question.get("findings", ()):
        for text in (finding.get("detail") or {}).values():
            if not isinstance(text, str) or len(text) < 40:
                continue
            for part in question["parts"]:
                if part["text"].count(text) == 1:
                    edit = {"kind": "replace_text", "path": part["path"], "old": text, "new": ""}
                    summary = f"drop a paragraph of {part['name']} that no reply makes use of"
                    found = [finding["finding_id"]]
                    yield _idea(summary, edits=[edit], finding_ids=found, ratio=0.85)


def _moves(question: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    moves = _COST_MOVES if question.get("direction") == "cost" else _SUCCESS_MOVES
    knobs = {knob["name"]: knob for knob in question["knobs"]}
    for name, value, ratio in moves:
        knob = knobs.get(name)
        if knob is not None and knob["value"] != value and _admits(knob, value):
            found = [f["finding_id"] for f in question.get("findings", ()) if f["knob"] == name]
            summary = f"set {name} to {value}"
            yield _idea(summary, knobs={name: value}, finding_ids=found, ratio=ratio)


def _random_moves(question: Mapping[str, Any], salt: str) -> Iterator[dict[str, Any]]:
    for knob in sorted(question["knobs"], key=lambda knob: uniform("order", salt, knob["name"])):
        if knob.get("choices"):
            others = [choice for choice in knob["choices"] if choice != knob["value"]]
            value: object = others[int(uniform("pick", salt) * len(others))] if others else None
        else:
            level = knob["low"] + uniform("pick", salt) * (knob["high"] - knob["low"])
            value = round(level) if knob.get("whole") else round(level, 2)
        if value is not None and value != knob["value"]:
            name = knob["name"]
            yield _idea(f"try {name} at {value}", knobs={name: value}, finding_ids=[], ratio=1.0)


def _unfit(question: Mapping[str, Any]) -> dict[str, Any]:
    edit = {
        "kind": "replace_text",
        "path": question["parts"][0]["path"] if question["parts"] else "prompts/none.md",
        "old": "a sentence that stands in no file of this harness",
        "new": "",
    }
    return _idea("shorten the first part", edits=[edit], finding_ids=[], ratio=0.9)


def _admits(knob: Mapping[str, Any], value: object) -> bool:
    if knob.get("choices"):
        return value in knob["choices"]
    return isinstance(value, int | float) and knob["low"] <= value <= knob["high"]


def _idea(
    summary: str,
    *,
    finding_ids: list[str],
    ratio: float,
    knobs: Mapping[str, object] | None = None,
    edits: list[dict[str, Any]] | None = None,
) -> dict[str, Any]:
    return {
        "edits": edits or [],
        "knobs": dict(knobs or {}),
        "summary": summary,
        "hypothesis": "The same answers should come at another price.",
        "finding_ids": finding_ids,
        "expected_cost_ratio": ratio,
    }
