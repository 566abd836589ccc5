"""Measures variants of the tool caller on the embedded model: right answers, tokens, seconds.

For measuring only: it reads gold, which no improving code may. Run it by hand:
`python tests/bench/toolcaller.py [--n 24] [--variant NAME ...]`. Half of the tasks are of each family.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
import zipfile
from pathlib import Path

from harnesspro.core.records import KnobValue, Task
from harnesspro.formats.content import harness_path
from harnesspro.formats.native import load_harness
from harnesspro.formats.wheels import fetch_wheel
from harnesspro.providers.local import LocalProvider
from harnesspro.providers.model_server import start_server
from harnesspro.vault import tasksets
from harnesspro.vault.grading import grade
from tests.bench.in_process import MODEL, Graded, Run, keep, line, run_task, with_knobs

ONE_CALL: dict[str, KnobValue] = {"samples": 1, "temperature": 0.0, "constrain": "schema"}
VARIANTS: dict[str, dict[str, KnobValue]] = {
    "baseline": {},
    "one-call": {"samples": 1, "temperature": 0.0},
    "constrained": ONE_CALL,
    "short": {**ONE_CALL, "function_detail": "short"},
    "early-stop": {"stop_when_agreed": "yes"},
}


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


def is_right(run: Run) -> bool:
    """Whether the answer is one of the possible ones."""
    return grade("bfcl", "json", run.result.get("answer"), run.graded.gold) == "right"


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
            right = [is_right(run) for run in runs]
            sys.stdout.write(line(name, runs, right) + "\n")
            sys.stdout.flush()
            if options.answers:
                keep(options.answers, name, runs, right)
    finally:
        provider.close()
        server.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
