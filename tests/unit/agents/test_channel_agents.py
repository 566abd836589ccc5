"""The agents that judge answers: what they send their brain, and what they make of its reply."""

import ast
import json
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from harnesspro import sdk
from harnesspro.core.records import Task
from harnesspro.formats.native import load_harness, sdk_payload

AGENTS = Path(__file__).parents[3] / "agents"
NAMES = ("judge", "panel")
QUESTIONS: dict[str, dict[str, Any]] = {
    "judge": {"task": {"request": "say {}"}, "files": {}, "answers": ["a", "b"]},
    "panel": {"task": "x", "files": {}, "answer_kind": "choice", "answer_schema": None},
}
REPLIES = {"judge": {"scores": [0.2, 1]}, "panel": {"answer": "a"}}


class Brain:
    """A transport that says one text and keeps the requests."""

    def __init__(self, text: str, finish_reason: str = "stop") -> None:
        self.text, self.finish_reason, self.bodies = text, finish_reason, list[dict[str, Any]]()

    def __call__(self, body):
        self.bodies.append(body)
        message = {"content": self.text}
        return {"choices": [{"message": message, "finish_reason": self.finish_reason}], "usage": {}}


@pytest.fixture
def ask(monkeypatch):
    """One trial of an agent in this process, as the sandbox would run it."""

    def run(name: str, brain: Brain, *, question=None, repair: str = ""):
        harness = load_harness(AGENTS / name)
        given = {"question": question or QUESTIONS[name], "repair": repair}
        payload = sdk_payload(harness, Task(task_id="t", input=given))
        monkeypatch.syspath_prepend(str(AGENTS / name))
        monkeypatch.delitem(sys.modules, "solver", raising=False)
        result = sdk.run_trial(payload, brain)
        sys.modules.pop("solver", None)
        return result

    return run


def bound(brain):
    """The schema the reply is bound to."""
    schema = brain.bodies[0]["response_format"]["json_schema"]["schema"]
    jsonschema.Draft202012Validator.check_schema(schema)
    return schema


@pytest.mark.parametrize("name", NAMES)
def test_every_agent_is_a_valid_harness_with_one_brain_and_a_readme(name):
    manifest = load_harness(AGENTS / name).manifest
    assert (manifest.name, list(manifest.roles)) == (name, ["brain"])
    assert (AGENTS / name / "README.md").is_file()


@pytest.mark.parametrize("repair", ["", "expected a list of 2 scores"])
@pytest.mark.parametrize("name", NAMES)
def test_the_last_user_message_holds_the_question_as_the_one_object_in_it(name, repair, ask):
    brain = Brain(f"```json\n{json.dumps(REPLIES[name])}\n```")
    result = ask(name, brain, repair=repair)

    assert (result["outcome"], result["answer"]) == ("answered", REPLIES[name])
    last = brain.bodies[0]["messages"][-1]
    assert last["role"] == "user"
    question, end = json.JSONDecoder().raw_decode(last["content"], last["content"].index("{"))
    assert question == QUESTIONS[name]
    assert "{" not in last["content"][end:]
    assert repair in last["content"][end:]


@pytest.mark.parametrize("name", NAMES)
def test_a_reply_without_json_is_malformed_and_says_if_it_was_cut(name, ask):
    result = ask(name, Brain("I would rather", "length"))
    assert result["outcome"] == "malformed"
    assert "cut at the token limit" in result["fault"]


@pytest.mark.parametrize("text", ['{"scores": [1]}', '{"scores": 1}', '{"best": 2}', "[1, 0, 1]"])
def test_a_judge_that_does_not_score_every_answer_is_told_how_many_there_are(text, ask):
    result = ask("judge", Brain(text))
    assert (result["outcome"], result["fault"]) == ("malformed", "expected a list of 2 scores")


def test_a_bare_list_of_scores_is_taken(ask):
    assert ask("judge", Brain("[0, 1]"))["answer"] == {"scores": [0, 1]}


def test_a_judge_is_bound_to_one_score_an_answer(ask):
    brain = Brain('{"scores": [0, 1]}')
    ask("judge", brain)
    schema = bound(brain)
    assert jsonschema.Draft202012Validator(schema).is_valid({"scores": [0, 0.5]})
    for wrong in ({"scores": [0]}, {"scores": [0, 2]}, {"scores": [0, 1], "why": ""}, {}):
        assert not jsonschema.Draft202012Validator(schema).is_valid(wrong)


@pytest.mark.parametrize(
    ("kind", "schema", "right", "wrong"),
    [
        ("text", None, "a", 1),
        ("choice", None, "a", []),
        ("code", None, "def f(): pass", {}),
        ("number", None, 1.5, "1.5"),
        ("files", None, {"a.txt": "b"}, "a"),
        ("choice", {"type": "string", "enum": ["a", "b"]}, "b", "c"),
        (
            "json",
            {"$ref": "#/$defs/call", "$defs": {"call": {"required": ["name"]}}},
            {"name": "f"},
            {"other": 1},
        ),
    ],
)
def test_a_panel_is_bound_to_the_form_of_the_answer(kind, schema, right, wrong, ask):
    brain = Brain(json.dumps({"answer": right}))
    ask("panel", brain, question={"task": "x", "answer_kind": kind, "answer_schema": schema})
    validator = jsonschema.Draft202012Validator(bound(brain))
    assert validator.is_valid({"answer": right})
    assert not validator.is_valid({"answer": wrong})
    assert not validator.is_valid({})


def test_json_without_a_schema_may_be_anything(ask):
    brain = Brain('{"answer": [1]}')
    question = {"task": "x", "answer_kind": "json", "answer_schema": None}
    assert ask("panel", brain, question=question)["answer"] == {"answer": [1]}
    assert bound(brain)["properties"] == {"answer": {}}


def test_what_the_solvers_share_with_the_other_agents_is_the_same_word_by_word():
    """Each folder stands alone, so none can import it; a change to one is a change to all."""
    texts = {
        ast.unparse(node)
        for name in (*NAMES, "planner")
        for node in ast.parse((AGENTS / name / "solver.py").read_text()).body
        if isinstance(node, ast.FunctionDef) and node.name in {"wording", "cut"}
    }
    assert len(texts) == 2
