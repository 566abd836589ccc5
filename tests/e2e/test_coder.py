"""The coder through the whole command line, with a simulated model that gives back what it reads."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from tests.e2e.conftest import Terminal

pytestmark = pytest.mark.timeout(300)
N_TASKS = 10
PROMPT = """\
Give this function back mended, if anything is wrong with it at all.
```python
def add{n}(x: int) -> int:
    \"\"\"Return the sum of x and {n}.

    >>> add{n}(1)
    {one_more}
    \"\"\"
    return x + {n}
```
"""


def _line(n: int) -> str:
    cases = [{"args": [x], "value": x + n} for x in (0, 5, -3)]
    return json.dumps(
        {
            "input": {"prompt": PROMPT.format(n=n, one_more=n + 1), "entry_point": f"add{n}"},
            "gold": {"function": f"add{n}", "cases": cases},
        }
    )


def records(run: Path, kind: str) -> list[dict]:  # type: ignore[type-arg]
    with sqlite3.connect(f"file:{run}/ledger.db?mode=ro", uri=True) as ledger:
        found = ledger.execute("select value from records where kind = ?", (kind,))
        return [json.loads(value) for (value,) in found]


def test_improve_measures_judges_and_grades_code_and_saves_without_changing_an_answer(
    tmp_path: Path,
) -> None:
    terminal = Terminal(tmp_path)
    (tmp_path / "adding.jsonl").write_text("".join(_line(n) + "\n" for n in range(N_TASKS)))
    sealed = terminal.run("seal", "adding.jsonl", "--kind", "code", "--remove-original")
    assert sealed.code == 0, sealed.err
    models = ("--model", "writer=sim/echo", "--model", "planner=sim/echo")
    sizes = ("--n-search", "4", "--n-confirm", "4", "--rounds", "1", "--max-candidates", "2")
    ended = terminal.run(
        "improve", "builtin:coder", "--tasks", "adding-sealed", *models, *sizes, "--json", "-q"
    )
    assert ended.code == 5, ended.err  # nothing can be accepted on four tasks
    document = ended.document
    assert document["baseline"]["accuracy"]["mean"] == 1.0
    (pick,) = [p for p in document["candidates"] if p["verdict"] == "inconclusive"]
    assert pick["cost_usd_per_task"]["mean"] < document["baseline"]["cost_usd_per_task"]["mean"]
    assert pick["answers_changed"]["mean"] == 0.0
    (run,) = terminal.runs()
    referee = next(value for value in records(run, "referee") if "checks" in value)
    admitted = {check["name"] for check in referee["checks"] if check["admitted"]}
    assert {"is_python", "examples_hold", "takes_the_inputs_shown"} <= admitted
    outcomes = {trial["outcome"] for trial in records(run, "trial")}
    assert outcomes == {"answered"}
