"""Which label-free channel sees a worse variant on a real model's answers, and how often it is right.

Two steps, by hand: `record` asks the embedded model once (an hour on two cores; it may be stopped and
goes on where it was) and keeps every answer; `judge` reads them, computes each channel's word without
gold, and only then holds it against gold. `python -m tests.bench.real_answers record --to DIR`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harnesspro.checks import probes_for
from harnesspro.core.records import AnswerSpec, KnobValue, Task
from harnesspro.formats.content import harness_path
from harnesspro.formats.native import load_harness
from harnesspro.providers.local import LocalProvider
from harnesspro.providers.model_server import start_server
from tests.bench.toolcaller import (
    MODEL,
    ONE_CALL,
    Graded,
    graded_tasks,
    run_task,
    with_knobs,
)

VARIANTS: dict[str, dict[str, KnobValue]] = {
    "vote of three": {},
    "constrained": ONE_CALL,
    "shortened": {**ONE_CALL, "function_detail": "short"},
}
SPEC = AnswerSpec(kind="json", answer_schema="task")


@dataclass(frozen=True, slots=True)
class Item:
    """One thing to ask: a real task, a changed copy of one, or a probe; with its right answer."""

    kind: str
    """`real`, `reordered`, `renamed`, `probe`."""
    graded: Graded

    @property
    def key(self) -> str:
        """Unique over all kinds."""
        return f"{self.kind}/{self.graded.task.task_id}"


def reordered(graded: Graded) -> Graded:
    """The same request with functions and their arguments the other way round."""
    given: Any = graded.task.input
    given = dict(given)
    given["functions"] = [_turned(function) for function in reversed(given["functions"])]
    return Graded(graded.task.model_copy(update={"input": given}), graded.gold)


def _turned(function: Mapping[str, Any]) -> dict[str, Any]:
    parameters = function["parameters"]
    properties = dict(reversed(parameters.get("properties", {}).items()))
    return {**function, "parameters": {**parameters, "properties": properties}}


def renamed(graded: Graded) -> Graded:
    """The same request with every function under another name that says nothing."""
    text = json.dumps(graded.task.input)
    given: Any = json.loads(text)
    names = {function["name"]: f"tool_{i}" for i, function in enumerate(given["functions"])}
    for function in given["functions"]:
        function["name"] = names[function["name"]]
    for branch in given["answer_schema"]["oneOf"]:
        name = branch["properties"]["name"]
        name["const"] = names[name["const"]]
    return Graded(graded.task.model_copy(update={"input": given}), graded.gold)


def back_named(task: Task, answer: Any) -> Any:
    """An answer to the renamed copy in the original's names."""
    functions: Any = task.input
    functions = functions["functions"]
    names = {f"tool_{i}": function["name"] for i, function in enumerate(functions)}
    if not isinstance(answer, dict):
        return answer
    return {**answer, "name": names.get(answer.get("name", ""), answer.get("name"))}


def items(n: int, n_probes: int, *, wheel: Path | None) -> Iterator[Item]:
    """Real tasks first, then changed copies, then probes made after them."""
    pool = graded_tasks(2 * n, wheel=wheel)
    multiple = [graded for graded in pool if graded.task.family == "multiple"][: 3 * n // 4]
    simple = [graded for graded in pool if graded.task.family == "simple_python"][: n // 4]
    real = [*multiple, *simple]
    yield from (Item("real", graded) for graded in real)
    yield from (Item("reordered", reordered(graded)) for graded in real)
    yield from (Item("renamed", renamed(graded)) for graded in real)
    tasks = [graded.task for graded in real]
    for probe in probes_for(SPEC, tasks, seed=3, n=n_probes):
        yield Item("probe", Graded(probe.task, probe.answer))


def wanted(item: Item, variant: str) -> bool:
    """The vote of three is dear: it answers no changed copies."""
    return variant != "vote of three" or item.kind in ("real", "probe")


def record(options: argparse.Namespace) -> int:
    """Ask the model whatever is not on file yet."""
    folder = harness_path("builtin:toolcaller")
    sys.path.insert(0, str(folder))
    harness = load_harness(folder)
    options.to.mkdir(parents=True, exist_ok=True)
    path = options.to / "answers.jsonl"
    done = {(row["variant"], row["item"]) for row in rows(path)}
    server = start_server(MODEL, threads=options.threads)
    provider = LocalProvider({MODEL: server.url})
    try:
        everything = list(items(options.n, options.n_probes, wheel=options.wheel))
        for kind in options.kind:
            for name in options.variant or VARIANTS:
                variant = with_knobs(harness, VARIANTS[name])
                for item in everything:
                    if item.kind != kind or not wanted(item, name) or (name, item.key) in done:
                        continue
                    run = run_task(variant, item.graded, provider, draw="bench/0")
                    _append(path, name, item, run)
    finally:
        provider.close()
        server.stop()
    return 0


def _append(path: Path, name: str, item: Item, run: Any) -> None:
    row = {
        "variant": name,
        "item": item.key,
        "outcome": run.result["outcome"],
        "answer": run.result.get("answer"),
        "in_tokens": sum(reply.usage.in_tokens for reply in run.replies),
        "out_tokens": sum(reply.usage.out_tokens for reply in run.replies),
        "seconds": round(run.seconds, 2),
    }
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")


def rows(path: Path) -> list[dict[str, Any]]:
    """Every answer on file; a half-written last line is left out."""
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line.endswith("}")]


def main() -> int:
    """Record or judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("step", choices=["record"])
    parser.add_argument("--to", type=Path, required=True)
    parser.add_argument("--n", type=int, default=96)
    parser.add_argument("--n-probes", type=int, default=150)
    parser.add_argument(
        "--kind", action="append", choices=["real", "reordered", "renamed", "probe"]
    )
    parser.add_argument("--variant", action="append", choices=sorted(VARIANTS))
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--wheel", type=Path, help="the bfcl-eval wheel (default: pip download)")
    options = parser.parse_args()
    options.kind = options.kind or ["real", "reordered", "renamed", "probe"]
    return record(options)


if __name__ == "__main__":
    sys.exit(main())
