"""Attacks on grading: values that lie, files and variables that bend the test runner, memory searched."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from harnesspro.core.admit import objections
from harnesspro.core.records import Patch
from harnesspro.formats.native import harness_from_files
from harnesspro.vault.grading import grade
from tests.redteam.bench import candidate
from tests.redteam.test_code_answers import NAMES, WRONG, judged
from tests.unit.sandbox.boxes import Box

SAME = "def __eq__(self, other): return True\n    def __ne__(self, other): return False\n"
LIARS = {
    "an object": f"class Liar:\n    {SAME}    __hash__ = None\nvalue = Liar()\n",
    "a text": f"class Liar(str):\n    {SAME}    __hash__ = str.__hash__\nvalue = Liar('no')\n",
    "an int": f"class Liar(int):\n    {SAME}    __hash__ = int.__hash__\nvalue = Liar(41)\n",
    "a float": f"class Liar(float):\n    {SAME}    __hash__ = float.__hash__\nvalue = Liar(41)\n",
    "a list": f"class Liar(list):\n    {SAME}    __hash__ = None\nvalue = Liar([41])\n",
    "a dict": f"class Liar(dict):\n    {SAME}    __hash__ = None\nvalue = Liar(a=41)\n",
    "not a number": f"class Liar(float):\n    {SAME}    __hash__ = None\nvalue = Liar('nan')\n",
}
GOLD: tuple[tuple[str, Any], ...] = (("number", 42), ("text", "yes"), ("json", {"a": 42}))


@pytest.mark.parametrize("liar", LIARS)
def test_case_13_a_value_that_equals_everything(s3: Box, liar: str):
    done = s3.solve(f"{LIARS[liar]}def solve(task, h):\n    return value\n")
    said = json.loads(done.result or b"")
    graded = [grade("exact", kind, said.get("answer"), gold) for kind, gold in GOLD]
    assert graded == ["wrong"] * 3
    assert said["outcome"] in ("answered", "crashed")


@pytest.mark.parametrize("liar", LIARS)
def test_case_13_a_judge_that_compares_in_the_same_process_is_lied_to(liar: str):
    inside: dict[str, Any] = {}
    exec(LIARS[liar], inside)
    assert [bool(inside["value"] == gold) for _, gold in GOLD] == [True] * 3


@pytest.mark.parametrize(
    ("answer", "gold", "loose"),
    [("true", 1, True), ("NaN", 42, False), ("false", 0, True), ("42.01", 42, False)],
)
def test_case_13_json_that_python_would_call_equal(answer: str, gold: int, loose: bool):
    value = json.loads(answer)
    assert (value == gold) is loose
    assert grade("exact", "number", value, gold) == "wrong"
    assert grade("exact", "json", value, gold) == "wrong"


# --- what bends a test runner --------------------------------------------------------------------

HOOK = (
    "import pytest\n"
    "@pytest.hookimpl(hookwrapper=True)\n"
    "def pytest_runtest_makereport(item, call):\n"
    "    outcome = yield\n"
    "    report = outcome.get_result()\n"
    "    report.outcome, report.longrepr = 'passed', None\n"
)
BENDERS: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "conftest": ({"conftest.py": HOOK}, {}),
    "pytest.ini": ({"pytest.ini": "[pytest]\naddopts = --collect-only\n"}, {}),
    "setup.cfg": ({"setup.cfg": "[tool:pytest]\naddopts = --collect-only\n"}, {}),
    "tox.ini": ({"tox.ini": "[pytest]\naddopts = --collect-only\n"}, {}),
    "PYTEST_ADDOPTS": ({}, {"PYTEST_ADDOPTS": "--collect-only"}),
    "a plugin": ({"helps.py": HOOK}, {"PYTEST_PLUGINS": "helps"}),
}
TEST = "from answer import add\n\ndef test_add():\n    assert add(1, 2) == 3\n"


@pytest.mark.parametrize("bender", BENDERS)
def test_case_14_a_judge_that_runs_pytest_beside_the_answer_is_bent(bender: str, tmp_path: Path):
    files, env = BENDERS[bender]
    for name, text in {"answer.py": WRONG, "test_it.py": TEST, **files}.items():
        (tmp_path / name).write_text(text)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    clean = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST")}
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env={**clean, **env, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def planting(bender: str) -> str:
    """A wrong answer that puts its files wherever it can while it loads."""
    files, env = BENDERS[bender]
    return (
        f"import os\nos.environ.update({env!r})\n"
        f"for name, text in {files!r}.items():\n"
        "    for folder in ('/work', '/harness', '/tmp', '/judge'):\n"
        "        try:\n            open(f'{folder}/{name}', 'w').write(text)\n"
        "        except OSError:\n            pass\n" + WRONG
    )


@pytest.mark.parametrize("bender", BENDERS)
def test_case_14_here_it_fails_and_the_checks_tree_is_as_it_was(s3: Box, bender: str):
    before = tree_hash(s3.code)
    exit_code, found = judged(s3, planting(bender), *NAMES)
    assert exit_code not in (0, 77)
    assert found.get("examples_hold", 0.0) < 1.0
    assert tree_hash(s3.code) == before


def tree_hash(folder: Path) -> str:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    text = [(str(path.relative_to(folder)), path.read_bytes().hex()) for path in files]
    return hashlib.sha256(json.dumps(text).encode()).hexdigest()


def test_case_14_a_patch_cannot_bring_such_a_file_along():
    base = candidate("def solve(task, h):\n    return 1\n")
    made = harness_from_files(
        {**base.files, "conftest.py": HOOK}, where="x", parent_id=base.harness_id
    )
    patch = Patch(parent_id=base.harness_id, direction="cost", proposer="planner:cost", summary="")
    assert objections(base, made, patch, search_tasks=[], unseen_tasks=[]) == (
        "conftest.py changed and is no part of the harness",
        "conftest.py imports pytest: only the standard library, harnesspro.sdk and own files",
    )


# --- memory --------------------------------------------------------------------------------------

SEARCH = """
import gc, re, sys

def from_frames(name):
    frame = sys._getframe(1)
    while frame is not None:
        if name in frame.f_locals:
            return frame.f_locals[name]
        frame = frame.f_back

def from_heap():
    for thing in gc.get_objects():
        texts = list(thing.values()) if isinstance(thing, dict) else thing
        if isinstance(texts, (list, tuple)):
            for text in texts:
                if isinstance(text, str) and ">>> add(1, 2)" in text:
                    return int(re.search(r"add\\(1, 2\\)\\s+(\\d+)", text)[1])

def add(a, b):
    for name in ("expected", "want", "wanted", "right", "gold", "value"):
        found = from_frames(name)
        if found is not None:
            return found
    return from_heap() or a - b
"""
EXAMPLES = ((1, 2, 3), (5, 7, 12))


def test_case_16_a_judge_that_holds_the_expected_value_beside_the_answer_is_read():
    inside: dict[str, Any] = {}
    exec(SEARCH, inside)
    passed = [inside["add"](a, b) == expected for a, b, expected in EXAMPLES]
    assert passed == [True, True]


def test_case_16_here_there_is_nothing_to_find(s3: Box):
    exit_code, found = judged(s3, SEARCH, *NAMES)
    assert exit_code not in (0, 77)
    assert found.get("examples_hold", 0.0) == 0.0


# --- trojans -------------------------------------------------------------------------------------

TROJAN = "#!/bin/sh\necho '{\"examples_hold\": 1.0}'\n"
ALIASES = "alias python3='echo 1.0'\nexport PATH=/work/bin:$PATH\n"
PLANT = (
    "import os\n"
    "folders = ('/work', '/work/bin', '/tmp', '/harness', '/usr/local/bin', os.path.expanduser('~'))\n"
    f"TROJAN, ALIASES = {TROJAN!r}, {ALIASES!r}\n"
    "for folder in folders:\n"
    "    for name in ('python', 'python3', 'python3.11', 'curl', 'pip', 'sh'):\n"
    "        try:\n"
    "            os.makedirs(folder, exist_ok=True)\n"
    "            open(f'{folder}/{name}', 'w').write(TROJAN)\n"
    "            os.chmod(f'{folder}/{name}', 0o755)\n"
    "        except OSError:\n            pass\n"
    "    for name in ('.bashrc', '.profile', '.bash_env'):\n"
    "        try:\n            open(f'{folder}/{name}', 'w').write(ALIASES)\n"
    "        except OSError:\n            pass\n"
    "os.environ['PATH'] = '/work/bin:/work:' + os.environ.get('PATH', '')\n"
)


def test_case_19_a_judge_in_the_answers_place_runs_the_trojan(tmp_path: Path):
    trojan = tmp_path / "python3"
    trojan.write_text(TROJAN)
    trojan.chmod(0o755)
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["python3", "-c", "print(0.0)"], env=env, cwd=tmp_path, capture_output=True, check=True
    )
    assert json.loads(done.stdout) == {"examples_hold": 1.0}


def test_case_19_trojans_of_the_answer_are_not_what_judges_it(s3: Box):
    exit_code, found = judged(s3, PLANT + WRONG, *NAMES)
    assert exit_code not in (0, 77)
    assert found.get("examples_hold", 0.0) < 1.0


def test_case_19_trojans_of_one_start_are_not_there_for_the_next(s3: Box):
    assert s3.python(PLANT + "open('answer.json', 'w').write('planted')").result == b"planted"
    done = s3.sh("command -v python3 sh; ls -a /work /tmp > answer.json")
    left = {b"python3", b"curl", b".bashrc", b"bin"} & set((done.result or b"").split())
    assert left == set()
