"""A trajectory as plain text: what was said to the model, what it said, what it cost. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from harnesspro.core.records import Trajectory
from harnesspro.view import figures
from harnesspro.view.text import safe_lines, safe_text


def trace_text(trajectory: Trajectory, atif: Mapping[str, Any]) -> str:
    """The steps of the trajectory's ATIF form, under a line of facts; the answer last."""
    blocks = [_facts(trajectory)]
    calls = iter(trajectory.steps)
    for step in atif["steps"]:
        source = safe_text(step["source"])
        if source == "agent":
            call = next(calls)
            usage = f"{call.usage.in_tokens} in, {call.usage.out_tokens} out"
            replayed = ", replayed" if call.replayed else ""
            cost = figures.usd(call.cost_nanos / 1e9)
            source = (
                f"{safe_text(call.role)} ({safe_text(call.model)}, {usage}, {cost}, "
                f"{figures.seconds(call.latency_s)}, {safe_text(call.finish_reason)}{replayed})"
            )
        blocks.append(f"--- {step['step_id']} {source}\n{safe_lines(step['message'])}")
    return "\n\n".join([*blocks, _ending(trajectory)]) + "\n"


def _facts(trajectory: Trajectory) -> str:
    trial = trajectory.trial
    facts = (
        safe_text(trial.task_id),
        safe_text(trial.harness_id),
        safe_text(trial.draw),
        trial.outcome,
        figures.counted(trial.n_calls, "call"),
        figures.usd(trial.cost_usd),
        figures.seconds(trial.latency_s),
        trial.isolation,
    )
    return "  ".join(facts)


def _ending(trajectory: Trajectory) -> str:
    trial = trajectory.trial
    notes = "".join(f"--- note\n{safe_lines(note)}\n\n" for note in trial.notes)
    if trial.outcome != "answered":
        return f"{notes}--- {trial.outcome}\n{safe_lines(trial.fault or 'no answer')}"
    answer = trial.answer
    shown = answer if isinstance(answer, str) else json.dumps(answer, indent=2, ensure_ascii=False)
    return f"{notes}--- answer\n{safe_lines(shown)}"
