"""Measures variants of the reasoner on the embedded model: right answers, tokens, seconds.

For measuring only: it reads gold, which no improving code may. Run it by hand:
`python tests/bench/reasoner.py [--n 48] [--variant NAME ...]`; the tasks go through the families and
levels in turn, each through all variants. `--audit N` measures instead how the grading of N items of each set agrees with the
package's own `score_answer`; it runs the package's code in this process.
"""

from __future__ import annotations

import argparse
import io
import os
import random
import sys
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from harnesspro.cli.making import run_in_sandbox
from harnesspro.core.records import KnobValue, Task
from harnesspro.formats import reasoning, reasoning_items
from harnesspro.formats.content import harness_path
from harnesspro.formats.native import load_harness
from harnesspro.formats.wheels import fetch_wheel
from harnesspro.providers.local import LocalProvider
from harnesspro.providers.model_server import start_server
from harnesspro.vault import tasksets
from harnesspro.vault.grading import grade
from tests.bench.in_process import MODEL, Graded, Run, keep, line, run_task, with_knobs

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


def is_right(run: Run) -> bool:
    """Whether the answer is the right one."""
    return grade("exact", "text", run.result.get("answer"), run.graded.gold) == "right"


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


def within(tasks: list[Graded], minutes: float) -> Iterator[Graded]:
    """The tasks in turn while there is time; every variant meets the same ones."""
    started = time.monotonic()
    for task in tasks:
        if time.monotonic() - started < 60 * minutes:
            yield task


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
                    last = runs[name][-1]
                    keep(options.answers, name, [last], [is_right(last)])
        for name in variants:
            right = [is_right(run) for run in runs[name]]
            sys.stdout.write(line(name, runs[name], right) + "\n")
    finally:
        provider.close()
        server.stop()
    return 0


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
