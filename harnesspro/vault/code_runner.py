"""Calls an answer's function and writes down what it gave, as plain values. Judges nothing.

A program of its own, run in a fresh sandbox in which no expected value exists: whatever the
answer's code does here, all it can bring about is another list of values. Standard library and
`values`, which lies beside it.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

CPU_S = 5.0
"""Seconds of computing for all calls together; then the kernel ends the process."""


def main() -> None:
    """Read `task.json`, load the answer, call it, write `answer.json`: call -> value."""
    sys.path.insert(0, os.getcwd())
    from values import decode, encode  # type: ignore[import-not-found]

    sys.path.remove(os.getcwd())
    with open("task.json", encoding="utf-8") as file:
        task = json.load(file)
    out = os.open("answer.json", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    quiet()
    signal.setitimer(signal.ITIMER_PROF, CPU_S)
    given: dict[str, Any] = {}
    with any_end():
        function = loaded(task)
        for name, call in task["calls"].items():
            with any_end():
                value = function(*decode(call["args"]), **decode(call["kwargs"]))
                given[name] = {"value": encode(value)}
    write(out, json.dumps(given).encode())


def quiet() -> None:
    """What the answer prints goes nowhere, so that no flood of it ends the start."""
    empty = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(empty, fd)


@contextlib.contextmanager
def any_end() -> Iterator[None]:
    """Whatever the answer raises, an exit too, ends this step alone: a call without a value."""
    try:
        yield
    except BaseException:  # noqa: BLE001 - the answer's code may raise anything
        return


def loaded(task: dict[str, Any]) -> Any:
    """The asked function, after the files are laid out and the module has run."""
    for path, text in task["files"].items():
        place = os.path.join("tree", path)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "x", encoding="utf-8") as file:
            file.write(text)
    sys.path.insert(0, os.path.abspath("tree"))
    module = ModuleType("answer")
    sys.modules["answer"] = module
    for source in (task["preamble"], task["files"][task["module"]]):
        exec(compile(source, task["module"], "exec"), module.__dict__)  # noqa: S102 - the point
    return module.__dict__[task["function"]]


def write(out: int, data: bytes) -> None:
    """All of it."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(out, rest) :]


if __name__ == "__main__":
    main()
