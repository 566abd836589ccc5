"""Measures variants of the reasoner on the embedded model: right answers, tokens, seconds.

For measuring only: it reads gold, which no improving code may. Run it by hand:
`python tests/bench/reasoner.py [--n 48] [--variant NAME ...]`; the tasks go through the families and
levels in turn, each through all variants. `--audit N` measures instead how the grading of N items of each set agrees with the
package's own `score_answer`; it runs the package's code in this process.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import random
import sys
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from harnesspro import sdk
from harnesspro.cli.making import run_in_sandbox
from harnesspro.core.ports import ChatReply, ChatRequest, ModelProvider
from harnesspro.core.records import Harness, KnobValue, Patch, Task
from harnesspro.core.replay import replay_key, request_hash, seed_for
from harnesspro.formats import reasoning, reasoning_items
from harnesspro.formats.content import harness_path
from harnesspro.formats.native import apply_patch, load_harness, sdk_payload
from harnesspro.formats.wheels import fetch_wheel
from harnesspro.providers.local import LocalProvider
from harnesspro.providers.model_server import start_server
from harnesspro.vault import tasksets
from harnesspro.vault.grading import grade

MODEL = "local/qwen2.5-coder-0.5b"
ONE: dict[str, KnobValue] = {"samples": 1, "temperature": 0.0}
BRIEF: dict[str, KnobValue] = {**ONE, "steps": "none", "finish": "tool"}
VARIANTS: dict[str, dict[str, KnobValue]] = {
    "baseline": {},
    "one-sample": ONE,
    "tool-result": {**ONE, "finish": "tool"},
    "brief": BRIEF,
    "answer-only": {**BRIEF, "tool": "none"},
    "no-tool": {**ONE, "tool": "none"},
    "always-python": {**ONE, "finish": "tool", "tool": "python"},
    "early-stop": {"stop_when_agreed": "yes"},
}
FAIR, TRAP = "brief", "answer-only"
"""A saving that costs no accuracy, and one that is cheaper still and truly worse."""


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
        """Whether the answer is the right one."""
        return grade("exact", "text", self.result.get("answer"), self.graded.gold) == "right"


def wheel_of(path: Path | None) -> zipfile.ZipFile:
    """The package's wheel, downloaded where no file is named."""
    source = tasksets.CATALOGUE["reasoning-gym"]
    content = tasksets._wheel_bytes(source, fetch_wheel) if path is None else path.read_bytes()
    return zipfile.ZipFile(io.BytesIO(content))


def graded_tasks(n: int, archive: zipfile.ZipFile) -> list[Graded]:
    """`n` tasks: one of each family, the levels in turn; the same for the same `n`."""
    records = tasksets.reasoning_records(archive, run_in_sandbox)
    n_sets = len(reasoning.FAMILIES) * len(reasoning.LEVELS)
    per_level, n_levels = reasoning.N_PER_LEVEL, len(reasoning.LEVELS)
    order = [
        (family * n_levels + (family + turn) % n_levels) * per_level + turn // n_levels
        for turn in range(per_level * n_levels)
        for family in range(n_sets // n_levels)
    ]
    chosen = [records[place] for place in order[:n]]
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


def within(tasks: list[Graded], minutes: float) -> Iterator[Graded]:
    """The tasks in turn while there is time; every variant meets the same ones."""
    started = time.monotonic()
    for task in tasks:
        if time.monotonic() - started < 60 * minutes:
            yield task


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
    """Print a row for each variant, or the audit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=48)
    parser.add_argument("--skip", type=int, default=0, help="leave out the first tasks")
    parser.add_argument("--variant", action="append", choices=sorted(VARIANTS))
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--draw", default="bench/0")
    parser.add_argument("--wheel", type=Path, help="the package's wheel (default: pip download)")
    parser.add_argument("--answers", type=Path, help="append every answer to this file")
    parser.add_argument("--minutes", type=float, default=600.0, help="begin no task after them")
    parser.add_argument("--audit", type=int, metavar="N")
    options = parser.parse_args()
    with wheel_of(options.wheel) as archive:
        if options.audit:
            sys.stdout.write(audit(archive, options.audit) + "\n")
            return 0
        tasks = graded_tasks(options.skip + options.n, archive)[options.skip :]
    folder = harness_path("builtin:reasoner")
    sys.path.insert(0, str(folder))
    harness = load_harness(folder)
    server = start_server(MODEL, threads=options.threads)
    provider = LocalProvider({MODEL: server.url})
    try:
        variants = {
            name: with_knobs(harness, VARIANTS[name]) for name in options.variant or VARIANTS
        }
        runs: dict[str, list[Run]] = {name: [] for name in variants}
        for task in within(tasks, options.minutes):
            for name, variant in variants.items():
                runs[name].append(run_task(variant, task, provider, draw=options.draw))
                if options.answers:
                    keep(options.answers, name, runs[name][-1:])
        for name in variants:
            sys.stdout.write(line(name, runs[name]) + "\n")
    finally:
        provider.close()
        server.stop()
    return 0


def keep(path: Path, name: str, runs: list[Run]) -> None:
    """Append the answers, for a look at what went wrong."""
    with path.open("a", encoding="utf-8") as file:
        for run in runs:
            row = {
                "variant": name,
                "task": run.graded.task.task_id,
                "right": run.right,
                "gold": run.graded.gold,
            }
            usage = [reply.usage for reply in run.replies]
            told = {
                "in_tokens": sum(one.in_tokens for one in usage),
                "out_tokens": sum(one.out_tokens for one in usage),
                "seconds": round(run.seconds, 2),
                "replies": [reply.text for reply in run.replies],
            }
            file.write(json.dumps({**row, **run.result, **told}) + "\n")


# --- the grading against the package's own -------------------------------------------------------


def audit(archive: zipfile.ZipFile, n: int) -> str:
    """How often an answer is right here and has score 1.0 there, or neither."""
    with tempfile.TemporaryDirectory() as place:
        archive.extractall(place, members=reasoning.members())
        sets = reasoning.plan()["sets"]
        sys.path.insert(0, place)
        reasoning_items.stand_in([one["module"] for one in sets], place)
        pairs = [pair for one in sets for pair in judged(one, n)]
    apart = Counter(family for family, ours, theirs in pairs if ours != theirs)
    n_right = sum(ours for _, ours, _ in pairs)
    return (
        f"{len(sets) * n} items, {len(pairs)} answers, {n_right} right; "
        f"judged differently: {sum(apart.values())} {dict(apart) or ''}"
    )


def judged(one: Mapping[str, Any], n: int) -> Iterator[tuple[str, bool, bool]]:
    """Family, right by our grading, score 1.0 by the package's; fresh items, answers near and far."""
    family = one["family"]
    dataset = reasoning_items.made({**one, "seed": one["seed"] + 5_000_000}, size=n)
    items = [dataset[index] for index in range(n)]
    is_number = reasoning.FAMILIES[one["dataset"]][1] == "number"
    rng = random.Random(one["seed"])
    for item in items:
        gold = reasoning.right_answer(family, item["answer"])
        others = [rng.choice(items)["answer"] for _ in range(3)]
        for answer in (item["answer"], gold, *others, *near(gold, is_number=is_number)):
            spelt = reasoning.plain_number(answer) if is_number else answer
            ours = grade("exact", "text", spelt, gold) == "right"
            yield family, ours, dataset.score_answer(answer, item) == 1.0


def near(gold: str, *, is_number: bool) -> tuple[str, ...]:
    """Answers that are nearly the right one."""
    if not is_number:
        return gold[::-1], gold[:-1], gold + "x"
    number = Decimal(gold)
    return tuple(f"{near:f}" for near in (number + 1, number - 1, -number, number * 10))


if __name__ == "__main__":
    sys.exit(main())
