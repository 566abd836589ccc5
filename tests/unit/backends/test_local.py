import json
import threading
from dataclasses import replace

import pytest

from harnesspro.backends.local import trial_from
from harnesspro.core.errors import ProviderBusy, ProviderError, UsageError
from harnesspro.core.hashing import canonical_json
from harnesspro.core.ports import Grant, SandboxSpec
from harnesspro.core.records import Limits, Trial, Usage
from harnesspro.testing.doubles import MemoryLedger, ScriptedMeter, ScriptedSandbox
from tests.unit.backends.trials import HARNESS, answered, backend, ended, job, used

VOID = ended(ended="refused", exit_code=None, stderr="no namespace\n")


def trial_of(said=None, *, metered=None, **changes):
    return trial_from(job(), ended(said, **changes), metered or used(), attempt=0, isolation="S3")


def came(trial):
    return trial.outcome, trial.answer, trial.fault


def nested(depth):
    value: object = "x"
    for _ in range(depth):
        value = [value]
    return value


# --- what a trial is made of -------------------------------------------------------------------


def test_a_trial_records_the_job_the_answer_and_the_brokers_own_count():
    said = {"outcome": "answered", "answer": {"a": 1}, "notes": ["voted", 3]}

    assert trial_from(job(), ended(said), used(), attempt=1, isolation="S2") == Trial(
        trial_id=job().trial_id,
        harness_id=HARNESS.harness_id,
        task_id="t1",
        draw="search/0",
        attempt=1,
        outcome="answered",
        answer={"a": 1},
        usage=Usage(uncached_in_tokens=30, out_tokens=5),
        n_calls=2,
        n_replayed=1,
        cost_nanos=700,
        paid_nanos=300,
        latency_s=1.5,
        notes=("voted", "3"),
        isolation="S2",
    )


@pytest.mark.parametrize("answer", [False, 0, "", [], {}, 1e300, 10**400, "é\0"])
def test_whatever_is_json_is_an_answer_but_null(answer):
    assert came(trial_of({"outcome": "answered", "answer": answer})) == ("answered", answer, None)
    assert came(trial_of({"outcome": "answered", "answer": None})) == ("malformed", None, None)


@pytest.mark.parametrize(
    ("said", "changes", "came_of_it"),
    [
        ({"outcome": "malformed", "fault": "no vote"}, {}, ("malformed", None, "no vote")),
        ({"outcome": "crashed", "fault": "E: x"}, {}, ("crashed", None, "E: x")),
        ({"outcome": "crashed", "answer": 1}, {"stderr": "a\nlast\n"}, ("crashed", None, "last")),
        (None, {"exit_code": 3}, ("crashed", None, "ended with exit code 3 and no answer")),
        (None, {"ended": "killed", "exit_code": None, "stderr": "oom"}, ("crashed", None, "oom")),
        (
            {"outcome": "answered", "answer": 1},
            {"ended": "wall", "exit_code": None, "wall_s": 30.4},
            ("limit", None, "wall clock: over 30 s"),
        ),
        (
            {"outcome": "answered", "answer": 1},
            {"ended": "output", "exit_code": None},
            ("limit", None, "output: over the byte limit"),
        ),
        (
            {"outcome": "answered", "answer": 1},
            {"ended": "refused", "exit_code": None, "stderr": "no namespace\n"},
            ("void", None, "sandbox: no namespace"),
        ),
    ],
)
def test_how_it_ended_decides_the_outcome(said, changes, came_of_it):
    assert came(trial_of(said, **changes)) == came_of_it


@pytest.mark.parametrize("claimed", ["fault", "limit", "void", "", 7, None, [], {"a": 1}])
def test_a_fate_that_only_the_harness_claims_is_a_crash(claimed):
    trial = trial_of({"outcome": claimed, "answer": 1, "fault": "the provider, I swear"})
    assert came(trial) == ("crashed", None, "the provider, I swear")


def test_a_fault_the_broker_saw_is_void_whatever_the_harness_says():
    metered = used(ground_fault="provider: 503")
    for said in ({"outcome": "fault"}, {"outcome": "answered", "answer": 1}, None):
        assert came(trial_of(said, metered=metered)) == ("void", None, "provider: 503")


@pytest.mark.parametrize("limit", ["usd", "calls"])
def test_a_limit_that_was_hit_counts_unless_there_was_an_answer_all_the_same(limit):
    metered = used(limit_hit=limit)
    crashed = trial_of({"outcome": "crashed"}, metered=metered)
    told = trial_of({"outcome": "limit", "fault": "all 20 used"}, metered=metered)
    answered_anyway = trial_of({"outcome": "answered", "answer": 1}, metered=metered)

    assert came(crashed) == ("limit", None, f"{limit} limit reached")
    assert came(told) == ("limit", None, "all 20 used")
    assert came(answered_anyway) == ("answered", 1, None)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"not json",
        b"\xff\xfe",
        b'"a bare text"',
        b'[{"outcome": "answered", "answer": 1}]',
        b'{"outcome": "answered", "answer": NaN}',
        b'{"outcome": "answered", "answer": [1e999]}',
        b'{"outcome": "answered", "answer": "\\ud800"}',
        b'{"outcome": "answered", "answer": {"\\udfff": 1}}',
        b'{"outcome": "answered", "answer": 1, "notes": ["\\ud800"]}',
        b'{"outcome": "answered", "answer": ' + b"9" * 5000 + b"}",
        b'{"outcome": "answered", "answer": ' + b"[" * 300 + b"]" * 300 + b"}",
        b'{"outcome": "answered", "answer": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"outcome": "answered", "answer": ' + b'{"a":' * 300 + b"1" + b"}" * 301,
    ],
)
def test_a_result_that_no_record_can_hold_is_a_crash(raw):
    trial = trial_of(raw)
    said = "ended with exit code 0 and a result that is no JSON object of an answer"
    assert came(trial) == ("crashed", None, said)
    canonical_json(trial.model_dump(mode="json")).encode()


def test_an_answer_as_deep_as_allowed_can_be_recorded_and_read_back():
    trial = trial_of({"outcome": "answered", "answer": nested(98)})
    ledger = MemoryLedger()
    ledger.put("trial", trial.trial_id, trial.model_dump(mode="json"))

    assert trial.outcome == "answered"
    assert Trial.model_validate(ledger.get("trial", trial.trial_id)) == trial


def test_a_huge_answer_is_kept_whole_and_huge_remarks_are_cut():
    said = {"outcome": "answered", "answer": "x" * 900_000, "notes": ["y" * 9000] * 80}
    trial = trial_of(said)
    fault = trial_of({"outcome": "crashed", "fault": "z" * 9000}).fault

    assert trial.answer == "x" * 900_000
    assert trial.notes == ("y" * 500,) * 50
    assert fault == "z" * 500


@pytest.mark.parametrize("notes", [None, "text", {"a": 1}, 5])
def test_notes_that_are_no_list_are_no_notes(notes):
    assert trial_of({"outcome": "answered", "answer": 1, "notes": notes}).notes == ()


# --- a trial from grant to record --------------------------------------------------------------


def test_a_trial_is_granted_started_counted_and_recorded(tmp_path):
    sandbox = ScriptedSandbox([answered("yes")], level="S2")
    meter = ScriptedMeter([used()])
    under_test = backend(tmp_path, sandbox=sandbox, meter=meter)

    (trial,) = under_test.run([job()])

    assert came(trial) == ("answered", "yes", None)
    assert trial.isolation == "S2"
    assert under_test.ledger.all("trial") == [(job().trial_id, trial.model_dump(mode="json"))]
    assert meter.grants == [
        Grant(
            trial_id=job().trial_id,
            harness_id=HARNESS.harness_id,
            task_id="t1",
            draw="search/0",
            purse="target",
            models={"writer": "sim/small"},
            max_output_tokens={"writer": 512},
            limits=Limits(),
        )
    ]
    assert sandbox.specs == [
        SandboxSpec(
            name=f"{job().trial_id}-0",
            code_dir=str(tmp_path / HARNESS.harness_id),
            argv=None,
            payload=json.dumps({"task": "t1", "token": "token-1"}),
            files={"in/a.txt": "t1"},
            wall_s=180.0,
            output_bytes=1_000_000,
        )
    ]
    assert (tmp_path / HARNESS.harness_id / "solver.py").read_text() == HARNESS.files["solver.py"]


def test_a_recorded_trial_is_read_back_and_neither_started_nor_granted(tmp_path):
    ledger = MemoryLedger()
    (first,) = backend(tmp_path, sandbox=[answered()], ledger=ledger).run([job()])
    meter = ScriptedMeter([])

    assert list(backend(tmp_path, sandbox=[], meter=meter, ledger=ledger).run([job()])) == [first]
    assert meter.grants == []


def test_a_void_trial_is_tried_once_more(tmp_path):
    sandbox = ScriptedSandbox([VOID, answered()])
    under_test = backend(tmp_path, sandbox=sandbox)
    (trial,) = under_test.run([job()])

    assert (trial.outcome, trial.attempt) == ("answered", 1)
    assert [spec.name[-2:] for spec in sandbox.specs] == ["-0", "-1"]
    assert under_test.ledger.get("trial", trial.trial_id) == trial.model_dump(mode="json")


def test_a_trial_that_stays_void_is_given_but_not_recorded(tmp_path):
    meter = ScriptedMeter([used(ground_fault="provider: 503")] * 2)
    under_test = backend(tmp_path, sandbox=[ended(), ended()], meter=meter)
    (trial,) = under_test.run([job()])

    assert (*came(trial), trial.attempt) == ("void", None, "provider: 503", 1)
    assert under_test.ledger.all("trial") == []


def test_what_the_harness_did_wrong_is_not_tried_again(tmp_path):
    outcomes = [trial.outcome for trial in backend(tmp_path, sandbox=[ended()]).run([job()])]
    assert outcomes == ["crashed"]


def test_when_the_purse_is_empty_the_trial_leaves_no_trace_and_nothing_more_starts(tmp_path):
    meter = ScriptedMeter([used(), used(limit_hit="run_budget")])
    under_test = backend(tmp_path, sandbox=[answered(), answered()], meter=meter)
    trials = list(under_test.run([job(f"t{i}") for i in range(5)]))

    assert [trial.task_id for trial in trials] == ["t0"]
    assert under_test.purse_empty.is_set()
    assert not under_test.stop.is_set()
    assert [key for key, _ in under_test.ledger.all("trial")] == [job("t0").trial_id]


def test_when_the_rounds_purse_is_empty_nothing_is_held_against_the_harness(tmp_path):
    meter = ScriptedMeter([used(limit_hit="round_budget")])
    under_test = backend(tmp_path, sandbox=[answered()], meter=meter)

    assert list(under_test.run([job("t0"), job("t1")])) == []
    assert under_test.round_empty.is_set()
    assert not under_test.purse_empty.is_set()
    assert under_test.ledger.all("trial") == []


def test_a_candidate_that_emptied_its_own_purse_has_failed(tmp_path):
    meter = ScriptedMeter([used(limit_hit="candidate_budget")])
    (trial,) = backend(tmp_path, sandbox=[ended()], meter=meter).run([job()])

    assert (trial.outcome, trial.fault) == ("limit", "candidate_budget limit reached")


def test_an_empty_purse_is_no_fate_of_the_trial_even_where_the_ground_gave_way(tmp_path):
    meter = ScriptedMeter([used(limit_hit="run_budget", ground_fault="provider: 503")])
    assert list(backend(tmp_path, sandbox=[answered()], meter=meter).run([job()])) == []


def test_a_stop_finishes_what_runs_and_starts_nothing_more(tmp_path):
    def start(spec):
        under_test.stop.set()
        return answered()

    under_test = backend(tmp_path, sandbox=start)

    assert [trial.task_id for trial in under_test.run([job("t0"), job("t1")])] == ["t0"]
    assert list(under_test.run([job("t0")])) == []


def test_a_void_trial_is_not_tried_again_once_stopped(tmp_path):
    def start(spec):
        under_test.stop.set()
        return VOID

    sandbox = ScriptedSandbox(start)
    under_test = backend(tmp_path, sandbox=sandbox)

    assert [trial.outcome for trial in under_test.run([job()])] == ["void"]
    assert len(sandbox.specs) == 1


def test_so_many_run_at_once_and_no_more(tmp_path):
    three, at_once, most, lock = threading.Barrier(3, timeout=10), [0], [0], threading.Lock()

    def start(spec):
        with lock:
            at_once[0] += 1
            most[0] = max(most[0], at_once[0])
        three.wait()
        with lock:
            at_once[0] -= 1
        return answered(json.loads(spec.payload)["task"])

    jobs = [job(f"t{i}") for i in range(9)]
    trials = list(backend(tmp_path, sandbox=start, concurrency=3).run(jobs))

    assert most == [3]
    assert {trial.task_id: trial.answer for trial in trials} == {f"t{i}": f"t{i}" for i in range(9)}


def test_every_trial_is_on_record_before_it_is_handed_out(tmp_path):
    under_test = backend(tmp_path, sandbox=lambda spec: answered(), concurrency=2)
    for trial in under_test.run([job(f"t{i}") for i in range(6)]):
        assert under_test.ledger.get("trial", trial.trial_id) == trial.model_dump(mode="json")


def test_whoever_leaves_early_waits_for_what_runs_and_finds_it_on_record(tmp_path):
    both, end = threading.Barrier(2, timeout=10), threading.Event()

    def start(spec):
        both.wait()
        if json.loads(spec.payload)["task"] == "t1":
            end.wait(timeout=10)
        return answered()

    under_test = backend(tmp_path, sandbox=start, concurrency=2)
    threading.Timer(0.05, end.set).start()
    for first in under_test.run([job("t0"), job("t1")]):
        assert first.task_id == "t0"
        break

    assert {value["task_id"] for _, value in under_test.ledger.all("trial")} == {"t0", "t1"}


def test_a_sandbox_that_breaks_closes_its_trial_and_is_not_hushed_up(tmp_path):
    def start(spec):
        raise RuntimeError("the launcher is gone")

    meter = ScriptedMeter([used()])
    with pytest.raises(RuntimeError, match="launcher is gone"):
        list(backend(tmp_path, sandbox=start, meter=meter).run([job()]))
    with pytest.raises(UsageError, match="retired"):
        meter.close_trial("token-1")


class Outage:
    """A meter whose models answer nobody the first `n` times a trial would be opened."""

    def __init__(self, n, used):
        self.n, self.inner = n, ScriptedMeter(used)

    def open_trial(self, grant):
        if self.n > 0:
            self.n -= 1
            raise ProviderBusy("acme/m", "no answer for 3 s (1 faults in a row)")
        return self.inner.open_trial(grant)

    def close_trial(self, token):
        return self.inner.close_trial(token)

    def spend(self):
        return self.inner.spend()


def waiting(folder, meter, *, sandbox, **changes):
    paused: list[str] = []
    under_test = replace(
        backend(folder, sandbox=sandbox, meter=meter), paused=paused.append, poll_s=0.01, **changes
    )
    return under_test, paused


def test_while_a_provider_answers_nobody_nothing_is_started_and_then_it_goes_on(tmp_path):
    sandbox = ScriptedSandbox([answered()])
    under_test, paused = waiting(tmp_path, Outage(5, [used()]), sandbox=sandbox)
    (trial,) = under_test.run([job()])
    assert (trial.outcome, trial.attempt) == ("answered", 0)
    assert len(sandbox.specs) == 1
    assert paused == ["no answer for 3 s (1 faults in a row)"] * 5


def test_a_trial_that_only_finds_out_that_it_is_still_silent_is_not_used_up(tmp_path):
    fault = used(ground_fault="provider: 503")

    class Again(Outage):
        def close_trial(self, token):
            self.n = 1  # whoever found out failed: the others rest on
            return super().close_trial(token)

    sandbox = [ended(), ended(), ended(), answered()]
    meter = Again(1, [fault, fault, fault, used()])
    under_test, _ = waiting(tmp_path, meter, sandbox=sandbox)
    (trial,) = under_test.run([job()])
    assert (trial.outcome, trial.attempt) == ("answered", 3)


def test_a_silence_that_lasts_too_long_ends_the_run_with_what_to_do(tmp_path):
    under_test, _ = waiting(tmp_path, Outage(10_000, []), sandbox=[], most_silence_s=0.05)
    with pytest.raises(ProviderError, match="resume the run"):
        list(under_test.run([job()]))


def test_a_stop_while_a_provider_is_waited_for_is_heeded(tmp_path):
    under_test, paused = waiting(tmp_path, Outage(10_000, []), sandbox=[])
    threading.Timer(0.05, under_test.stop.set).start()
    assert list(under_test.run([job()])) == []
    assert paused
