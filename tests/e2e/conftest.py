"""The command line as a user runs it, in a folder and home of its own, on the simulator."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """The one JSON document on stdout."""
        return dict(json.loads(self.out))


@dataclass(frozen=True)
class Terminal:
    """A user's shell: a working folder, a home, no key."""

    home: Path

    @property
    def env(self) -> dict[str, str]:
        """Nothing of the tester's own but the way to the programs."""
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "OPENBLAS_NUM_THREADS": "1",
            **{k: v for k, v in os.environ.items() if k.startswith("OPENBLAS_CORETYPE")},
        }

    def command(self, *arguments: str) -> list[str]:
        """The command as a list."""
        return [sys.executable, "-m", "harnesspro", *arguments]

    def run(self, *arguments: str, timeout: float = 200) -> Ended:
        """Run to the end."""
        done = subprocess.run(
            self.command(*arguments),
            cwd=self.home,
            env=self.env,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        return Ended(done.returncode, done.stdout, done.stderr)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start and leave running, in a session of its own as a terminal would."""
        return subprocess.Popen(
            self.command(*arguments),
            cwd=self.home,
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def runs(self) -> list[Path]:
        """Run folders, oldest first."""
        return sorted((self.home / ".harnesspro" / "runs").glob("*"))


@pytest.fixture
def terminal(tmp_path: Path) -> Terminal:
    """A fresh user."""
    return Terminal(tmp_path)
