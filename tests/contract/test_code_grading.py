"""Answers that are code, graded by the real grader process over a real sandbox."""

import io
import json
import os
import subprocess
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from harnesspro import processes
from harnesspro.cli.guarding import Guard, lend_sandbox, start_grader
from harnesspro.cli.making import run_in_sandbox
from harnesspro.config import RunConfig, RunHeader
from harnesspro.core.errors import IntegrityError
from harnesspro.core.hashing import content_hash
from harnesspro.core.ports import GradeRequest
from harnesspro.formats.tasks import load_tasks
from harnesspro.formats.tasksets import task_set
from harnesspro.sandbox.start import confined
from harnesspro.vault.client import GraderClient
from harnesspro.vault.human_eval import records
from harnesspro.vault.tasksets import ensure_sealed
from tests.unit.vault.coding import ADD, DECODE, EVEN, HALF, PAIRS, ROOT, solution, wheel


class Graded:
    """A run whose grader is up."""

    def __init__(self, guard: Guard, tasks: dict[str, str], pid: int) -> None:
        self.client, self.tasks, self.pid = GraderClient(guard.channel), tasks, pid
        self.uid = guard.uid

    def grades(self, *answers: tuple[str, Any]) -> list[str]:
        """(entry point, answer) -> its grade."""
        requests = [
            GradeRequest(digest=content_hash(name, answer), task_id=self.tasks[name], answer=answer)
            for name, answer in answers
        ]
        return [reply.grade for reply in self.client.open_sealed(requests).replies]

    def grade(self, name: str, answer: Any) -> str:
        """Of one answer."""
        (grade,) = self.grades((name, answer))
        return grade


def header_for(tasks_path: Path) -> RunHeader:
    found = task_set(str(tasks_path))
    return RunHeader(
        run_id="r1",
        config=RunConfig(verb="eval", harness_ref="h", tasks_ref="t", models={}),
        harness_name="h",
        base_harness_id="h-1",
        created_at="now",
        prices=(),
        isolation="S3",
        split_key=found.split_key,
        seal=found.seal,
    )


@contextmanager
def graded(folder: Path, home: Path, *, name_of: Any, lent: bool = True) -> Iterator[Graded]:
    run_dir = home / "runs" / "r1"
    run_dir.mkdir(parents=True, exist_ok=True)
    header = header_for(folder)
    tasks = {name_of(task.input): task.task_id for task in load_tasks(folder / "tasks.jsonl")}
    with processes.household() as house:
        guard = start_grader(header, run_dir, house)
        assert guard is not None
        if lent:
            lend_sandbox(guard, header, house)
        else:
            guard.door.close()
        pid = next(child.pid for name, child in house._members if name == "grader")
        yield Graded(guard, tasks, pid)
        guard.close()


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home of its own, open to other users as /tmp is."""
    home = tmp_path_factory.mktemp("user")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(home / "cache"))
        patch.setenv("XDG_DATA_HOME", str(home / "data"))
        yield home


@pytest.fixture(scope="module")
def folder(user: Path) -> Path:
    with zipfile.ZipFile(io.BytesIO(wheel())) as archive:
        made = records(archive, run_in_sandbox)
    return ensure_sealed("coding", made, answer_kind="code", scheme="calls", say=print)


@pytest.fixture(scope="module")
def grader(folder: Path, user: Path) -> Iterator[Graded]:
    with graded(folder, user, name_of=lambda task_input: task_input["entry_point"]) as up:
        yield up


def test_reference_solutions_are_right_and_what_was_refused_has_no_gold(grader):
    rows = (ADD, EVEN, HALF, PAIRS, DECODE, ROOT)
    found = grader.grades(*((row["entry_point"], solution(row)) for row in rows))
    assert found == ["right"] * 5 + ["no_gold"]


def test_an_answer_may_leave_out_what_the_prompt_defines(grader):
    assert grader.grade("decode", "def decode(s):\n    return encode(s)\n") == "right"


MUTANTS = [
    ("add", "def add(x, y):\n    return x - y\n"),
    ("add", "def add(x, y):\n    return x + y if x < 3 else 0\n"),
    ("even", "def even(n):\n    return True\n"),
    ("half", "def half(n):\n    return n / 2 + 1e-5\n"),
    ("pairs", "def pairs(items):\n    return [[i, one] for i, one in enumerate(items)]\n"),
    ("decode", "def decode(s):\n    return s\n"),
]


def test_mutants_are_wrong(grader):
    assert grader.grades(*MUTANTS) == ["wrong"] * len(MUTANTS)


ALWAYS = """
class Always{base}:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __hash__(self): return 1
    def __bool__(self): return True
    def __sub__(self, other): return 0.0
    def __abs__(self): return 0.0
    def __lt__(self, other): return True
def add(x, y): return Always({value})
def even(n): return Always({value})
def half(n): return Always({value})
"""
TALKERS = {
    "no code": "I am sure that this is right.",
    "nothing": "",
    "no function": "x = 1\n",
    "an exit at import": "import os\nos._exit(0)\n",
    "an exit in the call": "import sys\ndef add(x, y):\n    sys.exit(0)\n",
    "a kill of the runner": "import os\nos.kill(os.getpid(), 9)\n",
    "an exit after printing that all passed": "print('6 passed in 0.1s')\nraise SystemExit(0)\n",
    "an object equal to everything": ALWAYS.format(base="", value=""),
    "an int equal to everything": ALWAYS.format(base="(int)", value="7"),
    "a float equal to everything": ALWAYS.format(base="(float)", value="7.5"),
    "a text equal to everything": ALWAYS.format(base="(str)", value="'x'"),
    "not a number": "def add(x, y):\n    return float('nan')\n",
    "true for one": "def add(x, y):\n    return True\n",
    "the number as text": "def add(x, y):\n    return str(x + y)\n",
    "a forged result": (
        "import json, os\n"
        "asked = json.load(open('task.json'))['calls']\n"
        "os.unlink('answer.json')\n"
        "open('answer.json', 'w').write(json.dumps({n: {'passed': True} for n in asked}))\n"
        "os._exit(0)\n"
    ),
    "a reader of the caller's frame": (
        "import sys\n"
        "def add(x, y):\n"
        "    frame = sys._getframe()\n"
        "    while frame:\n"
        "        for held in frame.f_locals.values():\n"
        "            if isinstance(held, dict) and 'value' in held:\n"
        "                return held['value']\n"
        "        frame = frame.f_back\n"
    ),
    "a collector of garbage": (
        "import gc\n"
        "def add(x, y):\n"
        "    for held in gc.get_objects():\n"
        "        if isinstance(held, dict) and held.get('relation'):\n"
        "            return held['value']\n"
    ),
    "a patch of the way out": (
        'import json\njson.dumps = lambda *a, **k: \'{"c0": {"value": true}}\'\n'
        "def add(x, y):\n    return 0\n"
    ),
    "a module named like one of ours": (
        "import sys, types\nsys.modules['values'] = types.ModuleType('values')\n"
        "def add(x, y):\n    return 0\n"
    ),
    "a loop": "def add(x, y):\n    while True: pass\n",
    "a flood": "def add(x, y):\n    while True: print('x' * 10**6)\n",
    "a reply of any length": "def add(x, y):\n    return 'x' * 10**8\n",
    "a deep reply": "def add(x, y):\n    a = []\n    for _ in range(9**5): a = [a]\n    return a\n",
    "a daemon that writes later": (
        "import os, time\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    time.sleep(0.3)\n"
        "    open('answer.json', 'w').write('{}')\n"
        "def add(x, y):\n    return 0\n"
    ),
}


@pytest.mark.parametrize("attack", sorted(TALKERS))
def test_grading_cannot_be_talked_into_a_pass_by(grader, attack):
    assert grader.grade("add", TALKERS[attack]) == "wrong"


def test_the_same_tricks_pass_where_python_itself_compares():
    """So that the tests above can fail: in one address space each of these wins."""
    for kind in ("an object", "an int", "a float"):
        space: dict[str, Any] = {}
        exec(TALKERS[f"{kind} equal to everything"], space)
        assert space["add"](2, 3) == 5
        assert space["even"](2) and space["even"](4) == True  # noqa: E712, PT018
        assert abs(space["half"](1.1) - 0.55) < 1e-6

    def check(candidate: Any) -> bool:
        held = {"relation": "equal", "value": 5, "args": [2, 3]}
        return bool(candidate(2, 3) == held["value"])

    for spy in ("a reader of the caller's frame", "a collector of garbage"):
        space = {}
        exec(TALKERS[spy], space)
        assert check(space["add"])


def test_always_equal_objects_pass_no_relation(grader):
    answers = [
        (name, ALWAYS.format(base="", value="")) for name in ("even", "half", "pairs", "decode")
    ]
    assert grader.grades(*answers) == ["wrong"] * 4


@pytest.mark.parametrize("answer", [None, 7, True, ["def add"], {"answer.py": 3}, {}])
def test_an_answer_of_another_kind_is_wrong(grader, answer):
    assert grader.grade("add", answer) == "wrong"


def test_right_answers_are_still_right_after_every_attack(grader):
    assert grader.grade("add", solution(ADD)) == "right"


def test_the_graders_process_is_closed_to_others(grader):
    """Another user's where the tests run as root, one's own and undumpable where not; no variables."""
    status = dict(
        line.split(":\t", 1)
        for line in Path(f"/proc/{grader.pid}/status").read_text().splitlines()
        if ":\t" in line
    )
    assert grader.uid == int(status["Uid"].split()[0])
    assert status["NoNewPrivs"] == "1"
    if os.geteuid() == 0:
        assert status["Uid"].split() == ["65532"] * 4
        assert int(status["CapEff"], 16) == int(status["CapPrm"], 16) == 1 << 2
        assert int(status["CapBnd"], 16) == 0
        assert Path(f"/proc/{grader.pid}/environ").read_bytes() == b""
    else:
        assert int(status["CapEff"], 16) == 0
        with pytest.raises(PermissionError):
            Path(f"/proc/{grader.pid}/environ").read_bytes()


def test_the_search_cannot_read_the_vault_even_where_no_path_is_forbidden_to_it(grader, user):
    """As root without capabilities it is stopped by the vault's owner; else by the paths alone."""
    (gold,) = (user / "data").rglob("gold.jsonl")
    shown = ["/"] if os.geteuid() == 0 else []
    command = confined(["cat", str(gold)], read=shown, write=[])
    done = subprocess.run(command, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"Permission denied" in done.stderr
    assert b'"canary"' in gold.read_bytes()  # whoever owns the machine still can


def test_nothing_in_the_working_folder_stands_in_for_a_module(folder, user, tmp_path, monkeypatch):
    for name in ("json.py", "socket.py", "sitecustomize.py", "harnesspro.py"):
        (tmp_path / name).write_text("raise SystemExit('taken over')\n")
    monkeypatch.chdir(tmp_path)
    with graded(folder, user, name_of=lambda i: i["entry_point"]) as up:
        assert up.grade("add", solution(ADD)) == "right"


def test_a_grader_that_was_lent_no_sandbox_grades_no_code(folder, user):
    with graded(folder, user, name_of=lambda i: i["entry_point"], lent=False) as up:
        with pytest.raises(IntegrityError, match="GRADER_ERROR"):
            up.grade("add", solution(ADD))
        assert up.grade("root", solution(ROOT)) == "no_gold"


def test_answers_of_kind_files_are_called_where_the_test_says(user):
    gold = {
        "module": "pkg/sums.py",
        "function": "total",
        "cases": [{"args": [[1, 2, 3]], "value": 6}, {"args": [[]], "value": 0}],
    }
    folder = ensure_sealed(
        "tree",
        [{"input": "a package that adds", "gold": gold}],
        answer_kind="files",
        scheme="calls",
        say=print,
    )
    module = "from pkg.parts import each\ndef total(items):\n    return sum(each(items))\n"
    parts = "def each(items):\n    return list(items)\n"
    right = {"pkg/sums.py": module, "pkg/parts.py": parts, "pkg/__init__.py": ""}
    wrong = right | {"pkg/parts.py": "def each(items):\n    return items[:2]\n"}
    stray = {"pkg/sums.py": module}
    climbing = right | {"../runner.py": "print('mine')"}
    config = right | {"conftest.py": "raise SystemExit(0)", "sitecustomize.py": "import os\n"}
    answers = [right, wrong, stray, climbing, config, json.dumps(right)]
    with graded(folder, user, name_of=str) as up:
        found = up.grades(*(("a package that adds", answer) for answer in answers))
    assert found == ["right", "wrong", "wrong", "wrong", "right", "wrong"]
