"""Attacks on what lies on disk: gold, code, other starts' leavings, the collector's good faith."""

import json
import os
import subprocess
import sys

import pytest

from tests.redteam.conftest import GOLD
from tests.unit.sandbox.boxes import Box, interpreter, launched

LOOK_FOR_GOLD = """
import os
gold, seen = os.environ["GOLD"], set()
os.symlink(gold, "link")
ways = [gold, "link", "../../../../../.." + gold, "/harness/../../../.." + gold]
for pid in filter(str.isdigit, os.listdir("/proc")):
    ways += [f"/proc/{pid}/root{gold}", f"/proc/{pid}/cwd/../../../../..{gold}"]
    try:
        ways += [f"/proc/{pid}/fd/{fd}" for fd in os.listdir(f"/proc/{pid}/fd")]
    except OSError as error:
        pass
for way in ways:
    try:
        if os.path.isfile(way):
            seen.add(open(way, "rb").read(200).decode(errors="replace"))
    except OSError as error:
        pass
os.unlink("link")
open("answer.json", "w").write("".join(seen))
"""


def test_case_01_the_vault_by_path_link_or_proc(s3: Box, s0: Box, vault):
    env = {"GOLD": str(vault / "gold.jsonl")}
    assert GOLD not in (s3.python(LOOK_FOR_GOLD, env=env).result or b"").decode()
    assert GOLD in (s0.python(LOOK_FOR_GOLD, env=env).result or b"").decode()


def test_case_01_the_vault_is_absent_not_merely_closed(s3: Box, vault):
    done = s3.sh('cat "$GOLD" 2>&1 > /dev/null | tee answer.json', env={"GOLD": str(vault)})
    assert b"No such file" in (done.result or b"")


@pytest.mark.parametrize("level", ["s3", "s0"])
@pytest.mark.parametrize(
    "plant",
    [
        'ln -s "$GOLD" answer.json',
        "ln -s task.json answer.json",
        "ln task.json answer.json",
        "mkfifo answer.json",
        "mkdir answer.json",
        "truncate -s 1M answer.json",
    ],
)
def test_case_02_an_answer_that_is_no_plain_file(
    request: pytest.FixtureRequest, level: str, plant: str, vault
):
    box: Box = request.getfixturevalue(level)
    env = {"GOLD": str(vault / "gold.jsonl")}
    assert box.sh(plant, env=env, output_bytes=100_000).result is None
    assert box.sh(f"{plant}; rm -r answer.json; echo ok > answer.json", env=env).result == b"ok\n"


def test_case_02_a_collector_that_opens_by_name_follows_the_link(vault, tmp_path):
    (tmp_path / "answer.json").symlink_to(vault / "gold.jsonl")
    assert (tmp_path / "answer.json").read_text() == GOLD


@pytest.mark.parametrize("level", ["S3", "S0"])
def test_case_03_a_descriptor_left_open_by_whoever_started_it(level: str, vault):
    gold = os.open(vault / "gold.jsonl", os.O_RDONLY)
    os.set_inheritable(gold, True)
    look = "ls -l /proc/self/fd"
    try:
        careless = subprocess.run(
            ["sh", "-c", look], close_fds=False, capture_output=True, check=True
        )
        with launched(level) as box:
            done = box.sh(f"{look} > answer.json", broker=True)
    finally:
        os.close(gold)
    assert b"gold.jsonl" in careless.stdout
    lines = (done.result or b"").decode().splitlines()[1:]
    numbers = [int(line.split(" -> ")[0].split()[-1]) for line in lines]
    assert numbers == [0, 1, 2, 3]  # the last is the listing itself
    assert all("gold" not in line for line in lines)


READ_PROC = """
import glob
seen = []
for path in glob.glob("/proc/[0-9]*/environ") + glob.glob("/proc/[0-9]*/cmdline"):
    try:
        seen.append(open(path, "rb").read().decode(errors="replace"))
    except OSError as error:
        pass
seen.append(open("/proc/self/mountinfo").read())
open("answer.json", "w").write("\\n".join(seen))
"""


def test_case_04_keys_and_paths_in_the_environments_of_others(s3: Box, s0: Box, vault):
    victim = subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(60)", str(vault)],
        env={"PROVIDER_KEY": "sk-4711"},
    )
    try:
        inside, bare = (box.python(READ_PROC, output_bytes=5_000_000) for box in (s3, s0))
    finally:
        victim.kill()
        victim.wait()
    assert b"sk-4711" not in (inside.result or b"sk-4711")
    assert str(vault).encode() not in (inside.result or b"")
    assert b"sk-4711" in (bare.result or b"")


def test_case_04_the_first_process_inside_tells_nothing(s3: Box):
    done = s3.sh("cat /proc/1/environ > answer.json; tr '\\0' ' ' < /proc/1/cmdline >> answer.json")
    words = (done.result or b"").decode().split()
    assert words[0] == "bwrap"
    assert not any(word.startswith("/") for word in words if "/proc/" not in word)


PLANTS = {
    "sitecustomize.py": "import sys; sys.stderr.write('PWNED')",
    "usercustomize.py": "import sys; sys.stderr.write('PWNED')",
    "startup.pth": "import sys; sys.stderr.write('PWNED')",
    "harnesspro/__init__.py": "import sys; sys.stderr.write('PWNED')",
    "harnesspro/sdk.py": "import sys; sys.stderr.write('PWNED')",
    "json.py": "import sys; sys.stderr.write('PWNED')",
}


def test_case_15_python_files_that_run_by_being_there(s3: Box):
    for name, text in PLANTS.items():
        path = s3.code / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    paths = {"PYTHONPATH": "/harness:/work", "PYTHONSTARTUP": "/harness/json.py"}
    careless = subprocess.run(
        [sys.executable, "-c", ""],
        env={"PYTHONPATH": str(s3.code)},
        capture_output=True,
        check=False,
    )
    done = s3.solve("def solve(task, h):\n    return 1\n", files=PLANTS, env=paths)
    for name in PLANTS:
        (s3.code / name).unlink()
    assert b"PWNED" in careless.stderr
    assert done.stderr == ""
    assert json.loads(done.result or b"")["answer"] == 1


def test_case_18_a_success_that_is_only_printed_or_left_over(s3: Box):
    claim = '{"outcome": "answered", "answer": 1}'
    printed = s3.sh(f"echo '{claim}'; echo '{claim}' >&2; echo '5 passed'; exit 0")
    assert (printed.ended, printed.result) == ("exited", None)
    s3.sh(f"echo '{claim}' | tee answer.json /tmp/answer.json")
    assert s3.sh("cp /tmp/answer.json answer.json").result is None


def test_case_18_a_judge_that_reads_what_was_printed_believes_it():
    printed = subprocess.run(
        ["sh", "-c", "echo '5 passed'; exit 0"], capture_output=True, check=True
    )
    assert printed.stdout.split() == [b"5", b"passed"]


CHANGE_EVERYTHING = """
import os, sys
done = []
places = ["/harness", "/judge/harnesspro", "/usr", "/usr/bin", "/etc", "/", "/dev", "/proc/sys/kernel"]
for folder in [*places, os.environ["CODE"], os.path.dirname(sys.executable)]:
    for act in (
        lambda: os.close(os.open(folder + "/planted", os.O_CREAT | os.O_WRONLY)),
        lambda: os.chmod(folder, 0o777),
        lambda: os.rename(folder, folder + ".old"),
        lambda: open(folder + "/solver.py", "a").write("#"),
    ):
        try:
            act()
            done.append(folder)
        except OSError as error:
            pass
open("answer.json", "w").write("\\n".join(done))
"""


def test_case_27_the_code_the_sdk_and_the_system_cannot_be_changed(s3: Box):
    (s3.code / "solver.py").write_text("x = 1\n")
    (s3.code / "solver.py").chmod(0o666)
    done = s3.python(CHANGE_EVERYTHING, env={"CODE": "/harness"})
    assert (done.ended, done.result) == ("exited", b"")
    assert (s3.code / "solver.py").read_text() == "x = 1\n"


def test_case_27_unsandboxed_the_same_line_changes_the_code(s0: Box):
    (s0.code / "solver.py").write_text("x = 1\n")
    s0.sh('echo "#" >> "$CODE/solver.py"', env={"CODE": "/harness"})
    assert (s0.code / "solver.py").read_text() == "x = 1\n#\n"


def test_case_30_what_one_start_leaves_is_not_there_for_the_next(s3: Box):
    places = ("/tmp/left", "/dev/shm/left", "/work/left")
    plant = "; ".join(f"echo 1 > {place}" for place in places)
    assert s3.sh(f"{plant}; ls {' '.join(places)} > answer.json").exit_code == 0
    assert s3.sh(f"ls {' '.join(places)} > answer.json").result == b""


def test_case_30_unsandboxed_it_is_there(s0: Box):
    place = f"/tmp/left-{os.getpid()}"
    s0.sh(f"echo poison > {place}")
    found = s0.sh(f"cat {place} > answer.json; rm {place}").result
    assert found == b"poison\n"


def test_the_judge_is_not_visible_but_for_the_sdk(s3: Box):
    done = s3.sh("find /judge -name '*.py' | sort > answer.json; ls / >> answer.json")
    system = ("bin", "lib", "lib32", "lib64", "libx32", "sbin")
    shown = {name for name in system if os.path.lexists(f"/{name}")}
    own = {"dev", "etc", "harness", "judge", "proc", "tmp", "usr", "work"}
    assert (done.result or b"").decode().split() == [
        "/judge/harnesspro/__init__.py",
        "/judge/harnesspro/sdk.py",
        *sorted(own | shown | {interpreter().split("/")[1]}),
    ]
