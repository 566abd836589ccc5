"""The shipped agents: valid harness folders whose solvers ask their brain and hand back its reply."""

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
from harnesspro.proposers.planner import PlannerReply, reply_schema

AGENTS = Path(__file__).parents[3] / "agents"
NAMES = ("diagnosis", "planner", "testgen")


def schema_of(name: str):
    return json.loads((AGENTS / name / "schema/reply.json").read_text())


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
        given = {"question": question or {"direction": "cost"}, "repair": repair}
        payload = sdk_payload(harness, Task(task_id="t", input=given))
        monkeypatch.syspath_prepend(str(AGENTS / name))
        monkeypatch.delitem(sys.modules, "solver", raising=False)
        result = sdk.run_trial(payload, brain)
        sys.modules.pop("solver", None)
        return result

    return run


@pytest.mark.parametrize("name", NAMES)
def test_every_agent_is_a_valid_harness_with_one_brain_and_a_readme(name):
    manifest = load_harness(AGENTS / name).manifest
    assert (manifest.name, list(manifest.roles)) == (name, ["brain"])
    assert (AGENTS / name / "README.md").is_file()


@pytest.mark.parametrize("name", NAMES)
def test_every_reply_schema_is_a_json_schema_that_binds_and_is_no_part(name):
    schema = schema_of(name)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["additionalProperties"] is False
    parts = load_harness(AGENTS / name).manifest.parts.values()
    assert "schema/reply.json" not in {part.path for part in parts}


def test_the_planners_schema_is_the_judges_own_type():
    assert schema_of("planner") == reply_schema()


@pytest.mark.parametrize("name", NAMES)
def test_an_agent_sends_the_question_and_its_schema_and_returns_the_reply(name, ask):
    brain = Brain('```json\n{"keep": true}\n```')
    question = {"direction": "cost", "about": "a thing"}
    result = ask(name, brain, question=question)
    assert (result["outcome"], result["answer"]) == ("answered", {"keep": True})
    (body,) = brain.bodies
    assert body["model"] == "brain"
    assert body["response_format"]["json_schema"]["schema"] == schema_of(name)
    assert json.loads(body["messages"][-1]["content"]) == question


@pytest.mark.parametrize("name", NAMES)
def test_on_the_second_attempt_the_brain_is_told_what_was_wrong(name, ask):
    brain = Brain("{}")
    ask(name, brain, repair="patches.0.summary: field required")
    assert "could not be used: patches.0.summary: field required" in str(brain.bodies[0])


@pytest.mark.parametrize("name", NAMES)
def test_a_reply_without_json_is_malformed_and_says_if_it_was_cut(name, ask):
    result = ask(name, Brain("I would rather", "length"))
    assert result["outcome"] == "malformed"
    assert "cut at the token limit" in result["fault"]


def test_what_the_solvers_share_is_the_same_word_by_word():
    """Each folder stands alone, so none can import it; a change to one is a change to all."""
    shared = {"wording", "reply_format", "cut"}
    texts = {
        tuple(
            ast.unparse(node)
            for node in ast.parse((AGENTS / name / "solver.py").read_text()).body
            if isinstance(node, ast.FunctionDef) and node.name in shared
        )
        for name in NAMES
    }
    assert [len(functions) for functions in texts] == [len(shared)]


def test_the_planner_is_told_its_direction(ask):
    sent = {}
    for direction in ("cost", "success"):
        brain = Brain("{}")
        ask("planner", brain, question={"direction": direction})
        sent[direction] = str(brain.bodies[0])
    assert "Direction: **cost**" in sent["cost"]
    assert "Direction: **success**" in sent["success"]
    assert "Direction: **success**" not in sent["cost"]


def test_the_rules_of_the_planner_name_every_kind_of_edit():
    rules = (AGENTS / "planner/prompts/rules.md").read_text()
    kinds = [schema["properties"]["kind"]["const"] for schema in _edit_schemas()]
    assert all(f'"kind": "{kind}"' in rules for kind in kinds)


def _edit_schemas():
    definitions = PlannerReply.model_json_schema()["$defs"]
    return [value for value in definitions.values() if "kind" in value.get("properties", {})]
