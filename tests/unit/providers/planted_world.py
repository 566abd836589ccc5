"""The planted harness on the simulator in this process: no broker, no sandbox, same seeds by rule."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType

from harnesspro import sdk
from harnesspro.core.money import cost_nanos
from harnesspro.core.ports import ChatRequest
from harnesspro.core.records import Harness, Patch, Step, Task, Trajectory, Trial
from harnesspro.core.replay import replay_key, request_hash, seed_for
from harnesspro.formats.native import apply_patch, public_task, sdk_payload
from harnesspro.providers.sim import SimProvider, draw_tasks
from harnesspro.providers.sim_truth import Setup

ROOT = Path(__file__).parents[3]


@dataclass(frozen=True)
class Result:
    """One harness on one set of tasks, None where an answer was malformed."""

    answers: tuple[object, ...]
    gold: tuple[str, ...]
    cost_nanos: int
    n_calls: int

    @property
    def accuracy(self) -> float:
        return sum(a == g for a, g in zip(self.answers, self.gold, strict=True)) / len(self.gold)

    @property
    def malformed(self) -> float:
        return sum(answer is None for answer in self.answers) / len(self.answers)

    def changed(self, other: Result) -> float:
        pairs = zip(self.answers, other.answers, strict=True)
        return sum(a != b for a, b in pairs) / len(self.answers)


class Wire:
    """An sdk transport that reaches the simulator as the broker would, and keeps the steps."""

    def __init__(self, model: str, draw: str, max_output_tokens: int) -> None:
        self.model, self.draw, self.bound = model, draw, max_output_tokens
        self.seen: Counter[str] = Counter()
        self.provider, self.steps = SimProvider(), list[Step]()

    def __call__(self, body):
        asked = ChatRequest(
            model=self.model,
            messages=tuple(body["messages"]),
            max_output_tokens=min(body.get("max_tokens", self.bound), self.bound),
            temperature=body.get("temperature"),
            response_format=body.get("response_format"),
        )
        same = request_hash(asked)
        seed = seed_for(replay_key(asked, self.draw, self.seen[same]))
        self.seen[same] += 1
        reply = self.provider.complete(asked.model_copy(update={"seed": seed}), timeout_s=1)
        price = self.provider.price(self.model)
        assert price is not None
        self.steps.append(
            Step(
                index=len(self.steps),
                role=body["model"],
                model=self.model,
                request=asked.model_dump(mode="json", exclude_none=True, exclude={"model"}),
                reply=reply.text,
                finish_reason=reply.finish_reason,
                usage=reply.usage,
                cost_nanos=cost_nanos(reply.usage, price),
                latency_s=reply.latency_s,
            )
        )
        return {
            "choices": [{"finish_reason": reply.finish_reason, "message": {"content": reply.text}}],
            "usage": {
                "prompt_tokens": reply.usage.in_tokens,
                "completion_tokens": reply.usage.out_tokens,
            },
        }


@cache
def _solver(file: str, source: str, function: str):
    module = ModuleType(file.removesuffix(".py"))
    exec(compile(source, file, "exec"), module.__dict__)
    return getattr(module, function)


_HARNESSES: dict[str, Harness] = {}


@cache
def _payload(harness_id: str):
    """What the sdk gets of a harness seen before; parsing its YAML for every task would dominate."""
    return sdk_payload(_HARNESSES[harness_id], Task(task_id="t", input={}))["harness"]


def solver_of(harness: Harness):
    """The entry function, its source executed as a module of its own."""
    assert harness.manifest.entry.python is not None
    file, _, function = harness.manifest.entry.python.partition(":")
    return _solver(file, harness.files[file], function)


def trajectory(
    harness: Harness, task: Task, *, draw: str = "search/0", model: str = "sim/small"
) -> Trajectory:
    """The harness on one task."""
    _HARNESSES[harness.harness_id] = harness
    wire = Wire(model, draw, harness.manifest.roles["worker"].max_output_tokens)
    try:
        answer = solver_of(harness)(
            public_task(task), sdk.Harness(_payload(harness.harness_id), wire)
        )
    except sdk.Malformed:
        answer = None
    trial = Trial(
        trial_id=f"trial-{task.task_id}",
        harness_id=harness.harness_id,
        task_id=task.task_id,
        draw=draw,
        outcome="malformed" if answer is None else "answered",
        answer=answer,
        n_calls=len(wire.steps),
        cost_nanos=sum(step.cost_nanos for step in wire.steps),
    )
    return Trajectory(trial=trial, steps=tuple(wire.steps))


def trajectories(
    harness: Harness,
    *,
    n: int = 200,
    seed: int = 0,
    draw: str = "search/0",
    model: str = "sim/small",
) -> list[Trajectory]:
    """The harness on `n` tasks drawn by `seed`, in order."""
    tasks = [
        Task(task_id=f"t{index}", family=record["family"], input=record["input"])
        for index, record in enumerate(draw_tasks(seed, n))
    ]
    return [trajectory(harness, task, draw=draw, model=model) for task in tasks]


def run(
    harness: Harness,
    *,
    n: int = 200,
    seed: int = 0,
    draw: str = "search/0",
    model: str = "sim/small",
) -> Result:
    """What came of it, with the truth beside it."""
    done = trajectories(harness, n=n, seed=seed, draw=draw, model=model)
    return Result(
        answers=tuple(one.trial.answer for one in done),
        gold=tuple(record["gold"] for record in draw_tasks(seed, n)),
        cost_nanos=sum(one.trial.cost_nanos for one in done),
        n_calls=sum(one.trial.n_calls for one in done),
    )


def setup_of(harness: Harness) -> Setup:
    """The configuration a variant of the planted harness is, its instructions as its code says."""
    task = Task(task_id="t", input={})
    bare = sdk.Harness(sdk_payload(harness, task)["harness"], _no_wire)
    knob = harness.knob_values.__getitem__
    return Setup(
        instructions=solver_of(harness).__globals__["instructions"](bare),
        samples=int(knob("samples")),
        temperature=float(knob("temperature")),
        retries=int(knob("retries")),
        bound=knob("constrain") == "schema",
        stop_when_agreed=knob("stop_when_agreed") == "yes",
        max_output_tokens=int(knob("max_output_tokens")),
    )


def _no_wire(body):
    raise AssertionError(f"a call that was not expected: {body}")


def changed_by(harness: Harness, *, knobs=None, edits=()) -> Harness:
    """The harness with knobs or texts changed as a patch would."""
    patch = Patch(
        parent_id=harness.harness_id,
        knobs=knobs or {},
        edits=tuple(edits),
        direction="cost",
        proposer="test",
        summary="a test",
    )
    return apply_patch(harness, patch)


def show(name: str, result: Result, base: Result) -> str:
    """One line for a person."""
    return json.dumps(
        {
            "variant": name,
            "accuracy": round(result.accuracy, 3),
            "malformed": round(result.malformed, 3),
            "cost": round(result.cost_nanos / base.cost_nanos, 3),
            "changed": round(result.changed(base), 3),
            "usd_per_1000": round(result.cost_nanos / len(result.gold) * 1e-6, 4),
        }
    )
