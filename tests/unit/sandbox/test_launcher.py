"""The launcher process as a whole: how it begins, what it refuses, when it ends."""

import json
import os
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from harnesspro.core.errors import HarnessProError, SandboxUnavailable
from harnesspro.core.ports import SandboxSpec
from harnesspro.sandbox import start, wire
from harnesspro.sandbox.client import SandboxClient
from tests.unit.sandbox.boxes import (
    launched,
    marked,
    open_folder,
    raw_spec,
    wait_until,
)

ROOT = Path(__file__).parents[3]


def test_it_ends_when_the_peer_closes_and_leaves_nothing_on_disk():
    with launched("S3") as box:
        assert box.sh("true").exit_code == 0
        box.client.close()
        assert box.process.wait(10) == 0
        left = [str(path) for path in (box.folder / "w").rglob("*")]
    assert left == [str(box.folder / "w" / "launcher")]


def test_closing_ends_what_still_runs():
    marker = f"91.{os.getpid()}"
    with launched("S3") as box, ThreadPoolExecutor(1) as pool:
        running = pool.submit(box.sh, f"sleep {marker}", wall_s=60)
        assert wait_until(lambda: marked(marker))
        box.client.close()
        assert box.process.wait(10) == 0
        assert not marked(marker)
        with pytest.raises(HarnessProError, match="the connection was closed"):
            running.result(10)


def test_its_environment_is_empty_and_no_start_leaves_a_descriptor_or_a_mount():
    with launched("S3") as box:
        process = Path(f"/proc/{box.process.pid}")
        held, mounts = sorted(os.listdir(process / "fd")), (process / "mounts").read_text()
        assert (process / "environ").read_bytes() == b""
        for line, wall_s in (("true", 5), ("no-such-command", 5), ("sleep 9", 0.2)):
            box.sh(line, wall_s=wall_s, broker=True)
        box.sh("true", files={"../x": ""})
        box.sh("true", env={"A": "\0"})
        box.code.chmod(0o700)
        assert box.sh("true").ended == "refused"
        assert wait_until(lambda: sorted(os.listdir(process / "fd")) == held)
        assert (process / "mounts").read_text() == mounts


@pytest.mark.parametrize(
    "spec", [None, 7, {}, {"code_dir": "/c"}, raw_spec(files=1), raw_spec(extra=1)]
)
def test_a_spec_that_is_none_is_refused_and_the_next_one_served(spec):
    with launched("S3") as box:
        wire.send(box.client._sock, {"id": 77, "spec": spec})
        answer = wire.receive(box.client._sock) or {}
        assert (answer["id"], answer["result"]["ended"]) == (77, "refused")
        assert box.sh("echo 1 > answer.json").result == b"1\n"


def test_a_code_folder_closed_to_others_is_refused_with_the_reason():
    with launched("S3") as box:
        box.code.chmod(0o700)
        done = box.sh("true")
    assert done.ended == "refused"
    assert done.stderr == f"PermissionError: {box.code} must be readable to other users"


def test_a_missing_broker_refuses_the_start_that_needs_it():
    with launched("S3") as box:
        (box.folder / "broker.sock").unlink()
        assert box.sh("true", broker=True).ended == "refused"
        assert box.sh("true", broker=False).ended == "exited"


def test_the_broker_may_come_after_the_launcher_and_is_asked_over_the_socket():
    source = "def solve(task, h):\n    return h.ask('writer', 'hello').text\n"
    with open_folder() as folder:
        code = folder / "code"
        code.mkdir(mode=0o755)
        (code / "solver.py").write_text(source)
        path = str(folder / "b.sock")
        process, sock = start.start_launcher(
            level="S3", trial_socket=path, work_root=str(folder / "w"), code_roots=[str(code)]
        )
        client = SandboxClient(sock, "S3")
        with socket.socket(socket.AF_UNIX) as broker:
            broker.bind(path)
            os.chmod(path, 0o666)
            broker.listen()
            asked = _answer_once(broker, "world")
            payload = {
                "entry": "solver.py:solve",
                "task": {},
                "token": "secret-token",
                "harness": {"parts": {}, "knobs": {}},
            }
            done = client.run(
                SandboxSpec(name="t", code_dir=str(code), argv=None, payload=json.dumps(payload))
            )
        client.close()
        process.wait(10)
    assert json.loads(done.result or b"")["answer"] == "world"
    assert b"Bearer secret-token" in asked[0]


def _answer_once(broker: socket.socket, text: str) -> list[bytes]:
    asked: list[bytes] = []
    body = json.dumps({"choices": [{"message": {"content": text}}]}).encode()

    def serve() -> None:
        wire, _ = broker.accept()
        with wire:
            asked.append(wire.recv(65536))
            wire.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + body)

    threading.Thread(target=serve).start()
    return asked


ORDINARY = """
import json, os, sys
from tests.unit.sandbox.boxes import launched
from harnesspro.sandbox.probes import probe
with launched("S3") as box:
    bomb = "for i in $(seq 100); do sleep 5 & done; wait"
    print(json.dumps({
        "uid": os.getuid(),
        "level": probe().level,
        "answer": json.loads(box.solve("def solve(task, h): return 1").result)["answer"],
        "wrote": box.sh("echo 1 > /harness/x").exit_code,
        "bomb": box.sh(bomb, n_processes=20).stderr.strip(),
    }))
"""


def test_an_ordinary_user_has_the_same_sandbox():
    helper = str(ROOT / "tests" / "unit" / "sandbox" / "ordinary.py")
    done = subprocess.run(
        [sys.executable, helper, sys.executable, "-c", ORDINARY],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "HOME": "/"},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found.pop("uid") != 0
    assert found == {"level": "S3", "answer": 1, "wrote": 2, "bomb": "sh: 0: Cannot fork"}


@pytest.mark.parametrize("level", ["S3", "S0"])
def test_a_socket_path_no_kernel_takes_is_named(level: str):
    with pytest.raises(SandboxUnavailable, match="its path has 105 bytes; expected at most 100"):
        start.start_launcher(
            level=level, trial_socket="/" + "x" * 104, work_root="/nonexistent/w", code_roots=[]
        )


def test_as_root_a_work_root_under_a_closed_folder_is_named(tmp_path: Path):
    tmp_path.chmod(0o700)
    with pytest.raises(SandboxUnavailable, match="is closed to other users"):
        start.start_launcher(
            level="S3", trial_socket="/b", work_root=str(tmp_path / "w"), code_roots=[]
        )


@pytest.mark.parametrize("level", ["S3", "S0"])
def test_asked_to_stop_it_first_ends_what_runs(level: str):
    marker = f"92.{os.getpid()}"
    with launched(level) as box, ThreadPoolExecutor(1) as pool:
        running = pool.submit(box.sh, f"sleep {marker} & setsid sleep {marker}", wall_s=60)
        assert wait_until(lambda: len(marked(marker)) >= 2)
        box.process.terminate()
        assert box.process.wait(10) == 0
        assert not marked(marker)
        assert running.result(10).ended == "killed"
        with pytest.raises(HarnessProError, match="sandbox launcher: no longer there"):
            box.sh("true")
