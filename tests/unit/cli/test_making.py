import json
import socket

import pytest

from harnesspro.cli.making import run_in_sandbox
from harnesspro.core.errors import IntegrityError, SandboxUnavailable
from harnesspro.sandbox import promises, start

LOOK_AROUND = """
import json, os, socket, sys
code, work = sys.argv[1:]
with open(f"{work}/task.json") as file:
    asked = json.load(file)
try:
    socket.create_connection(("127.0.0.1", asked["port"]), timeout=5)
    net = True
except OSError:
    net = False
with open(f"{code}/data/words.txt") as file:
    told = {"words": file.read(), "net": net, "secret": os.path.exists(asked["secret"])}
with open(f"{work}/answer.json", "w") as file:
    json.dump(told, file)
"""


def test_a_program_sees_its_own_files_and_its_payload_and_nothing_else(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("gold")
    with socket.create_server(("127.0.0.1", 0)) as server:
        payload = json.dumps({"port": server.getsockname()[1], "secret": str(secret)})
        files = {"make.py": LOOK_AROUND, "data/words.txt": "some words"}
        told = run_in_sandbox(files, program="make.py", payload=payload)
    assert json.loads(told) == {"words": "some words", "net": False, "secret": False}


@pytest.mark.parametrize(
    ("source", "said"),
    [("raise KeyError('lost')", "KeyError: 'lost'"), ("pass", "it wrote nothing")],
)
def test_a_program_that_makes_nothing_is_told(source, said):
    with pytest.raises(IntegrityError, match=said):
        run_in_sandbox({"make.py": source}, program="make.py", payload="{}")


def test_without_a_sandbox_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(start, "bubblewraps", lambda: iter(()))
    monkeypatch.setattr(promises, "LEVELS", ("S3",))
    with pytest.raises(SandboxUnavailable, match=r"pip install 'harnesspro\[sandbox\]'"):
        run_in_sandbox({"make.py": "pass"}, program="make.py", payload="{}")
