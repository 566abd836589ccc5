"""One start as it came over the socket: every value of its type and in its range, or refused.

Standard library only.
"""

from __future__ import annotations

import json
import math
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

OPEN_FILES = 1024
TEXTS = ("name", "code_dir", "payload")
RANGES: dict[str, tuple[float, float]] = {
    "wall_s": (0.001, 1e6),
    "cpu_s": (0.001, 1e9),
    "output_bytes": (0, 40_000_000),
    "memory_bytes": (1 << 20, 1 << 50),
    "n_processes": (1, 30_000),
    "disk_bytes": (1 << 12, 1 << 40),
    "n_files": (2, 10_000_000),
}
"""Least and most; all but seconds are whole numbers."""
FIELDS = {*TEXTS, *RANGES, "argv", "files", "env", "broker"}


class Malformed(Exception):
    """What came is no start spec."""


class Start:
    """A start spec. `cpu_s` bounds the processor seconds of all its processes together."""

    def __init__(self, spec: object) -> None:
        """Read the spec.

        Raises:
            Malformed: it is not one; the message names the field.
        """
        fields = _fields(spec)
        self.name, self.code_dir, self.payload = (_text(name, fields[name]) for name in TEXTS)
        self.argv = None if fields["argv"] is None else _words("argv", fields["argv"])
        self.files, self.env = _texts("files", fields["files"]), _texts("env", fields["env"])
        self.broker = _flag("broker", fields["broker"])
        self.wall_s = _number("wall_s", fields["wall_s"])
        self.cpu_s = self.wall_s * (os.cpu_count() or 1) + 10
        if fields["cpu_s"] is not None:
            self.cpu_s = _number("cpu_s", fields["cpu_s"])
        self.output_bytes, self.memory_bytes, self.n_processes, self.disk_bytes, self.n_files = (
            int(_number(name, fields[name])) for name in list(RANGES)[2:]
        )
        self._value = _json(self.payload)

    def limits(self) -> dict[str, int]:
        """Limits of each process. The memory limit is of what it may write, not of addresses it
        reserves: interpreters reserve gigabytes they never touch.
        """
        return {
            "RLIMIT_DATA": self.memory_bytes,
            "RLIMIT_CPU": math.ceil(self.cpu_s) + 1,
            "RLIMIT_FSIZE": self.disk_bytes,
            "RLIMIT_NOFILE": OPEN_FILES,
            "RLIMIT_CORE": 0,
        }

    def task(self, broker: str) -> str:
        """The payload with the broker's socket as it is seen from inside, empty where not shown."""
        value = self._value
        if isinstance(value, dict):
            value = {**value, "broker": broker if self.broker else ""}
        return json.dumps(value)


def _fields(spec: object) -> Mapping[str, Any]:
    if not isinstance(spec, dict):
        raise Malformed(f"spec: {type(spec).__name__}, expected an object")
    if spec.keys() != FIELDS:
        odd = sorted(map(str, spec.keys() ^ FIELDS))
        raise Malformed(f"spec: {', '.join(odd)[:200]}: missing or unknown")
    return spec


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise Malformed(f"{name}: {type(value).__name__}, expected text")
    return value


def _flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise Malformed(f"{name}: {type(value).__name__}, expected true or false")
    return value


def _words(name: str, value: object) -> list[str]:
    if not isinstance(value, list) or not value:
        raise Malformed(f"{name}: {type(value).__name__}, expected a command as a list")
    words = [_text(name, word) for word in value]
    if any("\0" in word for word in words):
        raise Malformed(f"{name}: a NUL in a word of the command")
    return words


def _texts(name: str, value: object) -> dict[str, str]:
    if not isinstance(value, dict):
        raise Malformed(f"{name}: {type(value).__name__}, expected an object of texts")
    return {_text(name, key): _text(name, text) for key, text in value.items()}


def _number(name: str, value: object) -> float:
    least, most = RANGES[name]
    kinds = (int, float) if name.endswith("_s") else (int,)
    if type(value) not in kinds or not least <= value <= most:  # type: ignore[operator]
        raise Malformed(f"{name}: {value!r:.40}, expected a number from {least:g} to {most:g}")
    return value  # type: ignore[return-value]


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Malformed(f"payload: no JSON ({error})") from error
