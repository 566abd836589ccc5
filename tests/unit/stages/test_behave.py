import json

import pytest

from harnesspro.checks.code_suite import BEHAVIOUR, signed
from harnesspro.core.answers import cluster
from harnesspro.core.errors import HarnessProError
from harnesspro.core.hashing import content_id
from harnesspro.core.ports import SandboxResult, SandboxSpec
from harnesspro.core.records import AnswerSpec, Probe
from harnesspro.stages.behave import BehaviourBench, behave, is_right_code
from harnesspro.testing.doubles import MemoryLedger, ScriptedSandbox
from tests.unit.stages.trials import a_task

CODE = AnswerSpec(kind="code", language="python")
TASK = a_task("a/t")


def key(text):
    return cluster("code", "answered", text)


def says(spec: SandboxSpec) -> SandboxResult:
    """Every answer behaves by its length; one without digits has no behaviour."""
    text = spec.files["answer.py"]
    known = any(map(str.isdigit, text))
    found = {BEHAVIOUR: {"key": str(len(text))} if known else {"none": "does not load"}}
    body = json.dumps(found)
    mark = signed(json.loads(spec.payload)["key"], body)
    data = json.dumps({"body": body, "mark": mark}).encode()
    return SandboxResult("exited", 0, data, "", 0.1)


def bench(script=says, ledger=None, spec=CODE):
    return BehaviourBench(ScriptedSandbox(script), ledger or MemoryLedger(), spec, "/staged/h")


def test_texts_that_do_the_same_have_one_behaviour():
    found = behave([(TASK, "x = 1"), (TASK, "y = 2"), (TASK, "y = 22")], bench())
    assert found == {
        ("a/t", key("x = 1")): content_id("b", "5"),
        ("a/t", key("y = 2")): content_id("b", "5"),
        ("a/t", key("y = 22")): content_id("b", "6"),
    }


def test_an_answer_without_behaviour_is_absent_and_not_tried_again():
    ledger = MemoryLedger()
    assert behave([(TASK, "x")], bench(ledger=ledger)) == {}
    assert behave([(TASK, "x")], bench([], ledger=ledger)) == {}


def test_each_text_is_tried_once_whatever_its_layout():
    under_test = bench()
    behave([(TASK, "x = 1"), (TASK, "x  =  1  # one")], under_test)
    assert isinstance(under_test.sandbox, ScriptedSandbox)
    assert len(under_test.sandbox.specs) == 1


def test_an_unsigned_report_gives_no_behaviour():
    data = json.dumps({"body": json.dumps({BEHAVIOUR: {"key": "1"}}), "mark": "no"}).encode()
    forged = [SandboxResult("exited", 0, data, "", 0.1)]
    assert behave([(TASK, "x = 1")], bench(forged)) == {}


@pytest.mark.parametrize("spec", [AnswerSpec(kind="text"), AnswerSpec(kind="code", language="c")])
def test_what_is_no_python_is_not_run(spec):
    assert behave([(TASK, "x = 1")], bench([], spec=spec)) == {}


def test_a_sandbox_that_does_not_start_says_nothing_of_the_answer():
    refused = SandboxResult("refused", None, None, "no", 0.0)
    with pytest.raises(HarnessProError, match="the sandbox did not start it"):
        behave([(TASK, "x = 1")], bench([refused, refused]))


def test_an_answer_to_a_probe_is_right_where_it_does_what_the_probes_own_does():
    probe = Probe(probe_id="a/t", task=TASK, answer="x = 1")
    found = behave([(TASK, "x = 1"), (TASK, "y = 2"), (TASK, "z = 33")], bench())
    right = {
        text: is_right_code(probe, found["a/t", key(text)], found) for text in ("y = 2", "z = 33")
    }
    assert right == {"y = 2": True, "z = 33": False}
    assert is_right_code(probe, key("x = 1"), {})
