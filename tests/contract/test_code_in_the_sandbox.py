"""Code tried, checked and measured in the real sandbox, from the trial to the referee's table."""

from collections.abc import Iterator

import pytest

from harnesspro.checks import probes_for
from harnesspro.checks.code_answers import program_checks
from harnesspro.core.answers import cluster
from harnesspro.core.records import AnswerSpec, Task, Trial
from harnesspro.core.referee import freeze
from harnesspro.stages.behave import BehaviourBench, behave
from harnesspro.stages.check_answers import (
    CheckBench,
    admit_programs,
    check_answers,
    results_on_record,
)
from harnesspro.stages.score import table_of
from harnesspro.testing.doubles import MemoryLedger
from tests.unit.builders import a_harness
from tests.unit.sandbox.boxes import Box, launched

CODE = AnswerSpec(kind="code", language="python")
MANIFEST = a_harness(kind="code").manifest
PROMPT = (
    'def twice(xs: list[int]) -> list[int]:\n    """Return every number doubled.\n\n'
    '    >>> twice([1, 2])\n    [2, 4]\n    """\n'
)
TASK = Task(task_id="t", input={"prompt": PROMPT})
LOOP = "def twice(xs):\n    found = []\n    for x in xs:\n        found.append(x + x)\n    return found"
ANSWERS = {
    "loop": LOOP,
    "comprehension": "def twice(xs):\n    return [2 * x for x in xs]",
    "squares": "def twice(xs):\n    return [x ** 2 for x in xs]",
    "broken": "def twice(xs:",
}


@pytest.fixture(scope="module")
def box() -> Iterator[Box]:
    with launched("S3") as box:
        yield box


def a_trial(name: str) -> Trial:
    return Trial(
        trial_id=f"trial-{name}",
        harness_id=name,
        task_id="t",
        draw="search/0",
        outcome="answered",
        answer=ANSWERS[name],
    )


def check_bench(box: Box, **changes) -> CheckBench:
    return CheckBench(
        sandbox=box.client,
        ledger=MemoryLedger(),
        manifest=MANIFEST,
        code_dir=str(box.code),
        programs=program_checks(),
        n_at_once=2,
        **changes,
    )


def test_what_does_the_same_is_one_answer_and_what_holds_is_worth_more(box: Box):
    trials = [a_trial(name) for name in ANSWERS]
    ledger = MemoryLedger()
    trying = BehaviourBench(box.client, ledger, CODE, str(box.code))
    behaviours = behave([(TASK, trial.answer) for trial in trials], trying)
    bench = check_bench(box, behaviours=behaviours)
    check_answers(trials, {"t": TASK}, bench)
    checks = [check.model_copy(update={"admitted": True}) for check in program_checks()]
    rows = table_of(
        trials,
        {"t": TASK},
        spec=CODE,
        referee=freeze(checks),
        owner_results=results_on_record(bench.ledger),
        behaviours=behaviours,
    )
    keys = {name: rows[name]["t"].cluster for name in ANSWERS}
    assert keys["loop"] == keys["comprehension"] != keys["squares"]
    assert keys["broken"] == cluster("code", "answered", ANSWERS["broken"])
    merit = {name: rows[name]["t"].merit for name in ANSWERS}
    assert merit["loop"] == merit["comprehension"] > merit["squares"] > merit["broken"]


def test_programs_are_measured_on_probes_and_those_that_tell_are_admitted(box: Box):
    probes = probes_for(CODE, [TASK], seed=3, n=5)
    measured = admit_programs(program_checks(), probes, check_bench(box), seed=4)
    found = {check.name: check for check in measured}
    assert found["examples_hold"].admitted
    assert not found["still_works"].admitted
    assert {check.false_reject_rate.mean for check in measured if check.false_reject_rate} == {0.0}
