"""What the isolated levels promise beyond the port, each tried at each level that claims it."""

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from harnesspro.core.errors import HarnessProError
from tests.unit.sandbox.boxes import LADDER, Box, launched, marked, open_folder, wait_until

ISOLATED = [name for name in LADDER if name != "S0"]
GOLD = "the-right-answer-is-4711"


@pytest.fixture(scope="module", params=ISOLATED)
def box(request: pytest.FixtureRequest) -> Iterator[Box]:
    level, ordinary = LADDER[request.param]
    with launched(level, ordinary=ordinary) as box:
        yield box


def daemons(marker: str) -> str:
    """A shell line that leaves four kinds of background process behind."""
    return (
        f"sleep {marker} & setsid sleep {marker} & (setsid nohup sleep {marker} > /dev/null 2>&1 &);"
        f" sh -c 'trap \"\" TERM HUP INT; sleep {marker}; true' &"
    )


@pytest.mark.parametrize("name", LADDER)
def test_nothing_survives_a_launcher_that_is_killed(name: str):
    marker = f"93.{os.getpid()}{list(LADDER).index(name)}"
    level, ordinary = LADDER[name]
    told: list[str] = []
    with launched(level, ordinary=ordinary) as box:

        def run() -> None:
            try:
                box.sh(f"{daemons(marker)} sleep {marker}", wall_s=60)
            except HarnessProError as error:
                told.append(str(error))

        thread = threading.Thread(target=run)
        thread.start()
        assert wait_until(lambda: len(marked(marker)) >= 5)
        box.process.kill()
        assert wait_until(lambda: not marked(marker), 3.0)
        thread.join(5)
    assert len(told) == 1
    assert "no longer there" in told[0]


PARENT = """
import sys
from tests.unit.sandbox.boxes import LADDER, launched
level, ordinary = LADDER[sys.argv[2]]
with launched(level, ordinary=ordinary) as box:
    print(box.process.pid, box.folder, flush=True)
    box.sh(sys.argv[1], wall_s=60)
"""


@pytest.mark.parametrize("name", LADDER)
def test_nothing_survives_when_the_whole_program_is_killed(name: str):
    marker = f"94.{os.getpid()}{list(LADDER).index(name)}"
    command = [sys.executable, "-c", PARENT, f"{daemons(marker)} sleep {marker}", name]
    program = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=Path(__file__).parents[3])
    assert program.stdout is not None
    launcher, folder = program.stdout.readline().decode().split()

    def inside() -> list[int]:
        return [pid for pid in marked(marker) if pid != program.pid]

    assert wait_until(lambda: len(inside()) >= 5)
    program.kill()
    program.wait()
    program.stdout.close()
    shutil.rmtree(folder)
    assert wait_until(lambda: not inside() and not os.path.exists(f"/proc/{launcher}/exe"), 3.0)


FORK_STORM = """
import os, sys, time
end = time.monotonic() + 6  # it spares the machine where the sandbox does not stop it
while time.monotonic() < end:
    try:
        if os.fork() == 0:
            os.setsid()
            continue
    except OSError as error:
        pass
    time.sleep(0.02)
"""


def test_a_storm_of_forks_is_over_when_the_start_is(box: Box):
    name = f"storm{os.getpid()}.py"
    line = f"cp attack.py {name}; exec python3 -I -S -B {name}"
    done = box.run(("sh", "-c", line), files={"attack.py": FORK_STORM}, wall_s=1.0, n_processes=40)
    assert done.ended in {"wall", "killed"}
    assert marked(name) == []


REACH = """
import json, os, socket, sys
def attempt(act):
    try:
        act()
        return True
    except OSError as error:
        return False
def connect(family, kind, address):
    with socket.socket(family, kind) as wire:
        wire.settimeout(2)
        wire.connect(address)
env = os.environ
json.dump({
    "tcp": attempt(lambda: connect(2, 1, ("127.0.0.1", int(env["TCP"])))),
    "abstract": attempt(lambda: connect(1, 1, "\\0" + env["ABSTRACT"])),
    "named": attempt(lambda: connect(1, 1, env["NAMED"])),
    "datagram": attempt(lambda: socket.socketpair(1, 2)[0].sendto(b"x", env["NAMED"] + ".dgram")),
    "gold": attempt(lambda: open(env["GOLD"]).read()),
    "link": attempt(lambda: (os.symlink(env["GOLD"], "link"), open("link").read())),
    "root": attempt(lambda: open("/proc/1/root" + env["GOLD"]).read()),
    "write": attempt(lambda: open(env["OPEN"], "a").write("x")),
    "unlink": attempt(lambda: os.unlink(env["OPEN"])),
    "beside": attempt(lambda: os.mkdir("../planted")),
    "tmp": attempt(lambda: open(os.path.dirname(env["OPEN"]) + "/planted", "w").close()),
    "signal": attempt(lambda: os.kill(int(env["OTHER"]), 0)),
    "limits": attempt(lambda: __import__("resource").prlimit(int(env["OTHER"]), 7, (99, 99))),
    "nice": attempt(lambda: os.setpriority(0, int(env["OTHER"]), 19)),
    "environ": attempt(lambda: open("/proc/" + env["OTHER"] + "/environ", "rb").read()),
    "memory": attempt(lambda: open("/proc/" + env["OTHER"] + "/mem", "rb").read(1)),
}, open("answer.json", "w"))
"""


@pytest.fixture
def outside() -> Iterator[tuple[Path, dict[str, str]]]:
    """A listener of each kind, gold, an open file, and a process that belongs to the same user."""
    with (
        open_folder() as folder,
        socket.create_server(("127.0.0.1", 0)) as tcp,
        socket.socket(socket.AF_UNIX) as abstract,
        socket.socket(socket.AF_UNIX) as named,
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as datagram,
    ):
        folder.chmod(0o777)
        abstract.bind(f"\0{folder.name}")
        named.bind(str(folder / "named"))
        datagram.bind(str(folder / "named.dgram"))
        for listener in (abstract, named):
            listener.listen()
        for path, text in ((folder / "gold", GOLD), (folder / "open", "as it was")):
            path.write_text(text)
        for path in folder.iterdir():
            path.chmod(0o666)
        yield (
            folder,
            {
                "TCP": str(tcp.getsockname()[1]),
                "ABSTRACT": folder.name,
                "NAMED": str(folder / "named"),
                "GOLD": str(folder / "gold"),
                "OPEN": str(folder / "open"),
            },
        )


def reached(box: Box, outside: tuple[Path, dict[str, str]]) -> dict[str, bool]:
    """What the code inside reached of it; files are open to all, so that only the sandbox denies."""
    other = Path(f"/proc/{box.process.pid}")
    env = {**outside[1], "OTHER": other.name}
    found: dict[str, bool] = json.loads(box.python(REACH, env=env).result or b"{}")
    return found


def test_nothing_outside_is_reached_not_even_what_is_open_to_all(
    box: Box, outside: tuple[Path, dict[str, str]]
):
    found = reached(box, outside)
    assert len(found) == 16
    assert {name for name, done in found.items() if done} == set()
    folder = outside[0]
    assert (folder / "open").read_text() == "as it was"
    assert sorted(path.name for path in folder.iterdir()) == [
        *("gold", "named", "named.dgram", "open"),
    ]


def test_unsandboxed_the_same_program_reaches_it(outside: tuple[Path, dict[str, str]]):
    with launched("S0") as box:
        found = reached(box, outside)
    missed = {name for name, done in found.items() if not done}
    assert missed <= {"signal", "limits", "nice", "environ", "memory", "root", "tmp"}
    assert not {"tcp", "abstract", "named", "datagram", "gold", "write"} & missed


MODES = """
import os
for act in (
    lambda: os.chmod(os.environ["OPEN"], 0),
    lambda: os.chown(os.environ["OPEN"], -1, os.getgid()),
    lambda: os.utime(os.environ["OPEN"], (1, 1)),
    lambda: os.setxattr(os.environ["OPEN"], "user.mark", b"x"),
    lambda: os.fchmod(os.open(os.environ["CODE"], os.O_RDONLY), 0),
):
    try:
        act()
    except OSError as error:
        pass
"""


def test_what_belongs_to_the_same_user_keeps_its_mode_and_time(box: Box):
    with open_folder() as folder:
        mine = folder / "open"
        mine.write_text("as it was")
        uid = Path(f"/proc/{box.process.pid}").stat().st_uid
        for path in (mine, box.code):
            os.chown(path, uid, uid)
        box.code.chmod(0o755)
        folder.chmod(0o755)
        before = [(path.stat().st_mode, path.stat().st_mtime_ns) for path in (mine, box.code)]
        assert box.python(MODES, env={"OPEN": str(mine), "CODE": "/harness"}).exit_code == 0
        after = [(path.stat().st_mode, path.stat().st_mtime_ns) for path in (mine, box.code)]
        assert (after, os.listxattr(mine)) == (before, [])


def test_the_code_cannot_be_changed(box: Box):
    (box.code / "solver.py").write_text("x = 1\n")
    (box.code / "solver.py").chmod(0o666)
    box.sh('echo "#" >> "$CODE/solver.py"; echo "#" > "$CODE/new"', env={"CODE": "/harness"})
    assert (box.code / "solver.py").read_text() == "x = 1\n"
    assert not (box.code / "new").exists()


ASK = "def solve(task, h):\n    return [h.ask('writer', 'a').text, h.ask('writer', 'b').text]\n"


def test_the_broker_is_reached_at_every_level(box: Box):
    (box.folder / "broker.sock").unlink()
    asked: list[bytes] = []
    with socket.socket(socket.AF_UNIX) as broker:
        broker.bind(str(box.folder / "broker.sock"))
        (box.folder / "broker.sock").chmod(0o666)
        broker.listen()
        broker.settimeout(10)
        thread = threading.Thread(target=lambda: serve(broker, asked))
        thread.start()
        done = box.solve(ASK, broker=True)
        thread.join(5)
        assert json.loads(done.result or b"{}").get("answer") == ["hello", "hello"], done
    assert len(asked) == 2
    assert b"Bearer t" in asked[0]


def serve(broker: socket.socket, asked: list[bytes]) -> None:
    """Two model calls."""
    body = json.dumps({"choices": [{"message": {"content": "hello"}}]}).encode()
    for _ in range(2):
        wire, _ = broker.accept()
        with wire:
            asked.append(wire.recv(65536))
            wire.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + body)


def test_a_broker_that_is_not_there_is_the_grounds_fault(box: Box):
    (box.folder / "broker.sock").unlink(missing_ok=True)
    done = box.solve(ASK, broker=True)
    assert done.ended == "refused" or json.loads(done.result or b"{}")["outcome"] == "fault"
