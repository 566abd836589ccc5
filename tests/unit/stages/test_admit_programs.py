"""How the programs that check code are measured: on answers made here, many in one start."""

import json
from typing import Any

import pytest

from harnesspro.checks import probes_for
from harnesspro.checks.code_answers import program_checks
from harnesspro.checks.code_suite import signed
from harnesspro.core.ports import SandboxResult, SandboxSpec
from harnesspro.core.records import AnswerSpec, Task
from harnesspro.stages.check_answers import MOST_SHARING, CheckBench, admit_programs
from harnesspro.testing.doubles import MemoryLedger, ScriptedSandbox
from tests.unit.builders import a_harness

CODE = AnswerSpec(kind="code", language="python")
TASK = Task(task_id="t", input={"prompt": 'def f(xs: list[int]) -> int:\n    """Words."""\n'})
PROBES = probes_for(CODE, [TASK], seed=3, n=15)
RIGHT = {probe.answer for probe in PROBES}
N_ANSWERS = 4 * len(PROBES)
"""Right, two mutants, nothing."""


def report(job: dict[str, Any], found: object) -> SandboxResult:
    body = json.dumps(found)
    data = json.dumps({"body": body, "mark": signed(job["key"], body)}).encode()
    return SandboxResult("exited", 0, data, "", 0.1)


def verdict(answer: str) -> dict[str, Any]:
    """The examples tell right from wrong, the type says nothing of what is empty, the rest fails."""
    right = float(answer in RIGHT)
    return {"examples_hold": right, "returns_its_type": None if not answer else 1.0}


def sandbox(spec: SandboxSpec) -> SandboxResult:
    job = json.loads(spec.payload)
    if "many" in job:
        return report(job, [verdict(each["answer"]) for each in job["many"]])
    return report(job, verdict(spec.files["answer.py"]))


def alone_only(spec: SandboxSpec) -> SandboxResult:
    """A shared start ends without a report."""
    shared = "many" in json.loads(spec.payload)
    return SandboxResult("killed", None, None, "", 0.1) if shared else sandbox(spec)


def admitted(script: Any, probes: Any = PROBES, **changes: Any) -> tuple[Any, ScriptedSandbox]:
    """Name -> what was measured, and the sandbox used."""
    double = ScriptedSandbox(script)
    bench = CheckBench(
        sandbox=double,
        ledger=MemoryLedger(),
        manifest=a_harness(kind="code").manifest,
        code_dir="/staged/h",
        programs=program_checks(),
        **changes,
    )
    found = admit_programs(program_checks(), probes, bench, seed=1)
    return {check.name: check for check in found}, double


def test_answers_made_here_share_a_start_up_to_a_bound():
    found, used = admitted(sandbox)
    sizes = [len(json.loads(spec.payload)["many"]) for spec in used.specs]
    assert sum(sizes) == N_ANSWERS
    assert len(sizes) == -(-N_ANSWERS // MOST_SHARING)
    assert max(sizes) <= MOST_SHARING
    assert found["examples_hold"].kill_rate == 1.0
    assert found["examples_hold"].admitted
    assert not found["returns_its_type"].admitted
    assert found["still_works"].reason.startswith(f"stops {N_ANSWERS - len(PROBES)} of")


@pytest.mark.parametrize("n_at_once", [1, 4])
def test_without_a_report_of_all_each_is_judged_alone_to_the_same_end(n_at_once):
    alone, used = admitted(alone_only, n_at_once=n_at_once)
    assert alone == admitted(sandbox)[0]
    assert sum("answer.py" in spec.files for spec in used.specs) == N_ANSWERS


def test_answers_to_tasks_with_files_share_no_start():
    filed = [
        probe.model_copy(
            update={"task": probe.task.model_copy(update={"files": {"a.py": "x = 1"}})}
        )
        for probe in PROBES
    ]
    found, used = admitted(sandbox, filed)
    assert {tuple(spec.files) for spec in used.specs} == {("a.py", "answer.py")}
    assert found["examples_hold"].admitted
