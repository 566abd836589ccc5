"""Run code on inputs of its task, so that answers which do the same are the same answer.

The inputs come from the task alone. Once a distinct text; facts go on record.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from harnesspro.checks.code_program import check_program
from harnesspro.checks.code_suite import BEHAVIOUR
from harnesspro.core.answers import Behaviours, cluster
from harnesspro.core.hashing import content_id
from harnesspro.core.ports import Ledger, Sandbox
from harnesspro.core.records import AnswerSpec, Probe, Task
from harnesspro.stages.programs import Start, run_to_end, side_by_side

KIND = "behaviour"
LANGUAGES = (None, "python")


@dataclass(frozen=True, slots=True)
class BehaviourBench:
    """Where code is tried."""

    sandbox: Sandbox
    ledger: Ledger
    spec: AnswerSpec
    code_dir: str
    n_at_once: int = 1


@dataclass(frozen=True, slots=True)
class _Text:
    task: Task
    key: str
    answer: JsonValue

    @property
    def record(self) -> str:
        return f"{self.task.task_id}/{self.key}"


def behave(answers: Iterable[tuple[Task, JsonValue]], bench: BehaviourBench) -> Behaviours:
    """What is on record after every one of these answers has been tried once.

    An answer that does not load, gives no value or differs from run to run has no behaviour: its
    text is its cluster. Nothing is done where answers are no Python.

    Raises:
        HarnessProError: the sandbox did not start; that says nothing of the answer.
    """
    if bench.spec.kind != "code" or bench.spec.language not in LANGUAGES:
        return {}
    texts: dict[str, _Text] = {}
    for task, answer in answers:
        text = _Text(task, cluster(bench.spec.kind, "answered", answer), answer)
        if bench.ledger.get(KIND, text.record) is None:
            texts.setdefault(text.record, text)
    waiting: Sequence[_Text] = tuple(texts.values())
    found = side_by_side(lambda text: _tried(text, bench), waiting, n_at_once=bench.n_at_once)
    for text, said in zip(waiting, found, strict=True):
        bench.ledger.put(KIND, text.record, said)
    return behaviours_on_record(bench.ledger)


def _tried(text: _Text, bench: BehaviourBench) -> dict[str, str]:
    start = Start(
        program=check_program(),
        names=(BEHAVIOUR,),
        task=text.task,
        answer=text.answer,
        spec=bench.spec,
        code_dir=bench.code_dir,
    )
    result = run_to_end(bench.sandbox, start.sandbox_spec(), where="trying an answer")
    said = (start.report(result) or {}).get(BEHAVIOUR)
    if not isinstance(said, dict):
        return {"none": "no report" if result.ended == "exited" else result.ended}
    return {str(name): str(value) for name, value in said.items()}


def behaviours_on_record(ledger: Ledger) -> Behaviours:
    """(task_id, key of the text) -> key of the behaviour, where it has one."""
    found: dict[tuple[str, str], str] = {}
    for record, value in ledger.all(KIND):
        if "key" in value:
            task_id, _, key = record.rpartition("/")  # a task's own id may hold slashes
            found[task_id, key] = content_id("b", value["key"])
    return found


def is_right_code(probe: Probe, key: str, behaviours: Behaviours) -> bool:
    """Whether an answer of this cluster does what the probe's own right program does.

    The probe's answer must have been tried like any other.
    """
    right = cluster("code", "answered", probe.answer)
    return key == behaviours.get((probe.probe_id, right), right)
