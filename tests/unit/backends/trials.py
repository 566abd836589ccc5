"""One-line makings for the backends' tests: how a start ended, what a trial used, a backend."""

import json
from threading import Event
from typing import Any

from harnesspro.backends.local import LocalBackend
from harnesspro.core.ports import Metered, SandboxResult, TrialJob
from harnesspro.core.records import Task, Usage
from harnesspro.testing.doubles import FolderTrees, MemoryLedger, ScriptedMeter, ScriptedSandbox
from tests.unit.builders import a_harness

HARNESS = a_harness(samples=2)


def ended(said: Any = None, **changes) -> SandboxResult:
    """A start that left `said` as its result (bytes as they are, None for no result)."""
    raw = said if isinstance(said, bytes) or said is None else json.dumps(said).encode()
    base: dict[str, Any] = {
        "ended": "exited",
        "exit_code": 0,
        "result": raw,
        "stderr": "",
        "wall_s": 1.0,
    }
    return SandboxResult(**(base | changes))


def answered(answer: Any = "yes") -> SandboxResult:
    return ended({"outcome": "answered", "answer": answer, "notes": []})


def used(**changes) -> Metered:
    base = {
        "usage": Usage(uncached_in_tokens=30, out_tokens=5),
        "n_calls": 2,
        "n_replayed": 1,
        "cost_nanos": 700,
        "paid_nanos": 300,
        "model_latency_s": 1.5,
    }
    return Metered.model_validate(base | changes)


def job(name: str = "t1", **changes) -> TrialJob:
    base: dict[str, Any] = {
        "harness": HARNESS,
        "task": Task(task_id=name, input={"request": name}, files={"in/a.txt": name}),
        "draw": "search/0",
        "purse": "target",
        "models": {"writer": "sim/small"},
    }
    return TrialJob(**(base | changes))


def backend(folder, *, sandbox, meter=None, concurrency=1, ledger=None) -> LocalBackend:
    """A backend over doubles that says what a start is given as its payload."""
    trees = FolderTrees(folder)
    trees.put(HARNESS, message="a test")
    return LocalBackend(
        sandbox=sandbox if isinstance(sandbox, ScriptedSandbox) else ScriptedSandbox(sandbox),
        meter=meter or ScriptedMeter(lambda grant: used()),
        ledger=ledger or MemoryLedger(),
        trees=trees,
        payload_of=lambda harness, task: {"task": task.task_id},
        concurrency=concurrency,
        stop=Event(),
        purse_empty=Event(),
        round_empty=Event(),
    )
