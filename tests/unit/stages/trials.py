"""One-line makings for the stages' tests: tasks, trials, and a check of the owner."""

from typing import Any

from harnesspro.core.records import Task, Trial, UserCheck
from tests.unit.builders import a_harness

HARNESS = a_harness(samples=2)
NOT_EMPTY = UserCheck(name="not_empty", command=("python", "checks/not_empty.py"))


def a_task(name: str = "t1", **changes) -> Task:
    base: dict[str, Any] = {"task_id": name, "input": {"request": f"do {name}"}}
    return Task(**(base | changes))


def a_trial(task: str = "t1", answer: Any = 1, **changes) -> Trial:
    """An answered trial unless `outcome` says otherwise."""
    base: dict[str, Any] = {
        "trial_id": f"trial-{task}-{changes.get('harness_id', 'h')}-{changes.get('draw', '')}",
        "harness_id": "h",
        "task_id": task,
        "draw": "search/0",
        "outcome": "answered",
        "cost_nanos": 1000,
        "latency_s": 2.0,
    }
    made = base | changes
    return Trial(**made, answer=answer if made["outcome"] == "answered" else None)
