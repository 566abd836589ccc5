"""The improver's agents as callables: an agents/ folder run as a trial on the improver's purse."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock

from pydantic import BaseModel, JsonValue, ValidationError

from harnesspro.core.ports import Backend, Dropped, EventSink, Ledger, ReplyT, Trees, TrialJob
from harnesspro.core.records import Harness, Task, Trial


@dataclass(frozen=True, slots=True)
class SandboxImprover:
    """Implements `core.ports.Improver`: validated, repaired once with the message, else dropped.

    Thread-safe.
    """

    backend: Backend
    trees: Trees
    ledger: Ledger
    agent_harness: Callable[[str], Harness]
    model: str
    events: EventSink
    _placing: Lock = field(default_factory=Lock)
    """Held while the agent's tree is kept: two first askers would write it at once."""

    def ask(
        self, agent: str, question: BaseModel, reply: type[ReplyT], *, key: str
    ) -> ReplyT | Dropped:
        """The agent's typed reply; see the port."""
        harness = self.agent_harness(agent)
        with self._placing:
            self.trees.put(harness, message=f"agent {agent}")
        asked = question.model_dump(mode="json")
        problem = ""
        for attempt in range(2):
            trial = self._run(harness, asked, draw=f"improver/{key}/{attempt}", problem=problem)
            if trial is None:
                return Dropped(agent=agent, reason="the run was stopped")
            if trial.outcome != "answered":
                problem = trial.fault or trial.outcome
                continue
            try:
                return reply.model_validate(trial.answer)
            except ValidationError as error:
                problem = _first_problem(error)
        return self._drop(agent, key, problem)

    def _drop(self, agent: str, key: str, reason: str) -> Dropped:
        """The first reason stays on record: what was void then may be otherwise now."""
        dropped = Dropped(agent=agent, reason=reason)
        if self.ledger.get("dropped", f"{agent}/{key}") is None:
            self.ledger.put("dropped", f"{agent}/{key}", dropped.model_dump(mode="json"))
        self.events.emit("dropped", agent=agent, reason=reason)
        return dropped

    def _run(self, harness: Harness, asked: JsonValue, *, draw: str, problem: str) -> Trial | None:
        task = Task(task_id=draw.replace("/", "-"), input={"question": asked, "repair": problem})
        models = dict.fromkeys(harness.manifest.roles, self.model)
        job = TrialJob(harness=harness, task=task, draw=draw, purse="improver", models=models)
        return next(iter(self.backend.run([job])), None)


def _first_problem(error: ValidationError) -> str:
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"]) or "reply"
    return f"{place}: {first['msg']}"
