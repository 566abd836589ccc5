import json
from dataclasses import replace

import pytest
from pydantic import BaseModel

from harnesspro.backends.improver import SandboxImprover
from harnesspro.core.errors import ConfigError
from harnesspro.core.ports import Dropped
from harnesspro.formats.native import sdk_payload
from harnesspro.testing.doubles import MemoryLedger, ScriptedMeter, ScriptedSandbox
from tests.unit.backends.trials import HARNESS, answered, backend, ended, used

VOID = ended(ended="refused", exit_code=None, stderr="no namespace")
NOT_AN_INT = "n: Input should be a valid integer, unable to parse string as an integer"


class Question(BaseModel):
    about: str = "cost"


class Reply(BaseModel):
    n: int
    why: str = ""


class Sink:
    def __init__(self):
        self.events = []

    def emit(self, event, **fields):
        self.events.append((event, fields))


class Bench:
    """An improver over doubles, and everything a test looks at."""

    def __init__(self, folder, script, *, meter=None, ledger=None):
        self.sandbox = ScriptedSandbox(script)
        self.meter = meter or ScriptedMeter(lambda grant: used())
        self.ledger, self.sink = ledger or MemoryLedger(), Sink()
        local = backend(folder, sandbox=self.sandbox, meter=self.meter, ledger=self.ledger)
        self.backend = local = replace(local, payload_of=sdk_payload)
        self.improver = SandboxImprover(
            backend=local,
            trees=local.trees,
            ledger=self.ledger,
            agent_harness={"planner": HARNESS}.__getitem__,
            model="sim/brain",
            events=self.sink,
        )

    def ask(self, key="000/h"):
        return self.improver.ask("planner", Question(), Reply, key=key)

    def inputs(self):
        """What the agent was given, start by start."""
        return [json.loads(spec.payload)["task"]["input"] for spec in self.sandbox.specs]


def test_a_good_reply_is_handed_back_typed_and_paid_by_the_improvers_purse(tmp_path):
    bench = Bench(tmp_path, [answered({"n": 3})])

    assert bench.ask() == Reply(n=3)
    assert bench.inputs() == [{"question": {"about": "cost"}, "repair": ""}]
    (grant,) = bench.meter.grants
    assert (grant.purse, grant.models, grant.draw) == (
        "improver",
        {"writer": "sim/brain"},
        "improver/000/h/0",
    )
    assert bench.sink.events == []


def test_a_reply_that_does_not_fit_is_asked_for_once_more_with_the_message(tmp_path):
    bench = Bench(tmp_path, [answered({"n": "many"}), answered({"n": 3})])

    assert bench.ask() == Reply(n=3)
    assert [given["repair"] for given in bench.inputs()] == ["", NOT_AN_INT]
    assert [grant.draw[-2:] for grant in bench.meter.grants] == ["/0", "/1"]
    assert bench.ledger.all("dropped") == []


def test_a_reply_that_is_no_object_is_named_as_the_reply(tmp_path):
    bench = Bench(tmp_path, [answered("three"), answered({"n": 3})])
    bench.ask()
    assert bench.inputs()[1]["repair"].startswith("reply: Input should be a valid dictionary")


def test_an_agent_that_fails_twice_is_dropped_and_that_is_on_record(tmp_path):
    bench = Bench(tmp_path, [ended({"outcome": "malformed", "fault": "no JSON"}), answered({})])
    dropped = Dropped(agent="planner", reason="n: Field required")

    assert bench.ask() == dropped
    assert [given["repair"] for given in bench.inputs()] == ["", "no JSON"]
    assert bench.ledger.all("dropped") == [("planner/000/h", dropped.model_dump())]
    assert bench.sink.events == [("dropped", {"agent": "planner", "reason": "n: Field required"})]


def test_the_same_question_under_the_same_key_is_paid_once(tmp_path):
    bench = Bench(tmp_path, [answered({"n": "x"}), answered({"n": 3})])
    first = bench.ask()

    assert bench.ask() == first
    assert len(bench.sandbox.specs) == 2


def test_another_key_is_another_draw(tmp_path):
    bench = Bench(tmp_path, [answered({"n": 3}), answered({"n": 4})])
    assert [bench.ask("000/h"), bench.ask("001/h")] == [Reply(n=3), Reply(n=4)]


def test_a_question_the_run_stopped_is_no_fact_about_the_agent(tmp_path):
    bench = Bench(tmp_path, [])
    bench.backend.stop.set()

    assert bench.ask() == Dropped(agent="planner", reason="the run was stopped")
    assert bench.ledger.all("dropped") == []
    assert bench.sink.events == []


def test_a_question_the_purse_did_not_cover_may_be_asked_again_under_a_larger_cap(tmp_path):
    ledger = MemoryLedger()
    poor = ScriptedMeter(lambda grant: used(limit_hit="run_budget"))
    assert isinstance(Bench(tmp_path, [ended()], meter=poor, ledger=ledger).ask(), Dropped)

    bench = Bench(tmp_path, [answered({}), answered({})], ledger=ledger)
    assert bench.ask() == Dropped(agent="planner", reason="n: Field required")


def test_a_question_dropped_for_another_reason_before_is_dropped_again(tmp_path):
    ledger = MemoryLedger()
    first = Bench(tmp_path, [VOID] * 4, ledger=ledger)
    again = Bench(tmp_path, [answered({}), answered({})], ledger=ledger)

    assert first.ask() == Dropped(agent="planner", reason="sandbox: no namespace")
    assert again.ask() == Dropped(agent="planner", reason="n: Field required")
    assert [value["reason"] for _, value in ledger.all("dropped")] == ["sandbox: no namespace"]


def test_an_agent_that_is_not_shipped_is_the_callers_error(tmp_path):
    def no_such(name):
        raise ConfigError(name, "no such agent")

    improver = replace(Bench(tmp_path, []).improver, agent_harness=no_such)
    with pytest.raises(ConfigError, match="no such agent"):
        improver.ask("planner", Question(), Reply, key="k")
