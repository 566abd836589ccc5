"""Events as JSON Lines for programs: one object a line, flushed as it comes.

Each has `schema` (`harnesspro/event@1`), `at` (UTC), `run_id` and `event`; the rest is the event's own:
`run.started, phase, trials.planned, trial.done, finding, refused, candidate, race.dropped, front, spend,
alarm, paused, verdict, run.stopped`. Ids and numbers, and texts with secrets taken out.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, TextIO

from pydantic import JsonValue

from harnesspro.core.ports import EventSink

SCHEMA = "harnesspro/event@1"


class EventLines:
    """An `EventSink` that writes to an open file. Thread-safe; a full disk ends the writing, not the run."""

    def __init__(
        self,
        stream: TextIO,
        run_id: str,
        *,
        redact: Callable[[Any], Any],
        lost: Callable[[str], object],
    ) -> None:
        """`lost` is told once why no more is written."""
        self._stream: TextIO | None = stream
        self._run_id, self._redact, self._lost = run_id, redact, lost
        self._lock = threading.Lock()

    def emit(self, event: str, **fields: JsonValue) -> None:
        """See the port."""
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        document = {"schema": SCHEMA, "at": at, "run_id": self._run_id, "event": event, **fields}
        line = json.dumps(self._redact(document)) + "\n"
        with self._lock:
            if self._stream is None:
                return
            try:
                self._stream.write(line)
                self._stream.flush()
            except (OSError, ValueError) as error:
                self._stream = None
                self._lost(f"events are no longer written: {error}")


class Both:
    """An `EventSink` that tells several."""

    def __init__(self, sinks: Sequence[EventSink]) -> None:
        """In this order."""
        self._sinks = tuple(sinks)

    def emit(self, event: str, **fields: JsonValue) -> None:
        """See the port."""
        for sink in self._sinks:
            sink.emit(event, **fields)
