"""Measures variants of the tool caller on the embedded model: right answers, tokens, seconds.

For measuring only: it reads gold, which no improving code may. Run it by hand:
`python tests/bench/toolcaller.py [--n 24] [--variant NAME ...]`. Half of the tasks are of each family.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
import time
import zipfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harnesspro import sdk
from harnesspro.core.ports import ChatReply, ChatRequest, ModelProvider
from harnesspro.core.records import Harness, KnobValue, Patch, Task
from harnesspro.core.replay import replay_key, request_hash, seed_for
from harnesspro.formats.content import harness_path
from harnesspro.formats.native import apply_patch, load_harness, sdk_payload
from harnesspro.formats.wheels import fetch_wheel
from harnesspro.providers.local import LocalProvider
from harnesspro.providers.model_server import start_server
from harnesspro.vault import tasksets
from harnesspro.vault.grading import grade

MODEL = "local/qwen2.5-coder-0.5b"
ONE_CALL: dict[str, KnobValue] = {"samples": 1, "temperature": 0.0, "constrain": "schema"}
VARIANTS: dict[str, dict[str, KnobValue]] = {
    "baseline": {},
    "one-call": {"samples": 1, "temperature": 0.0},
    "constrained": ONE_CALL,
    "short": {**ONE_CALL, "function_detail": "short"},
    "early-stop": {"stop_when_agreed": "yes"},
}


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
    replies: tuple[ChatReply, ...]
    seconds: float

    @property
    def right(self) -> bool:
        """Whether the answer is one of the possible ones."""
        return grade("bfcl", "json", self.result.get("answer"), self.graded.gold) == "right"


def graded_tasks(n: int, *, wheel: Path | None) -> list[Graded]:
    """`n` BFCL tasks, half `simple_python`, half `multiple`; the same for the same `n`."""
    if wheel is None:
        content = tasksets._wheel_bytes(tasksets.CATALOGUE["bfcl"], fetch_wheel)
    else:
        content = wheel.read_bytes()
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        records = tasksets.bfcl_records(archive)
    chosen = [
        record
        for family in ("simple_python", "multiple")
        for record in [r for r in records if r["family"] == family][: n // 2]
    ]
    return [
        Graded(Task(task_id=r["id"], family=r["family"], input=r["input"]), r["gold"])
        for r in chosen
    ]


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


def run_task(harness: Harness, graded: Graded, provider: ModelProvider, *, draw: str) -> Run:
    """The harness on a task in this process, seeded as a run would seed it."""
    replies: list[ChatReply] = []
    seen: Counter[str] = Counter()

    def send(body: Mapping[str, Any]) -> Mapping[str, Any]:
        request = _request(body, harness)
        occurrence = seen[request_hash(request)]
        seen[request_hash(request)] += 1
        seed = seed_for(replay_key(request, draw, occurrence))
        reply = provider.complete(request.model_copy(update={"seed": seed}), timeout_s=300.0)
        replies.append(reply)
        return _as_api(reply)

    started = time.monotonic()
    result = sdk.run_trial(sdk_payload(harness, graded.task), send)
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


def line(name: str, runs: list[Run]) -> str:
    """One row: right, malformed, mean calls, mean tokens in and out, mean seconds."""
    n = len(runs)
    calls = [reply for run in runs for reply in run.replies]
    right = sum(run.right for run in runs)
    malformed = sum(run.result["outcome"] != "answered" for run in runs)
    n_in = sum(reply.usage.in_tokens for reply in calls) / n
    n_out = sum(reply.usage.out_tokens for reply in calls) / n
    seconds = sum(run.seconds for run in runs) / n
    return (
        f"{name:12} right {right:3}/{n} malformed {malformed:2} calls {len(calls) / n:.2f} "
        f"tokens {n_in:6.1f} + {n_out:5.1f} seconds {seconds:.2f}"
    )


def main() -> int:
    """Print a row for each variant."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=24)
    parser.add_argument("--variant", action="append", choices=sorted(VARIANTS))
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--draw", default="bench/0")
    parser.add_argument("--wheel", type=Path, help="the bfcl-eval wheel (default: pip download)")
    parser.add_argument("--answers", type=Path, help="append every answer to this file")
    options = parser.parse_args()
    folder = harness_path("builtin:toolcaller")
    sys.path.insert(0, str(folder))
    harness, tasks = load_harness(folder), graded_tasks(options.n, wheel=options.wheel)
    server = start_server(MODEL, threads=options.threads)
    provider = LocalProvider({MODEL: server.url})
    try:
        for name in options.variant or VARIANTS:
            variant = with_knobs(harness, VARIANTS[name])
            runs = [run_task(variant, task, provider, draw=options.draw) for task in tasks]
            sys.stdout.write(line(name, runs) + "\n")
            sys.stdout.flush()
            if options.answers:
                keep(options.answers, name, runs)
    finally:
        provider.close()
        server.stop()
    return 0


def keep(path: Path, name: str, runs: list[Run]) -> None:
    """Append the answers, for a look at what went wrong."""
    with path.open("a", encoding="utf-8") as file:
        for run in runs:
            row = {"variant": name, "task": run.graded.task.task_id, "right": run.right}
            replies = [reply.text for reply in run.replies]
            file.write(json.dumps({**row, **run.result, "replies": replies}) + "\n")


if __name__ == "__main__":
    sys.exit(main())
