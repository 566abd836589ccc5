"""Tasks that ask for files of code, from sealing to the one opening: answers are run, elsewhere."""

from __future__ import annotations

import json
import os

import pytest

from tests.e2e.conftest import Terminal

pytestmark = pytest.mark.timeout(300)
MANIFEST = """\
format: harnesspro/1
name: coder
about: Writes a function that adds a number, wrongly for some.
entry: {python: "solver.py:solve"}
answer: {kind: files}
roles:
  writer: {max_output_tokens: 100}
parts:
  flow: {path: solver.py, kind: code}
defaults: {tasks: "%s", models: {writer: "sim/echo"}, repeats: 1, n_search: 8}
"""
SOLVER = """\
def solve(task, h):
    h.ask("writer", [{"role": "user", "content": "go on"}])
    name = task["input"]["entry_point"]
    n = int(name.removeprefix("add"))
    if n % 4 == 3:
        return {"answer.py": "import os\\nos._exit(0)\\n"}
    return {"answer.py": f"def {name}(x):\\n    return x + {n if n % 4 else n + 1}\\n"}
"""
N_TASKS, N_RIGHT = 8, 4


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Terminal:
    """A user with a harness that answers two of four tasks right, and their sealed tests."""
    terminal = Terminal(tmp_path_factory.mktemp("user"))
    lines = [
        {
            "input": {
                "prompt": f'def add{n}(x: int) -> int:\n    """x and {n}."""\n',
                "entry_point": f"add{n}",
            },
            "gold": {
                "function": f"add{n}",
                "cases": [{"args": [x], "value": x + n} for x in (0, 5, -3)],
            },
        }
        for n in range(N_TASKS)
    ]
    tasks = terminal.home / "adding.jsonl"
    tasks.write_text("".join(json.dumps(line) + "\n" for line in lines))
    ended = terminal.run("seal", "adding.jsonl", "--kind", "files", "--remove-original")
    assert ended.code == 0, ended.err
    coder = terminal.home / "coder"
    coder.mkdir()
    (coder / "harness.yaml").write_text(MANIFEST % (terminal.home / "adding-sealed"))
    (coder / "solver.py").write_text(SOLVER)
    (coder / "README.md").write_text("A coder.\n")
    return terminal


def test_an_evaluation_counts_the_answers_that_do_what_the_test_asks(home: Terminal) -> None:
    ended = home.run("eval", "coder", "--gold", "--json", "-q")
    assert ended.code == 0, ended.err
    document = ended.document
    assert document["accuracy"]["n"] == N_TASKS
    assert document["accuracy"]["mean"] == N_RIGHT / N_TASKS
    assert document["levels"] == {
        "isolation": "S3",
        "firewall": "F2" if os.geteuid() == 0 else "F1",
    }
    audited = home.run("audit", "--json").document
    assert (audited["ok"], audited["vault_openings"]) == (True, 1)


def test_a_second_opening_is_counted_and_bounded(home: Terminal) -> None:
    home.run("eval", "coder", "--gold", "--json", "-q")
    audited = home.run("audit", "--json").document
    assert audited["vault_openings"] >= 2
    assert audited["leak_bound_points"] > 0


def test_nothing_expected_lies_outside_the_vault(home: Terminal) -> None:
    holding = [
        path for path in home.home.rglob("*") if path.is_file() and b'"cases"' in path.read_bytes()
    ]
    assert [path.name for path in holding] == ["gold.jsonl"]
