"""Trajectories as ATIF 1.8 JSON, the interchange format other harness tools read; and back.

The prompt's messages become system and user steps, each model reply an agent step with its
metrics. What ATIF has no field for stands under `extra.harnesspro`, and `read` needs only that.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import JsonValue, ValidationError

from harnesspro.core.errors import IntegrityError
from harnesspro.core.hashing import canonical_json
from harnesspro.core.money import usd_from_nanos
from harnesspro.core.records import Step, Trajectory, Trial, Usage
from harnesspro.store.placing import safe_relative, write_json

SCHEMA_VERSION = "ATIF-v1.8"
FOLDER = "trajectories"
_OURS = "harnesspro"


def write_trajectory(run_dir: Path, trajectory: Trajectory, *, agent_name: str) -> Path:
    """Write `trajectories/<trial_id>.json` and return its path.

    Raises:
        OSError: the run folder cannot be written.
    """
    path = _path(run_dir, trajectory.trial.trial_id)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, to_atif(trajectory, agent_name=agent_name))
    return path


def read_trajectory(run_dir: Path, trial_id: str) -> Trajectory:
    """The trajectory as it was written.

    Raises:
        IntegrityError: not there, or not a trajectory written here.
    """
    path = _path(run_dir, trial_id)
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise IntegrityError(str(path), error.strerror or "unreadable") from error
    except ValueError as error:
        raise IntegrityError(str(path), "not JSON") from error
    return from_atif(document, where=str(path))


def to_atif(trajectory: Trajectory, *, agent_name: str) -> dict[str, Any]:
    """The ATIF document. `session_id` is the trial id, `agent.version` the harness id."""
    trial, steps = trajectory.trial, _atif_steps(trajectory)
    agent = {"name": agent_name, "version": trial.harness_id}
    if trajectory.steps:
        agent["model_name"] = trajectory.steps[0].model
    return {
        "schema_version": SCHEMA_VERSION,
        "session_id": trial.trial_id,
        "agent": agent,
        "steps": [{"step_id": number, **step} for number, step in enumerate(steps, 1)],
        "final_metrics": {
            "total_prompt_tokens": trial.usage.in_tokens,
            "total_completion_tokens": trial.usage.out_tokens,
            "total_cached_tokens": trial.usage.cache_read_tokens,
            "total_cost_usd": usd_from_nanos(trial.cost_nanos),
            "total_steps": len(steps),
        },
        "extra": {_OURS: trial.model_dump(mode="json")},
    }


def from_atif(document: Any, *, where: str) -> Trajectory:
    """The trajectory a `to_atif` document was made from.

    Raises:
        IntegrityError: not such a document.
    """
    try:
        agent_steps = [step for step in document["steps"] if step["source"] == "agent"]
        return Trajectory(
            trial=Trial.model_validate(document["extra"][_OURS]),
            steps=tuple(_step(step) for step in agent_steps),
        )
    except (KeyError, TypeError, ValidationError) as error:
        problem = str(error).splitlines()[0]
        raise IntegrityError(
            where, problem, expected=f"{SCHEMA_VERSION} as written here"
        ) from error


def _atif_steps(trajectory: Trajectory) -> list[dict[str, Any]]:
    """Every message once, in order: a prompt that repeats the talk so far adds only what is new."""
    steps: list[dict[str, Any]] = []
    shown: set[str] = set()
    for step in trajectory.steps:
        messages = step.request.get("messages")
        for message in messages if isinstance(messages, list) else []:
            key = canonical_json(message)
            if (
                key not in shown
                and isinstance(message, dict)
                and message.get("role") != "assistant"
            ):
                steps.append(_prompt_step(message))
            shown.add(key)
        steps.append(_agent_step(step))
    if not steps:  # ATIF wants at least one
        steps.append({"source": "system", "message": f"no model call; {trajectory.trial.outcome}"})
    return steps


def _prompt_step(message: dict[str, JsonValue]) -> dict[str, Any]:
    source = "system" if message.get("role") == "system" else "user"
    content = message.get("content")
    return {
        "source": source,
        "message": content if isinstance(content, str) else canonical_json(content),
    }


def _agent_step(step: Step) -> dict[str, Any]:
    ours = step.model_dump(mode="json", exclude={"reply", "model", "usage"})
    ours["usage"] = step.usage.model_dump(mode="json")
    return {
        "source": "agent",
        "model_name": step.model,
        "message": step.reply,
        "metrics": {
            "prompt_tokens": step.usage.in_tokens,
            "completion_tokens": step.usage.out_tokens,
            "cached_tokens": step.usage.cache_read_tokens,
            "cost_usd": usd_from_nanos(step.cost_nanos),
        },
        "llm_call_count": 1,
        "extra": {_OURS: ours},
    }


def _step(document: dict[str, Any]) -> Step:
    ours = dict(document["extra"][_OURS])
    usage = Usage.model_validate(ours.pop("usage"))
    return Step(reply=document["message"], model=document["model_name"], usage=usage, **ours)


def _path(run_dir: Path, trial_id: str) -> Path:
    name = safe_relative(f"{trial_id}.json")
    if len(name.parts) != 1:
        raise IntegrityError(repr(trial_id), "no trial id")
    return run_dir / FOLDER / name
