"""Where the verbs write: data to stdout, words for whoever sits there to stderr."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harnesspro.core.errors import ConfigError
from harnesspro.view.text import safe_text


def say(line: str) -> None:
    """A line for the person at the terminal; nothing in it can steer it."""
    sys.stderr.write(f"{safe_text(line)}\n")
    sys.stderr.flush()


def put(text: str) -> None:
    """A text and its line break to stdout; what its encoding has no character for is escaped."""
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(f"{text}\n".encode(encoding, "backslashreplace").decode(encoding))
    sys.stdout.flush()


def put_json(document: Any) -> None:
    """One JSON document to stdout, in ASCII: valid whatever the encoding is."""
    put(json.dumps(document))


@contextlib.contextmanager
def event_lines(path: str | None) -> Iterator[int | None]:
    """A descriptor that appends to a file, made 0600 where there is none; None where no file was named.

    Raises:
        ConfigError: it cannot be written.
    """
    if path is None:
        yield None
        return
    target = Path(path).expanduser()
    try:
        fd = os.open(target, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise ConfigError(
            f"--events {target}", f"cannot be written: {error.strerror}", fix="name another FILE"
        ) from error
    try:
        yield fd
    finally:
        os.close(fd)
