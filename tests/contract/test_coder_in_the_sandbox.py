"""The coder tries drafts inside its own trial's sandbox: what they do ends with them."""

import json
import shutil
from collections.abc import Iterator

import pytest

from harnesspro.formats.content import harness_path
from tests.unit.sandbox.boxes import Box, launched

DRAFTS = {
    "right": "def f(n):\n    return n + 1",
    "wrong": "def f(n):\n    return n",
    "loops": "def f(n):\n    while True: pass",
    "leaves": "import os\ndef f(n):\n    os._exit(0)",
    "writes": "def f(n):\n    with open('/work/answer.json', 'w') as file:\n        file.write('x' * 9)\n    return n + 1",
    "starts": "import os\ndef f(n):\n    os.posix_spawn('/bin/sh', ['sh'], {})\n    return n + 1",
}
SOLVER = f"""
def solve(task, h):
    job = {{"tests": [["f(1)", "2"]], "seconds": 0.6, "result_chars": 80}}
    return {{
        name: h.run_tool("run_tests", {{"code": code, **job}})[0]
        for name, code in {DRAFTS!r}.items()
    }}
"""


@pytest.fixture(scope="module")
def box() -> Iterator[Box]:
    with launched("S3") as box:
        shutil.copytree(harness_path("builtin:coder") / "tools", box.code / "tools")
        yield box


def test_drafts_are_tried_one_by_one_and_none_reaches_beyond_its_process(box: Box) -> None:
    result = box.solve(SOLVER)
    assert result.result is not None, result
    told = json.loads(result.result)
    assert told["outcome"] == "answered", told
    passed = {name: said["passed"] for name, said in told["answer"].items()}
    assert passed == {name: name == "right" for name in DRAFTS}
    assert "too long" in told["answer"]["loops"]["said"]
    assert "Error" in told["answer"]["starts"]["said"]
