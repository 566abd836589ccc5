"""A harness run in this process on the embedded model, as the benches do it: no sandbox, no ledger."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harnesspro import sdk
from harnesspro.core.ports import ChatReply, ChatRequest, ModelProvider
from harnesspro.core.records import Harness, KnobValue, Patch, Task
from harnesspro.core.replay import replay_key, request_hash, seed_for
from harnesspro.formats.native import apply_patch, sdk_payload

MODEL = "local/qwen2.5-coder-0.5b"


@dataclass(frozen=True, slots=True)
class Graded:
    """A task with its right answer."""

    task: Task
    gold: Any


@dataclass(frozen=True, slots=True)
class Run:
    """One variant on one task."""

    graded: Graded
    result: Mapping[str, Any]
    """outcome, answer, fault, as the sdk reports them."""
    replies: tuple[ChatReply, ...]
    seconds: float


def with_knobs(harness: Harness, knobs: Mapping[str, KnobValue]) -> Harness:
    """The harness with some dials moved."""
    changed = {k: v for k, v in knobs.items() if harness.knob_values[k] != v}
    patch = Patch(
        parent_id=harness.harness_id,
        knobs=changed,
        direction="knobs",
        proposer="bench",
        summary="a variant to measure",
    )
    return apply_patch(harness, patch)


def run_task(
    harness: Harness,
    graded: Graded,
    provider: ModelProvider,
    *,
    draw: str,
    temperature: float | None = None,
    tools: Mapping[str, Any] | None = None,
    solve: Callable[[Any, sdk.Harness], Any] | None = None,
) -> Run:
    """The harness on a task, its calls seeded as a run would seed them.

    `temperature` is that of calls which name none; `tools` stand in for modules of `tools/`, `solve` for
    the entry as it is found on the path.
    """
    replies: list[ChatReply] = []
    seen: Counter[str] = Counter()

    def send(body: Mapping[str, Any]) -> Mapping[str, Any]:
        request = _request({"temperature": temperature, **body}, harness)
        occurrence = seen[request_hash(request)]
        seen[request_hash(request)] += 1
        seed = seed_for(replay_key(request, draw, occurrence))
        reply = provider.complete(request.model_copy(update={"seed": seed}), timeout_s=300.0)
        replies.append(reply)
        return _as_api(reply)

    started = time.monotonic()
    result = sdk.run_trial(sdk_payload(harness, graded.task), send, tools=tools, solve=solve)
    return Run(graded, result, tuple(replies), time.monotonic() - started)


def _request(body: Mapping[str, Any], harness: Harness) -> ChatRequest:
    bound = harness.manifest.roles[body["model"]].max_output_tokens
    return ChatRequest(
        model=MODEL,
        messages=tuple(body["messages"]),
        max_output_tokens=min(body.get("max_tokens", bound), bound),
        temperature=body.get("temperature"),
        response_format=body.get("response_format"),
    )


def _as_api(reply: ChatReply) -> dict[str, Any]:
    message = {"role": "assistant", "content": reply.text}
    return {
        "choices": [{"message": message, "finish_reason": reply.finish_reason}],
        "usage": {
            "prompt_tokens": reply.usage.in_tokens,
            "completion_tokens": reply.usage.out_tokens,
        },
    }


def line(name: str, runs: list[Run], right: list[bool]) -> str:
    """One row: right, malformed, mean calls, mean tokens in and out, mean seconds."""
    n = len(runs)
    calls = [reply for run in runs for reply in run.replies]
    malformed = sum(run.result["outcome"] != "answered" for run in runs)
    n_in = sum(reply.usage.in_tokens for reply in calls) / n
    n_out = sum(reply.usage.out_tokens for reply in calls) / n
    seconds = sum(run.seconds for run in runs) / n
    return (
        f"{name:12} right {sum(right):3}/{n} malformed {malformed:2} calls {len(calls) / n:.2f} "
        f"tokens {n_in:6.1f} + {n_out:5.1f} seconds {seconds:.2f}"
    )


def keep(path: Path, name: str, runs: list[Run], right: list[bool]) -> None:
    """Append the answers, for a look at what went wrong."""
    with path.open("a", encoding="utf-8") as file:
        for run, fine in zip(runs, right, strict=True):
            row = {"variant": name, "task": run.graded.task.task_id, "right": fine}
            replies = [reply.text for reply in run.replies]
            file.write(json.dumps({**row, **run.result, "replies": replies}) + "\n")
