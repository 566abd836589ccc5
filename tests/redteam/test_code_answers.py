"""Answers that would rather own their judge: none of them passes, whatever it does."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from harnesspro.checks.code_program import check_program
from harnesspro.checks.code_suite import BEHAVIOUR, CHECKS, signed
from tests.unit.sandbox.boxes import Box, interpreter, launched

PROMPT = '''def add(a: int, b: int) -> int:
    """The sum of two numbers.

    >>> add(1, 2)
    3
    >>> add(5, 7)
    12
    """
'''
RIGHT = PROMPT + "    return a + b\n"
WRONG = "def add(a, b):\n    return a - b\n"
NAMES = ("examples_hold", BEHAVIOUR)
GREEDY = '{"body": "{\\"examples_hold\\": 1.0}", "mark": "0"}'

ATTACKS = {
    "ends the process while it loads": "import os\nos._exit(0)\n",
    "ends the process when called": "import os\ndef add(a, b):\n    os._exit(0)\n",
    "raises an exit that says well done": "def add(a, b):\n    raise SystemExit(0)\n",
    "prints what is wanted": "print(3)\ndef add(a, b):\n    print(3)\n",
    "equals everything": (
        "class Same:\n    def __eq__(self, other): return True\n    def __hash__(self): return 3\n"
        "def add(a, b):\n    return Same()\n"
    ),
    "is a number that equals everything": (
        "class Same(int):\n    def __eq__(self, other): return True\n    __hash__ = int.__hash__\n"
        "def add(a, b):\n    return Same(4)\n"
    ),
    "writes replies into every pipe it finds": (
        "import os\n"
        'LINE = b\'{"loaded": true}\\n{"value": 3}\\n{"passed": true}\\n{"share": 1.0}\\n\'\n'
        "for fd in range(64):\n"
        "    try:\n        os.write(fd, LINE)\n    except OSError:\n        pass\n" + WRONG
    ),
    "patches what encodes its values": (
        "import sys, json, builtins\n"
        "for module in list(sys.modules.values()):\n"
        "    if hasattr(module, 'encode') and hasattr(module, 'decode'):\n"
        "        module.encode = lambda value, *rest: 3\n"
        "json.dumps = lambda *a, **k: '{\"value\": 3}'\n"
        "builtins.all = lambda items: True\nbuiltins.exit = builtins.quit = None\n" + WRONG
    ),
    "writes the report itself": (
        f"REPORT = {GREEDY!r}\n"
        "try:\n    open('/work/answer.json', 'w').write(REPORT)\nexcept OSError:\n    pass\n"
        + WRONG
    ),
    "leaves a child behind that writes the report": (
        "import os, time\n"
        f"REPORT = {GREEDY!r}\n"
        "def leave():\n"
        "    try:\n        pid = os.fork()\n    except OSError:\n        return\n"
        "    if pid:\n        return\n"
        "    os.setsid()\n"
        "    for _ in range(200):\n"
        "        try:\n            open('/work/answer.json', 'w').write(REPORT)\n"
        "        except OSError:\n            pass\n"
        "        time.sleep(0.01)\n"
        "    os._exit(0)\n"
        "leave()\n" + WRONG
    ),
    "kills its judge": (
        "import os, signal\ndef add(a, b):\n    os.kill(os.getppid(), signal.SIGKILL)\n"
    ),
    "rewrites its judge's memory": (
        "import os\n"
        "def write():\n"
        "    with open(f'/proc/{os.getppid()}/maps') as maps:\n"
        "        regions = [line.split()[0] for line in maps if ' rw' in line]\n"
        "    with open(f'/proc/{os.getppid()}/mem', 'r+b', 0) as memory:\n"
        "        for region in regions:\n"
        "            start = int(region.split('-')[0], 16)\n"
        "            memory.seek(start)\n            memory.write(b'\\0' * 4096)\n"
        "try:\n    write()\n    def add(a, b): return a + b\n"
        "except OSError:\n    def add(a, b): return a - b\n"
    ),
    "reads the key it would need": (
        "import json\n"
        "try:\n    json.load(open('/work/task.json'))['key']\n    def add(a, b): return a + b\n"
        "except OSError:\n    def add(a, b): return a - b\n"
    ),
    "sends more than anyone reads": "def add(a, b):\n    return 'x' * 90_000_000\n",
    "sends a value without end": (
        "def add(a, b):\n    found = []\n    found.append(found)\n    return found\n"
    ),
    "never answers": "def add(a, b):\n    while True:\n        pass\n",
    "puts its own modules beside it": (
        "import os\n"
        "for name in ('json', 'hmac', 'ast'):\n"
        "    try:\n        open(f'/work/{name}.py', 'w').write('import os; os._exit(0)')\n"
        "    except OSError:\n        pass\n" + WRONG
    ),
}


@pytest.fixture(scope="module")
def box() -> Iterator[Box]:
    with launched("S3") as box:
        yield box


def judged(box: Box, answer: str, *names: str) -> tuple[Any, dict[str, Any]]:
    """The exit code and the report, empty where there is none that its judge signed."""
    result = box.run(
        (interpreter(), "-I", "-S", "-B", "-c", check_program(), *names),
        payload=json.dumps({"task_id": "t", "input": {"prompt": PROMPT}, "key": "secret"}),
        files={"answer.py": answer},
    )
    report = json.loads(result.result) if result.result else {"body": "{}", "mark": ""}
    if report["mark"] != signed("secret", report["body"]):
        return result.exit_code, {}
    return result.exit_code, json.loads(report["body"])


def test_a_right_answer_passes_everything_that_speaks(box: Box):
    exit_code, found = judged(box, RIGHT, *CHECKS)
    assert (exit_code, {name for name, share in found.items() if share not in (1.0, None)}) == (
        0,
        set(),
    )


@pytest.fixture(scope="module")
def right_key(box: Box) -> str:
    """What the right answer's behaviour is called."""
    return str(judged(box, RIGHT, BEHAVIOUR)[1][BEHAVIOUR]["key"])


@pytest.mark.parametrize("attack", ATTACKS)
def test_no_attack_passes_or_behaves_like_the_right_answer(box: Box, right_key: str, attack: str):
    exit_code, found = judged(box, ATTACKS[attack], *NAMES)
    assert exit_code not in (0, 77)
    assert found.get("examples_hold", 0.0) < 1.0
    assert found.get(BEHAVIOUR, {}).get("key") != right_key
