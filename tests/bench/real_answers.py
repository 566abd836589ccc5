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
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from harnesspro.checks import checks_for, passes, probes_for
from harnesspro.core.answers import NO_ANSWER, cluster, same
from harnesspro.core.calibration import ProbeAnswer, ProbeRow, hit_rate, mark, pairs_of
from harnesspro.core.channels import measure_channel
from harnesspro.core.hashing import canonical_json
from harnesspro.core.records import AnswerSpec, Check, KnobValue, Task
from harnesspro.formats.content import harness_path
from harnesspro.formats.native import load_harness
from harnesspro.providers.local import LocalProvider
from harnesspro.providers.model_server import start_server
from harnesspro.vault.grading import grade
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


# --- judging what is on file -------------------------------------------------------------------

Answers = Mapping[tuple[str, str], Any]
"""(variant, item key) -> the answer; None where there was none."""


def judge(options: argparse.Namespace) -> int:
    """Every channel on real tasks against gold, and on probes against their construction."""
    everything = list(items(options.n, options.n_probes, wheel=options.wheel))
    kept = rows(options.to / "answers.jsonl")
    answers = {(row["variant"], row["item"]): row["answer"] for row in kept}
    costs = {(row["variant"], row["item"]): row for row in kept}
    for kind in ("real", "probe"):
        chosen = [item for item in everything if item.kind == kind]
        for base, variant in PAIRS:
            found = [
                row
                for item in chosen
                if (row := probe_row(item, (base, variant), answers, costs)) is not None
            ]
            if found:
                report(kind, base, variant, found)
    return 0


PAIRS = (
    ("vote of three", "constrained"),
    ("vote of three", "shortened"),
    ("constrained", "shortened"),
)


def probe_row(
    item: Item, variants: tuple[str, str], answers: Answers, costs: Mapping[Any, Any]
) -> ProbeRow | None:
    """The two variants' answers to one item; None where one is not on file."""
    if any((name, item.key) not in answers for name in variants):
        return None
    given = {name: answers[name, item.key] for name in variants}
    clusters = {name: _cluster(answer) for name, answer in given.items()}
    found = tuple(
        ProbeAnswer(
            candidate_id=name,
            cluster=clusters[name],
            right=is_right(item, answer),
            answered=answer is not None,
            n_chars=len(canonical_json(answer)) if answer is not None else 0,
            latency_s=costs[name, item.key]["seconds"],
            cost_usd=1e-7
            * (costs[name, item.key]["in_tokens"] + costs[name, item.key]["out_tokens"]),
        )
        for name, answer in given.items()
    )
    by_cluster = {clusters[name]: answer for name, answer in given.items() if answer is not None}
    said = {
        name: {**{key: score(answer) for key, answer in by_cluster.items()}, NO_ANSWER: 0.0}
        for name, score in scorers(item, answers).items()
    }
    return ProbeRow(probe_id=item.key, answers=found, scores=said)


def _cluster(answer: Any) -> str:
    return cluster("json", "malformed" if answer is None else "answered", answer)


def is_right(item: Item, answer: Any) -> bool:
    """Against the gold of a real task, or the construction of a probe."""
    if answer is None:
        return False
    if item.kind == "probe":
        return same("json", answer, item.graded.gold)
    return grade("bfcl", "json", answer, item.graded.gold) == "right"


def scorers(item: Item, answers: Answers) -> dict[str, Callable[[Any], float]]:
    """Channel -> what it finds of an answer to this item, without gold."""
    task = item.graded.task
    found: dict[str, Callable[[Any], float]] = {
        f"check {check.name}": partial(_passes, check, task) for check in checks_for(SPEC)
    }
    for kind, back in (("reordered", lambda task, a: a), ("renamed", back_named)):
        key = f"{kind}/{task.task_id}"
        copies = [
            _cluster(back(task, answers[name, key]))
            for name in ("constrained", "shortened")
            if (name, key) in answers
        ]
        if item.kind == "real" and len(copies) == 2:
            found[f"stable when {kind}"] = partial(_share, copies)
    return found


def _passes(check: Check, task: Task, answer: Any) -> float:
    return float(passes(check, task, SPEC, answer))


def _share(copies: list[str], answer: Any) -> float:
    """How many of the answers to the changed copy are this one."""
    return copies.count(_cluster(answer)) / len(copies)


def report(kind: str, base: str, variant: str, found: list[ProbeRow]) -> None:
    """A table for one pair of variants: what each channel sees, and the referee of all checks."""
    n = len(found)
    right = [sum(row.answers[k].right for row in found) for k in (0, 1)]
    pairs = pairs_of(found, seed=0)
    differing = sum(row.answers[0].cluster != row.answers[1].cluster for row in found)
    say(f"\n{kind}: {base} ({right[0]} of {n} right) against {variant} ({right[1]} of {n})")
    say(f"  {differing} answers differ; on {len(pairs)} exactly one is right")
    for name in sorted({name for row in found for name in row.scores}):
        merits = {row.probe_id: row.scores[name] for row in found if name in row.scores}
        marks = mark([pair for pair in pairs if pair.probe_id in merits], merits)
        rate = hit_rate(marks)
        measured = measure_channel(name, "checks", found, seed=0)
        auc = f"{measured.auc.mean:.2f}" if measured.auc else "  – "
        if rate is not None:
            say(
                f"  {name:24} hit rate {rate.mean:.2f} [{rate.low:.2f}, {rate.high:.2f}] "
                f"of {rate.n}, ties {marks.ties}, for change wrongly {marks.wrong_for_change}, "
                f"against {marks.wrong_against}, AUC where it speaks {auc}: {measured.reason}"
            )


def say(text: str) -> None:
    """A line of the table."""
    sys.stdout.write(text + "\n")


def main() -> int:
    """Record or judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("step", choices=["record", "judge"])
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
    return {"record": record, "judge": judge}[options.step](options)


if __name__ == "__main__":
    sys.exit(main())
