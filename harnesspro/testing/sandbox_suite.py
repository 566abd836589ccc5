"""What every sandbox must do, at every level, isolated or not: the conformance suite of the port.

A case takes a sandbox and a folder that it may show as code, which the case fills, and asserts.
"""

# ruff: noqa: D103 - the name of a case is its sentence

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from harnesspro.core.ports import Sandbox, SandboxResult, SandboxSpec


def _command(sandbox: Sandbox, code: str, line: str, **changes: Any) -> SandboxResult:
    settings = {"payload": "{}", "broker": False, "wall_s": 20.0, **changes}
    return sandbox.run(SandboxSpec(name="case", code_dir=code, argv=("sh", "-c", line), **settings))


def _solve(sandbox: Sandbox, code: str, body: str) -> SandboxResult:
    Path(code, "solver.py").write_text(f"def solve(task, h):\n    {body}\n")
    payload = {
        "entry": "solver.py:solve",
        "task": {"input": "q"},
        "token": "t",
        "harness": {"parts": {}, "knobs": {}},
    }
    spec = SandboxSpec(
        name="case", code_dir=code, argv=None, payload=json.dumps(payload), broker=False
    )
    return sandbox.run(spec)


def _alive(marker: str) -> bool:
    for line in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if marker.encode() in line.read_bytes():
                return True
        except (FileNotFoundError, ProcessLookupError):
            continue
    return False


def a_python_entry_answers(sandbox: Sandbox, code: str) -> None:
    done = _solve(sandbox, code, "h.note('seen'); return task['input'] + '!'")
    assert (done.ended, done.exit_code) == ("exited", 0)
    assert json.loads(done.result or b"") == {
        "outcome": "answered",
        "answer": "q!",
        "notes": ["seen"],
    }


def an_entry_that_raises_is_a_result(sandbox: Sandbox, code: str) -> None:
    done = _solve(sandbox, code, "raise SystemExit(7)")
    assert json.loads(done.result or b"") == {
        "outcome": "crashed",
        "fault": "SystemExit: 7",
        "notes": [],
    }


def a_command_finds_its_files_and_its_exit_code_is_told(sandbox: Sandbox, code: str) -> None:
    line = "cat in/a.txt > answer.json; echo why >&2; exit 3"
    done = _command(sandbox, code, line, files={"in/a.txt": "é"})
    assert (done.ended, done.exit_code) == ("exited", 3)
    assert (done.result, done.stderr) == ("é".encode(), "why\n")


def without_an_answer_the_result_is_none(sandbox: Sandbox, code: str) -> None:
    done = _command(sandbox, code, "true")
    assert (done.ended, done.exit_code, done.result) == ("exited", 0, None)


def the_payload_names_the_broker_only_where_it_is_shown(sandbox: Sandbox, code: str) -> None:
    done = _command(sandbox, code, "cp task.json answer.json", payload='{"x": 1}')
    assert json.loads(done.result or b"") == {"x": 1, "broker": ""}


def the_environment_is_what_was_named(sandbox: Sandbox, code: str) -> None:
    done = _command(sandbox, code, "env > answer.json", env={"SEED": "7"})
    names = {line.partition("=")[0] for line in (done.result or b"").decode().splitlines()}
    assert names - {"PWD", "_", "OLDPWD", "SHLVL"} == {"PATH", "HOME", "LANG", "SEED"}


def a_signal_is_told_as_shells_do(sandbox: Sandbox, code: str) -> None:
    done = _command(sandbox, code, "kill -9 $$")
    assert (done.ended, done.exit_code) == ("exited", 137)


def a_missing_command_is_exit_127(sandbox: Sandbox, code: str) -> None:
    spec = SandboxSpec(name="c", code_dir=code, argv=("no-such",), payload="{}", broker=False)
    done = sandbox.run(spec)
    assert (done.ended, done.exit_code) == ("exited", 127)


def the_clock_ends_it(sandbox: Sandbox, code: str) -> None:
    done = _command(sandbox, code, "echo 1 > answer.json; sleep 30", wall_s=0.5)
    assert (done.ended, done.exit_code) == ("wall", None)
    assert 0.5 <= done.wall_s < 10


def too_much_output_ends_it(sandbox: Sandbox, code: str) -> None:
    assert _command(sandbox, code, "yes", output_bytes=100_000).ended == "output"
    burst = _command(sandbox, code, "head -c 60000 /dev/zero", output_bytes=50_000)
    assert burst.ended == "output"


def an_answer_above_the_cap_is_none(sandbox: Sandbox, code: str) -> None:
    line = "head -c 5000 /dev/zero > answer.json"
    assert _command(sandbox, code, line, output_bytes=4999).result is None
    assert _command(sandbox, code, line, output_bytes=5000).result == bytes(5000)


def only_the_end_of_stderr_is_kept(sandbox: Sandbox, code: str) -> None:
    done = _command(sandbox, code, "head -c 9000 /dev/zero >&2; echo end >&2")
    assert done.stderr == "\0" * 4092 + "end\n"


def nothing_started_is_left_behind(sandbox: Sandbox, code: str) -> None:
    marker = f"77.{secrets.randbelow(10**12):012d}"
    daemons = f"sleep {marker} & setsid sleep {marker} & (sleep {marker} &)"
    assert _command(sandbox, code, daemons).ended == "exited"
    assert not _alive(marker)
    assert _command(sandbox, code, f"{daemons}; sleep {marker}", wall_s=0.5).ended == "wall"
    assert not _alive(marker)


def many_run_at_once_and_none_is_mixed_up(sandbox: Sandbox, code: str) -> None:
    def one(number: int) -> SandboxResult:
        return _command(sandbox, code, f"sleep 0.1; echo {number} > answer.json; exit {number}")

    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(one, range(16)))
    assert [(each.exit_code, each.result) for each in done] == [
        (number, f"{number}\n".encode()) for number in range(16)
    ]


def code_outside_what_it_may_show_is_refused(sandbox: Sandbox, code: str) -> None:
    Path(code, "link").symlink_to("/usr")
    for folder in ("/usr", f"{code}/../..", f"{code}/link", f"{code}/none"):
        done = _command(sandbox, folder, "echo 1 > answer.json")
        assert (done.ended, done.result) == ("refused", None), folder


def a_spec_that_reaches_out_of_its_place_is_refused(sandbox: Sandbox, code: str) -> None:
    for changes in ({"files": {"../x": ""}}, {"files": {"/x": ""}}, {"env": {"A": "b\0--bind"}}):
        assert _command(sandbox, code, "true", **changes).ended == "refused", changes


def a_spec_out_of_range_is_refused(sandbox: Sandbox, code: str) -> None:
    for changes in ({"wall_s": 0.0}, {"n_processes": 0}, {"payload": "no JSON"}, {"n_files": -1}):
        assert _command(sandbox, code, "true", **changes).ended == "refused", changes


def _program(sandbox: Sandbox, code: str, source: str, **changes: Any) -> SandboxResult:
    line = "exec python3 -I -S -B attack.py"
    return _command(sandbox, code, line, files={"attack.py": source}, **changes)


def only_the_three_streams_are_open(sandbox: Sandbox, code: str) -> None:
    look = (
        "import os\nopen_ones = []\n"
        "for fd in range(4096):\n"
        "    try:\n        os.fstat(fd)\n        open_ones.append(fd)\n"
        "    except OSError as error:\n        pass\n"
        "open('answer.json', 'w').write(str(open_ones))"
    )
    assert _program(sandbox, code, look).result == b"[0, 1, 2]"


def an_answer_that_is_no_plain_file_is_none(sandbox: Sandbox, code: str) -> None:
    plants = ("ln -s task.json", "ln task.json", "ln -s /etc/passwd", "mkfifo", "mkdir")
    for plant in plants:
        done = _command(sandbox, code, f"{plant} answer.json")
        assert (done.ended, done.result) == ("exited", None), plant


def _is_over(done: SandboxResult, limit: str) -> None:
    assert (done.ended, done.exit_code, done.result) == ("killed", None, None)
    assert done.stderr.endswith(f"sandbox: over {limit}\n"), done.stderr


def one_process_has_no_more_memory_than_all(sandbox: Sandbox, code: str) -> None:
    grab = "x = b'1' * 400_000_000; open('answer.json', 'w').write('got it')"
    done = _program(sandbox, code, grab, memory_bytes=200_000_000)
    assert (done.exit_code, done.result) == (1, None)
    assert done.stderr.endswith("MemoryError\n")


def memory_is_bounded_over_all_processes(sandbox: Sandbox, code: str) -> None:
    many = (
        "import os, time\n"
        "for _ in range(4):\n"
        "    if os.fork() == 0:\n"
        "        x = b'1' * 90_000_000\n        time.sleep(20)\n"
        "open('answer.json', 'w').write('claimed')\ntime.sleep(20)"
    )
    _is_over(_program(sandbox, code, many, memory_bytes=200_000_000), "200000000 bytes of memory")
    shared = (
        "import os, time\nx = b'1' * 90_000_000\n"
        "for _ in range(4):\n    if os.fork() == 0:\n        time.sleep(0.5)\n        os._exit(0)\n"
        "time.sleep(0.5)\nopen('answer.json', 'w').write('counted once')"
    )
    done = _program(sandbox, code, shared, memory_bytes=200_000_000)
    assert (done.ended, done.result) == ("exited", b"counted once")


def processor_time_is_bounded_over_all_processes(sandbox: Sandbox, code: str) -> None:
    burn = "import os\nfor _ in range(3): os.fork()\nwhile True: pass"
    _is_over(_program(sandbox, code, burn, cpu_s=1.0), "1 processor seconds")
    one = _program(sandbox, code, "while True: pass", cpu_s=0.5)
    assert one.ended in {"killed", "exited"}
    assert one.exit_code != 0


def processes_are_bounded(sandbox: Sandbox, code: str) -> None:
    bomb = (
        "import os, time\nforked = 0\n"
        "try:\n"
        "    while forked < 400:\n"
        "        if os.fork() == 0:\n            time.sleep(20)\n            os._exit(0)\n"
        "        forked += 1\n"
        "except OSError as error:\n    pass\n"
        "open('answer.json', 'w').write(str(forked))\n"
        "time.sleep(1 if forked < 400 else 20)"
    )
    done = _program(sandbox, code, bomb, n_processes=30)
    if done.ended == "killed":
        _is_over(done, "30 processes")
    else:
        assert done.result == b"29"
    assert _command(sandbox, code, "echo well > answer.json", n_processes=30).result == b"well\n"


def bytes_written_are_bounded_over_all_files(sandbox: Sandbox, code: str) -> None:
    fill = "for i in 1 2 3 4 5 6 7 8; do head -c 1000000 /dev/zero > f$i || exit 9; done; {}"
    done = _command(sandbox, code, fill.format("sleep 20"), disk_bytes=4 << 20)
    if done.ended == "killed":
        _is_over(done, f"{4 << 20} bytes of files")
    else:
        assert (done.exit_code, done.stderr.count("No space left on device")) == (9, 1)
    quick = _command(sandbox, code, fill.format("exit 0"), disk_bytes=4 << 20)
    assert quick.ended == "killed" or quick.exit_code == 9
    large = _command(sandbox, code, "head -c 3000000 /dev/zero > f", disk_bytes=2 << 20)
    assert large.ended == "killed" or large.exit_code != 0


def files_are_bounded_in_number(sandbox: Sandbox, code: str) -> None:
    many = (
        "import os, time\nmade = 0\n"
        "try:\n"
        "    while made < 2000:\n        open(f'f{made}', 'w').close()\n        made += 1\n"
        "    time.sleep(20)\n"
        "except OSError as error:\n    os.write(2, str(error.errno).encode())"
    )
    done = _program(sandbox, code, many, n_files=500)
    if done.ended == "killed":
        _is_over(done, "500 files")
    else:
        assert done.stderr == "28", done  # no space left


def copying_files_and_starting_programs_goes_on_working(sandbox: Sandbox, code: str) -> None:
    work = (
        "import asyncio, shutil, sqlite3, subprocess, tempfile, threading\n"
        "thread = threading.Thread(target=print)\nthread.start()\nthread.join()\n"
        "sqlite3.connect('x.db').execute('create table t (a)')\n"
        "open('a', 'w').write('1')\nshutil.copy2('a', 'b')\nshutil.copytree('/harness', 'c')\n"
        "tempfile.NamedTemporaryFile().write(b'1')\n"
        "async def main():\n"
        "    child = await asyncio.create_subprocess_exec('cat', 'b', stdout=-1)\n"
        "    return (await child.communicate())[0]\n"
        "assert asyncio.run(main()) == b'1'\n"
        "assert subprocess.run(['sh', '-c', 'kill $$']).returncode == -15\n"
        "open('answer.json', 'w').write('done')"
    ).replace("'/harness'", "__import__('sys').argv[1]")
    line = 'exec python3 -I -B attack.py "$CODE"'
    done = _command(sandbox, code, line, files={"attack.py": work}, env={"CODE": "/harness"})
    assert (done.stderr, done.result) == ("", b"done")


SANDBOX_CASES: tuple[Callable[[Sandbox, str], None], ...] = (
    a_python_entry_answers,
    an_entry_that_raises_is_a_result,
    a_command_finds_its_files_and_its_exit_code_is_told,
    without_an_answer_the_result_is_none,
    the_payload_names_the_broker_only_where_it_is_shown,
    the_environment_is_what_was_named,
    a_signal_is_told_as_shells_do,
    a_missing_command_is_exit_127,
    the_clock_ends_it,
    too_much_output_ends_it,
    an_answer_above_the_cap_is_none,
    only_the_end_of_stderr_is_kept,
    nothing_started_is_left_behind,
    many_run_at_once_and_none_is_mixed_up,
    code_outside_what_it_may_show_is_refused,
    a_spec_that_reaches_out_of_its_place_is_refused,
    a_spec_out_of_range_is_refused,
    only_the_three_streams_are_open,
    an_answer_that_is_no_plain_file_is_none,
    one_process_has_no_more_memory_than_all,
    memory_is_bounded_over_all_processes,
    processor_time_is_bounded_over_all_processes,
    processes_are_bounded,
    bytes_written_are_bounded_over_all_files,
    files_are_bounded_in_number,
    copying_files_and_starting_programs_goes_on_working,
)
