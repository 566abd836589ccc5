from harnesspro.core.findings import Diagnosis
from harnesspro.core.findings import diagnose as price_findings
from harnesspro.core.ports import CallEnd, ChatReply, ChatRequest, Grant, PlannedCall
from harnesspro.core.records import Limits, Trajectory, Usage
from harnesspro.detectors import DETECTORS
from harnesspro.stages.diagnose import diagnose, trajectories_of
from harnesspro.testing.doubles import MemoryLedger
from tests.unit.builders import a_harness
from tests.unit.stages.trials import a_trial

HARNESS = a_harness(samples=3)
PROSE = "Let me think about this for a good long while. " * 20 + '{"a": 1}'


def called(ledger, trial, *replies):
    """Put a call for each reply on the ledger, each attributed 1,000 nano-dollars."""
    grant = Grant(
        trial_id=trial.trial_id,
        harness_id=trial.harness_id,
        task_id=trial.task_id,
        draw=trial.draw,
        purse="target",
        models={"writer": "m"},
        max_output_tokens={"writer": 512},
        limits=Limits(),
    )
    attempt = ledger.open_attempt(grant)
    for index, text in enumerate(replies):
        planned = PlannedCall(
            trial_id=trial.trial_id,
            attempt=attempt,
            index=index,
            role="writer",
            draw=trial.draw,
            purse="target",
            replay_key=f"{trial.trial_id}/{index}",
            reserved_nanos=2000,
            paid=True,
            request=ChatRequest(
                model="m",
                messages=({"role": "user", "content": "Do it."},),
                max_output_tokens=512,
                temperature=0.7,
            ),
        )
        usage = Usage(uncached_in_tokens=50, out_tokens=len(text.split()))
        reply = ChatReply(text=text, finish_reason="stop", usage=usage, model="m", latency_s=0.1)
        end = CallEnd("done", reply=reply, attributed_nanos=1000)
        ledger.settle(ledger.send(planned), end)


def wasteful(n=12):
    """A ledger and trials in which three samples always agreed, at length."""
    ledger = MemoryLedger()
    trials = [a_trial(f"t{i}", {"a": 1}, cost_nanos=3000, n_calls=3) for i in range(n)]
    for trial in trials:
        called(ledger, trial, PROSE, PROSE, PROSE)
    return ledger, trials


def test_a_trajectory_is_a_trial_with_the_calls_on_record_and_void_ones_have_none():
    ledger = MemoryLedger()
    one, void = a_trial(), a_trial("t2", outcome="void")
    called(ledger, one, "a", "b")
    called(ledger, void, "c")

    (found,) = trajectories_of([one, void], ledger)
    assert found == Trajectory(trial=one, steps=ledger.steps(one.trial_id))
    assert [step.reply for step in found.steps] == ["a", "b"]


def test_findings_are_every_detectors_priced_and_dearest_first():
    ledger, trials = wasteful()
    diagnosis = diagnose(HARNESS, trials, ledger)
    found = diagnosis.findings

    assert found == price_findings(HARNESS, trajectories_of(trials, ledger), DETECTORS)
    assert found
    assert found[0].wasted_nanos == max(finding.wasted_nanos for finding in found) > 0
    assert (diagnosis.spent_nanos, diagnosis.n_trials) == (12 * 3000, 12)
    assert sum(finding.wasted_nanos for finding in found) <= diagnosis.spent_nanos
    assert Diagnosis.model_validate_json(diagnosis.model_dump_json()) == diagnosis


def test_what_a_void_trial_cost_is_not_spent_on_the_harness():
    ledger, trials = wasteful(n=3)
    void = a_trial("t9", outcome="void", cost_nanos=99_000)
    assert diagnose(HARNESS, [*trials, void], ledger) == diagnose(HARNESS, trials, ledger)


def test_without_trials_there_is_nothing_to_find():
    assert diagnose(HARNESS, [], MemoryLedger()) == Diagnosis()
