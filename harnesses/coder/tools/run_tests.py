"""Runs a draft on calls whose results are expected, in a process of its own with bounded time.

What comes back is what the draft's own process says: it helps to choose among drafts and to mend
them, and proves nothing. The sandbox around the harness is the wall; the bounds here keep a
draft's mistakes from ending the trial.
"""

from __future__ import annotations

import ast
import json
import math
import os
import sys

MEMORY_BYTES, MOST_BYTES, LEAST_S = 512_000_000, 200_000, 0.1


def run_tests(code: str, tests: list, seconds: float, result_chars: int) -> list[dict]:
    """For each test, `[call, expected]` as source texts: `{"passed": bool, "said": what came of it}`.

    Every test fails where the draft does not load, ends its process or takes more than `seconds`.
    """
    job = {"code": code, "tests": tests, "seconds": seconds, "chars": result_chars}
    try:
        found = json.loads(said_by_child(json.dumps(job).encode(), seconds))
        if [set(each) for each in found] != [{"passed", "said"}] * len(tests):
            raise ValueError("another report")
    except (ValueError, TypeError):
        return [{"passed": False, "said": "it took too long or ended the process"}] * len(tests)
    return [
        {"passed": each["passed"] is True, "said": str(each["said"])[: 2 * result_chars]}
        for each in found
    ]


def said_by_child(job: bytes, seconds: float) -> bytes:
    """What this file, run as a program, writes; as much as was written when the time was over."""
    import subprocess  # noqa: TID251 - the draft's own process; imported only where one is run
    import threading

    argv = [sys.executable, "-I", "-S", "-B", os.path.abspath(__file__)]
    pipe, none = subprocess.PIPE, subprocess.DEVNULL
    with subprocess.Popen(
        argv, stdin=pipe, stdout=pipe, stderr=none, env={}, start_new_session=True
    ) as child:
        timer = threading.Timer(seconds + 1.0, end, [child])
        timer.start()
        try:
            child.stdin.write(job)
            child.stdin.close()
            return child.stdout.read(MOST_BYTES)
        except OSError:
            return b""
        finally:
            timer.cancel()
            end(child)


def end(child: object) -> None:
    """Kill the process and what it started."""
    import signal

    try:
        os.killpg(child.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        child.kill()


# --- the process that holds the draft ------------------------------------------------------------


class TimeOver(BaseException):
    """Raised in the draft when its time is over; no `except Exception` of a draft stops it."""


def main() -> None:
    """Read the job, load the draft, try every test, write the report."""
    import signal

    job = json.loads(sys.stdin.buffer.read())
    out = shut_in(job["seconds"])
    signal.signal(signal.SIGALRM, time_over)
    share = max(LEAST_S, job["seconds"] / (len(job["tests"]) + 1))
    names: dict = {"__name__": "draft"}
    fault = tried(share, lambda: exec(job["code"], names))[1]  # noqa: S102 - the point
    found = []
    for call, expected in job["tests"]:
        report = {"passed": False, "said": fault}
        if not fault:
            report = one_test(call, expected, names, seconds=share, chars=job["chars"])
        found.append(report)
    os.write(out, json.dumps(found).encode())
    os._exit(0)


def shut_in(seconds: float) -> int:
    """Bound this process and send what the draft prints nowhere; where the report goes."""
    import resource

    bounds = {
        resource.RLIMIT_CPU: math.ceil(seconds) + 1,
        resource.RLIMIT_AS: MEMORY_BYTES,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_NPROC: 0,
    }
    for kind, bound in bounds.items():
        resource.setrlimit(kind, (bound, bound))
    out = os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(nowhere, fd)
    return out


def time_over(*_: object) -> None:
    """The alarm's handler."""
    raise TimeOver


def tried(seconds: float, work: object) -> tuple[object, str]:
    """What the work gave, and in words what went wrong; empty where nothing did."""
    import signal

    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        return work(), ""
    except TimeOver:
        return None, "it took too long"
    except BaseException as error:  # noqa: BLE001 - the draft may raise anything, an exit too
        return None, f"{type(error).__name__}: {error}"[:200]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def one_test(call: str, expected: str, names: dict, *, seconds: float, chars: int) -> dict:
    """One call, and whether it gave what was expected."""
    given, fault = tried(seconds, lambda: eval(call, names))  # noqa: S307 - a call read from a test
    if fault:
        return {"passed": False, "said": fault}
    wanted = ast.literal_eval(expected)
    passed, fault = tried(seconds, lambda: bool(same(given, wanted)))
    shown, unshown = tried(seconds, lambda: repr(given)[:chars])
    return {"passed": passed is True, "said": fault or unshown or shown}


def same(given: object, wanted: object) -> bool:
    """Equal, numbers nearly so."""
    if isinstance(given, float) and isinstance(wanted, (int, float)):
        return math.isclose(given, wanted, rel_tol=1e-6, abs_tol=1e-9)
    return given == wanted


if __name__ == "__main__":
    main()
