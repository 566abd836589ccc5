"""The two sockets: who may reach which, and a broker that dies."""

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

from harnesspro.broker.client import BrokerClient
from harnesspro.broker.serve import BrokerServer
from harnesspro.core.documents import Spend
from harnesspro.core.errors import ConfigError, HarnessProError, ModelUnknown, UsageError
from harnesspro.core.ports import Metered
from harnesspro.core.records import Limits, Usage
from harnesspro.sdk import Harness, LimitReached, ModelFault, SocketTransport
from harnesspro.store.ledger import LedgerReader, LedgerWriter
from harnesspro.testing.doubles import MemoryLedger, ScriptedProvider
from tests.unit.broker.builders import MODEL, config, grant


@pytest.fixture
def folder():
    with tempfile.TemporaryDirectory(prefix="hp-") as path:
        yield Path(path) / "s"


@pytest.fixture
def served(folder):
    """A broker whose provider answers from `provider.script`."""
    provider = ScriptedProvider([])
    settings = config(trial_socket=str(folder / "b.sock"), admin_socket=str(folder / "a.sock"))
    with BrokerServer(settings, lambda model: provider, MemoryLedger()):
        yield provider, BrokerClient(settings.admin_socket), settings.trial_socket


def harness(socket_path, token):
    return Harness({"parts": {}, "knobs": {}}, SocketTransport(socket_path, token))


def test_the_sdk_asks_and_the_orchestrator_counts(served):
    provider, client, trial_socket = served
    provider.script.append("four words of reply")
    token = client.open_trial(grant())
    reply = harness(trial_socket, token).ask("solver", "hi", temperature=0.0)
    assert (reply.text, reply.out_tokens) == ("four words of reply", 4)
    metered = client.close_trial(token)
    assert metered == Metered(
        usage=Usage(uncached_in_tokens=1, out_tokens=4),
        n_calls=1,
        n_replayed=0,
        cost_nanos=5,
        paid_nanos=5,
        model_latency_s=0.0,
    )
    assert client.spend() == Spend(improver_usd=0.0, target_usd=5e-9, paid_usd=5e-9)
    (step,) = client.steps("t-1")
    assert (step.role, step.model, step.reply) == ("solver", MODEL, "four words of reply")


def test_the_sdk_hears_a_limit_as_a_limit_and_a_fault_as_a_fault(served):
    _, client, trial_socket = served
    token = client.open_trial(grant(limits=Limits(usd=1e-9)))
    with pytest.raises(LimitReached, match="the next call may cost"):
        harness(trial_socket, token).ask("solver", "hi")
    with pytest.raises(ModelFault, match="its trial is over"):
        harness(trial_socket, "made up").ask("solver", "hi")
    with pytest.raises(ValueError, match="expected a role of this harness: solver"):
        harness(trial_socket, token).ask("planner", "hi")


def test_errors_cross_the_socket_as_they_were_raised(served):
    _, client, _ = served
    with pytest.raises(ModelUnknown, match="model other: no price") as raised:
        client.open_trial(grant(models={"solver": "other"}))
    assert raised.value.found == "no price"
    with pytest.raises(UsageError, match="unknown or retired"):
        client.close_trial("made up")


def test_trials_reach_their_socket_only(served, folder):
    assert stat.S_IMODE((folder / "b.sock").stat().st_mode) == 0o666
    assert stat.S_IMODE((folder / "a.sock").stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o711
    with pytest.raises(HarnessProError, match="does not answer"):
        BrokerClient(str(folder / "b.sock")).spend()


@pytest.mark.parametrize(
    ("request_line", "status"),
    [("GET /v1/chat/completions", 405), ("POST /spend", 404), ("POST /v1/models", 404)],
)
def test_the_trial_socket_has_one_door(served, request_line, status):
    _, _, trial_socket = served
    with socket.socket(socket.AF_UNIX) as wire:
        wire.connect(trial_socket)
        head = f"{request_line} HTTP/1.1\r\nHost: b\r\nConnection: close\r\nContent-Length: 2"
        wire.sendall(f"{head}\r\n\r\n{{}}".encode())
        assert wire.recv(65536).split(b" ")[1] == str(status).encode()


def test_a_body_beyond_the_bound_is_refused(served):
    _, client, trial_socket = served
    token = client.open_trial(grant())
    with pytest.raises(ValueError, match="body: more than"):
        harness(trial_socket, token).ask("solver", "x" * 9_000_000)


def test_many_threads_share_one_client(served):
    _, client, _ = served
    threads = [
        threading.Thread(target=client.put, args=("trial", f"{n}", {"n": n})) for n in range(16)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(value["n"] for _, value in client.all("trial")) == list(range(16))


def test_a_path_that_no_socket_can_have_is_refused(folder):
    settings = config(trial_socket=str(folder / ("x" * 120)), admin_socket=str(folder / "a"))
    with pytest.raises(ConfigError, match="at most 107 bytes"):
        BrokerServer(settings, lambda model: ScriptedProvider([]), MemoryLedger())


def test_a_broker_that_is_gone_is_named(folder):
    with pytest.raises(HarnessProError, match=r"broker: does not answer .*; resume the run"):
        BrokerClient(str(folder / "a.sock")).wait_ready(timeout_s=0.05)


PROCESS = """
import os, sys, time
from harnesspro.broker.serve import serve
from harnesspro.store.ledger import LedgerWriter
from harnesspro.testing.doubles import ScriptedProvider, reply_of
from tests.unit.broker.builders import config

folder, parent = sys.argv[1], int(sys.argv[2])

def slow(request):
    time.sleep(60 if "slow" in str(request.messages) else 0)
    return reply_of("done", request)

settings = config(run_dir=folder + "/run", trial_socket=folder + "/b", admin_socket=folder + "/a",
                  parent_pid=parent, cap_nanos=100_000)
with LedgerWriter(settings.run_dir) as ledger:
    serve(settings, lambda model: ScriptedProvider([slow] * 9), ledger)
os._exit(0)
"""


def start(folder, *, parent=None):
    root = str(Path(__file__).parents[3])
    return subprocess.Popen(
        [sys.executable, "-c", PROCESS, str(folder), str(parent or os.getpid())],
        env={"PYTHONPATH": root, "PATH": os.defpath},
    )


def test_a_broker_killed_in_a_call_resumes_with_the_call_charged_and_nothing_paid_twice(folder):
    with start(folder) as first:
        client = BrokerClient(str(folder / "a"))
        client.wait_ready()
        client.put("run", "header", {"seed": 1})
        token = client.open_trial(grant())
        harness(str(folder / "b"), token).ask("solver", "quick")
        call = threading.Thread(target=_ask_and_lose, args=(str(folder / "b"), token))
        call.start()
        _wait_for_a_sent_call(folder / "run")
        first.send_signal(signal.SIGKILL)
        call.join()
    with start(folder) as second:
        client.wait_ready()
        assert client.get("run", "header") == {"seed": 1}
        assert client.spend().n_ambiguous_calls == 1
        token = client.open_trial(grant())
        harness(str(folder / "b"), token).ask("solver", "quick")
        metered = client.close_trial(token)
        assert (metered.n_calls, metered.n_replayed, metered.paid_nanos) == (1, 1, 0)
        second.terminate()
    assert second.returncode == 0
    with LedgerReader(folder / "run") as ledger:
        assert [call.state for call in ledger.calls()] == ["done", "ambiguous", "done"]
    assert not (folder / "a").exists()
    LedgerWriter(folder / "run").close()


def _ask_and_lose(trial_socket, token):
    with pytest.raises(ModelFault):
        harness(trial_socket, token).ask("solver", "slow")


def _wait_for_a_sent_call(run_dir):
    deadline = time.monotonic() + 10
    with LedgerReader(run_dir) as ledger:
        while not any(call.state == "sent" for call in ledger.calls()):
            assert time.monotonic() < deadline
            time.sleep(0.01)


def test_a_broker_leaves_when_its_parent_is_another(folder):
    with start(folder, parent=1) as orphan:
        assert orphan.wait(20) == 0


def test_the_error_document_is_json(served, folder):
    _, _, trial_socket = served
    with socket.socket(socket.AF_UNIX) as wire:
        wire.connect(trial_socket)
        wire.sendall(
            b"POST /v1/chat/completions HTTP/1.1\r\nHost: b\r\nConnection: close\r\n"
            b"Content-Length: 2\r\n\r\n{}"
        )
        raw = b"".join(iter(lambda: wire.recv(65536), b""))
    head, _, content = raw.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 401")
    assert json.loads(content)["error"]["code"] == "token"
