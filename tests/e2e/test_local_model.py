"""The embedded model for real: fetched, served, and asked through the tool caller.

By hand: `pytest -m local_model tests/e2e/test_local_model.py`; about a minute on two cores.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from harnesspro import sdk
from harnesspro.core.errors import RequestRefused
from harnesspro.core.ports import ChatRequest
from harnesspro.core.records import Task
from harnesspro.formats.bfcl import task_input
from harnesspro.formats.content import harness_path
from harnesspro.formats.native import load_harness
from harnesspro.providers.downloads import pull_model
from harnesspro.providers.local import LocalProvider
from harnesspro.providers.model_server import start_server
from tests.bench.in_process import MODEL, Graded, run_task, with_knobs
from tests.bench.toolcaller import ONE_CALL

pytestmark = pytest.mark.local_model


def a_function(name, about, **arguments):
    properties = {
        key: {"type": kind, "description": text} for key, (kind, text) in arguments.items()
    }
    return {
        "name": name,
        "description": about,
        "parameters": {"type": "dict", "properties": properties, "required": list(arguments)},
    }


FUNCTIONS = [
    a_function("timer.start", "Start a kitchen timer.", minutes=("integer", "Minutes to wait.")),
    a_function("weather.today", "Today's weather in a city.", city=("string", "The city.")),
    a_function("circle.area", "Area of a circle.", radius=("float", "The radius in metres.")),
]
WANTED = {
    "Start a timer for 20 minutes.": {"name": "timer.start", "arguments": {"minutes": 20}},
    "What is the weather in Paris today?": {
        "name": "weather.today",
        "arguments": {"city": "Paris"},
    },
    "How large is a circle with a radius of 5 metres?": {
        "name": "circle.area",
        "arguments": {"radius": 5},
    },
}


def a_task(request: str) -> Graded:
    row = {"question": [[{"role": "user", "content": request}]], "function": FUNCTIONS}
    return Graded(Task(task_id="t", input=task_input(row, where=request)), gold=None)


@pytest.fixture(scope="module")
def provider():
    pull_model(MODEL, say=print)
    server = start_server(MODEL, threads=len(os.sched_getaffinity(0)))
    provider = LocalProvider({MODEL: server.url})
    yield provider
    provider.close()
    server.stop()


@pytest.fixture
def folder(monkeypatch) -> Path:
    """The harness's folder, its modules importable and forgotten afterwards."""
    path = harness_path("builtin:toolcaller")
    monkeypatch.syspath_prepend(str(path))
    monkeypatch.delitem(sys.modules, "solver", raising=False)
    return path


def a_request(text: str, **changes) -> ChatRequest:
    messages = ({"role": "user", "content": text},)
    base = {"model": MODEL, "messages": messages, "max_output_tokens": 24, "seed": 5}
    return ChatRequest.model_validate(base | changes)


def is_running(pid: int) -> bool:
    """Whether the process is there and no zombie (which has no command line)."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes() != b""
    except FileNotFoundError:
        return False


def test_one_constrained_call_serves_plain_requests(provider, folder):
    harness = with_knobs(load_harness(folder), ONE_CALL)
    runs = [run_task(harness, a_task(text), provider, draw="test/0") for text in WANTED]
    assert [run.result.get("answer") for run in runs] == list(WANTED.values())
    assert [len(run.replies) for run in runs] == [1, 1, 1]
    assert all(reply.usage.cache_read_tokens == 0 for run in runs for reply in run.replies)


def test_the_baseline_draws_three_and_answers_with_a_call(provider, folder):
    run = run_task(load_harness(folder), a_task(next(iter(WANTED))), provider, draw="test/0")
    assert (run.result["outcome"], len(run.replies)) == ("answered", 3)
    assert run.result["answer"]["name"] == "timer.start"


def test_a_seed_repeats_its_reply_and_another_seed_does_not(provider):
    asked = a_request("Tell me a story of a dog.", temperature=1.0)
    provider.complete(asked, timeout_s=120.0)  # from here on the prompt is warm
    first, second = (provider.complete(asked, timeout_s=120.0).text for _ in range(2))
    other = provider.complete(asked.model_copy(update={"seed": 6}), timeout_s=120.0).text
    assert (first == second, first == other) == (True, False)


def test_what_does_not_fit_the_context_is_the_askers_fault(provider):
    with pytest.raises(RequestRefused, match=r"exceeds the available context size"):
        provider.complete(a_request("word " * 9000), timeout_s=120.0)


def test_a_reply_cut_by_its_cap_says_so_and_holds_no_json(provider):
    reply = provider.complete(
        a_request('Write {"a": 1, "b": 2}', max_output_tokens=3), timeout_s=60
    )
    assert reply.finish_reason == "length"
    assert sdk.Reply(reply.text, "length", in_tokens=1, out_tokens=3).json() is None


def test_model_serve_prints_its_address_and_ends_on_ctrl_c(provider):
    command = [sys.executable, "-m", "harnesspro", "model", "serve", MODEL, "--threads", "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as serving:
        assert serving.stdout is not None
        address = serving.stdout.readline().strip()
        models = httpx.get(f"{address}/models", timeout=10).json()
        serving.send_signal(signal.SIGINT)
        assert serving.wait(10) == 0
    assert [model["id"] for model in models["data"]] == ["qwen2.5-coder-0.5b"]


def test_the_server_dies_with_the_process_that_started_it(provider):
    code = (
        "from harnesspro.providers.model_server import start_server\n"
        f"print(start_server({MODEL!r}, threads=1).pid)"
    )
    command = [sys.executable, "-W", "ignore", "-c", code]
    pid = int(subprocess.run(command, check=True, capture_output=True, timeout=120).stdout)
    deadline = time.monotonic() + 10
    while is_running(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not is_running(pid)
