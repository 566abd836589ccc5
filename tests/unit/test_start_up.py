"""What a fresh interpreter has loaded after the commands that must start at once."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from harnesspro.store.runs import write_json
from tests.unit.view.documents import judged_document

RUN_ID = "20261130-214611-7f3a"
SCRIPT = """\
import io, json, runpy, sys
from contextlib import redirect_stdout

out, heavy, seen = sys.argv[1], set(json.loads(sys.argv[2])), {}

def look(name, *arguments):
    sys.argv, said, code = ["harnesspro", *arguments], io.StringIO(), None
    with redirect_stdout(said):
        try:
            runpy.run_module("harnesspro", run_name="__main__", alter_sys=True)
        except SystemExit as end:
            code = end.code
    seen[name] = code, said.getvalue(), sorted(heavy & set(sys.modules))

import harnesspro.cli.app
seen["import"] = 0, "", sorted(heavy & set(sys.modules))
look("help", "--help")
look("show", "show", "latest", "--out", out)
look("show as json", "show", "latest", "--json", "--out", out)
look("channels", "channels", "latest", "--out", out)
look("channels as json", "channels", "latest", "--json", "--out", out)
import scipy
look("after scipy", "--version")
print(json.dumps(seen))
"""


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """One child for all: command -> exit code, what it said, heavy libraries loaded by then."""
    out = tmp_path_factory.mktemp("out")
    (out / "runs" / RUN_ID).mkdir(parents=True)
    report = judged_document(run_id=RUN_ID).model_dump(mode="json", by_alias=True)
    write_json(out / "runs" / RUN_ID / "report.json", report)
    heavy = ["litellm", "langgraph", "scipy", "optuna"]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(out), json.dumps(heavy)],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_importing_the_command_line_loads_nothing_heavy(seen):
    assert seen["import"] == [0, "", []]


def test_help_loads_nothing_heavy(seen):
    code, said, loaded = seen["help"]
    assert (code, loaded) == (0, [])
    assert "improve" in said


def test_showing_a_run_loads_nothing_heavy(seen):
    code, said, loaded = seen["show"]
    assert (code, loaded) == (0, [])
    assert "67 % cheaper" in said
    code, said, loaded = seen["show as json"]
    assert (code, json.loads(said)["run_id"], loaded) == (0, RUN_ID, [])


def test_the_channels_of_a_run_load_nothing_heavy(seen):
    code, said, loaded = seen["channels"]
    assert (code, loaded) == (0, [])
    assert "right on 91 % of 104 pairs" in " ".join(said.split())
    code, said, loaded = seen["channels as json"]
    assert (code, json.loads(said)["schema"], loaded) == (0, "harnesspro/channels@1", [])


def test_a_heavy_library_would_have_been_seen(seen):
    assert seen["after scipy"][2] == ["scipy"]
