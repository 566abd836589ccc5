"""Grades code: its function is called in a fresh sandbox, and what it gave is compared out here.

Only arguments go in and only plain values come out, so no expected value ever shares an address
space with the answer's code; neither an exit code nor anything printed counts.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from importlib import resources
from typing import Any

from harnesspro.core.errors import HarnessProError
from harnesspro.core.hashing import content_hash
from harnesspro.core.ports import Sandbox, SandboxSpec
from harnesspro.vault.human_eval import values_source
from harnesspro.vault.values import CallTest, all_hold

WALL_S, OUTPUT_BYTES, MEMORY_BYTES, N_PROCESSES = 15.0, 8_000_000, 1_000_000_000, 8
MAX_ANSWER_BYTES = 2_000_000
_MOST_TRIES = 3
_RUNNER = "runner.py"


class CodeGrader:
    """Right or wrong by calls; one sandbox start an answer, the same answer once."""

    def __init__(self, borrow: Callable[[], Sandbox], *, empty_dir: str) -> None:
        """`borrow` gives the sandbox when first needed; `empty_dir` is shown as its code folder."""
        self._borrow, self._empty_dir = borrow, empty_dir
        self._known: dict[str, bool] = {}
        self._files = {
            _RUNNER: resources.files("harnesspro.vault").joinpath("code_runner.py").read_text(),
            "values.py": values_source(),
        }

    def is_right(self, answer: Any, gold: Any) -> bool:
        """Whether every call gives what it should; a missing or unreadable answer does not.

        `answer` is the source text, or for answers of kind files relative path -> text.

        Raises:
            HarnessProError: the sandbox could not be started: no grade, neither right nor wrong.
        """
        test = CallTest.model_validate(gold)
        files = {test.module: answer} if isinstance(answer, str) else answer
        if not _is_tree(files) or test.module not in files:
            return False
        key = content_hash(gold, files)
        if key not in self._known:
            self._known[key] = all_hold(test.all_checks(), self._given(files, test))
        return self._known[key]

    def _given(self, files: Mapping[str, str], test: CallTest) -> Any:
        """What came out of the sandbox as JSON; None where nothing readable did."""
        checks = test.all_checks()
        payload = {
            "files": files,
            "module": test.module,
            "preamble": test.preamble,
            "function": test.function,
            "calls": {name: {"args": c.args, "kwargs": c.kwargs} for name, c in checks.items()},
        }
        for _ in range(_MOST_TRIES):
            result = self._borrow().run(self._spec(json.dumps(payload)))
            if result.ended == "refused":  # before any of the answer's code ran
                continue
            return _parsed(result.result) if result.exit_code == 0 else None
        raise HarnessProError("sandbox", "an answer could not be started to be graded")

    def _spec(self, payload: str) -> SandboxSpec:
        python = os.path.realpath(str(getattr(sys, "_base_executable", "") or sys.executable))
        return SandboxSpec(
            name="grade",
            code_dir=self._empty_dir,
            argv=(python, "-I", "-S", "-B", _RUNNER),
            payload=payload,
            files=self._files,
            broker=False,
            wall_s=WALL_S,
            output_bytes=OUTPUT_BYTES,
            memory_bytes=MEMORY_BYTES,
            n_processes=N_PROCESSES,
        )


def _is_tree(files: Any) -> bool:
    """Relative paths to texts, none of which leads out of its folder, of a bearable size."""
    if not isinstance(files, dict) or not files:
        return False
    for path, text in files.items():
        parts = str(path).split("/")
        if not isinstance(text, str) or {"", ".", ".."} & set(parts) or "\0" in str(path):
            return False
    return sum(len(path) + len(text) for path, text in files.items()) <= MAX_ANSWER_BYTES


def _parsed(data: bytes | None) -> Any:
    try:
        return None if data is None else json.loads(data)
    except (ValueError, RecursionError):
        return None
