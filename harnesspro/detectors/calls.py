"""Model calls read as data: what was asked, which calls ask the same, what a token cost.

Shared by the detectors; decides nothing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
from pydantic import JsonValue

from harnesspro.core.hashing import content_hash
from harnesspro.core.records import Span, Step, Trajectory


def message_text(step: Step) -> str:
    """The text of all messages, in order, one block a message."""
    messages = step.request.get("messages")
    blocks = messages if isinstance(messages, list) else []
    return "\n\n".join(
        _content_text(block.get("content")) for block in blocks if isinstance(block, dict)
    )


def _content_text(content: JsonValue) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(str(part.get("text") or "") for part in parts if isinstance(part, dict))


def prompt_text(step: Step) -> str:
    """What prompt tokens are paid for: the messages and the tools on offer."""
    tools = step.request.get("tools")
    return message_text(step) + (json.dumps(tools) if tools else "")


def temperature(step: Step) -> float | None:
    """The temperature asked for, or None where it was left to the provider."""
    value = step.request.get("temperature")
    return float(value) if isinstance(value, int | float) else None


def same_requests(trajectory: Trajectory) -> list[list[Step]]:
    """The trial's steps grouped by identical model and request, groups and steps in order."""
    groups: dict[str, list[Step]] = {}
    for step in trajectory.steps:
        asked = {key: value for key, value in step.request.items() if key != "seed"}
        groups.setdefault(content_hash(step.role, step.model, asked), []).append(step)
    return list(groups.values())


def is_repetition(group: Sequence[Step]) -> bool:
    """Whether identical requests could not differ in their replies, or did not.

    At temperature 0 they could not. Where the temperature was left open they are repetitions only
    if all replies are the same; otherwise they are samples.
    """
    asked = temperature(group[0])
    return asked == 0 or (asked is None and len({step.reply for step in group}) == 1)


def span(trajectory: Trajectory, step: Step, wasted_nanos: float) -> Span:
    """Evidence: the step, claiming at most what it cost."""
    claim = min(max(round(wasted_nanos), 0), step.cost_nanos)
    return Span(trial_id=trajectory.trial.trial_id, step=step.index, wasted_nanos=claim)


def output_rates(trajectories: Sequence[Trajectory]) -> dict[str, float]:
    """Nano-dollars of one output token, by model.

    Read off the steps' own costs and usage: where one linear price explains every step to its
    rounding, that price; else the model's mean over all its tokens.
    """
    by_model: dict[str, list[Step]] = {}
    for trajectory in trajectories:
        for step in trajectory.steps:
            by_model.setdefault(step.model, []).append(step)
    return {model: _output_rate(steps) for model, steps in by_model.items()}


def _output_rate(steps: Sequence[Step]) -> float:
    classes = ("out_tokens", "uncached_in_tokens", "cache_read_tokens", "cache_write_tokens")
    counts = np.array([[getattr(step.usage, name) for name in classes] for step in steps], float)
    costs = np.array([step.cost_nanos for step in steps], float)
    used = counts[:, counts.any(axis=0)]
    if counts[:, 0].any():
        prices, _, rank, _ = np.linalg.lstsq(used, costs, rcond=None)
        exact = bool(np.all(np.abs(used @ prices - costs) <= 1 + 1e-9 * costs))
        if rank == used.shape[1] and exact and float(prices.min()) >= -1e-9:
            return float(max(prices[0], 0.0))
    tokens = float(counts.sum())
    return float(costs.sum()) / tokens if tokens else 0.0


def input_cost(step: Step, rates: dict[str, float]) -> float:
    """What the step's prompt cost, in nano-dollars."""
    return max(step.cost_nanos - rates[step.model] * step.usage.out_tokens, 0.0)


def percentile(values: Sequence[float], percent: float) -> int:
    """The smallest observed value that at least `percent` of the values do not exceed."""
    return int(np.ceil(np.percentile(values, percent, method="inverted_cdf")))
