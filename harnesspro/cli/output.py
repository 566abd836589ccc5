"""Where the verbs write: data to stdout, words for whoever sits there to stderr."""

from __future__ import annotations

import json
import sys
from typing import Any

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
