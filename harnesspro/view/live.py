"""Live progress on a terminal, and one plain line now and then where there is none."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from pydantic import JsonValue
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from harnesspro.view import figures
from harnesspro.view.progress import (
    Progress,
    after,
    facts,
    left_words,
    milestone,
    phase_words,
    status_line,
)

_LINE_EVERY_S = 10.0
_REFRESH_PER_S = 4
_BAR_WIDTH = 36


class LiveProgress:
    """`EventSink` for a person. Thread-safe; takes any event; never raises, never answers.

    On a terminal a few lines are redrawn in place from the first event to `run.stopped` or
    `close()`; milestones stay above them. Elsewhere a line is written at each milestone and else
    at most every ten seconds.
    """

    def __init__(self, console: Console, *, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` gives seconds; only differences count."""
        self._console, self._clock = console, clock
        self._lock = threading.Lock()
        self._progress = Progress(started_at=clock())
        self._last_line_at = clock()
        self._live: Live | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def emit(self, event: str, **fields: JsonValue) -> None:
        with self._lock:
            now = self._clock()
            line = milestone(self._progress, event, fields)
            self._progress = after(self._progress, event, fields, now=now)
            try:
                self._show(line, now)
            except (OSError, ValueError):  # the terminal went away; the run goes on
                self._live = None

    def close(self) -> None:
        """Take the live lines away."""
        live, self._live = self._live, None
        if live is not None:
            with contextlib.suppress(OSError, ValueError):  # the terminal went away
                live.stop()

    def _show(self, line: str | None, now: float) -> None:
        if self._console.is_terminal and not self._progress.stopped:
            self._start_live()
        if line is None and not self._console.is_terminal:
            if now - self._last_line_at < _LINE_EVERY_S:
                return
            line = status_line(self._progress, now=now)
        if line is not None:
            self._last_line_at = now
            self._write(line, now)
        if self._progress.stopped:
            self.close()

    def _start_live(self) -> None:
        if self._live is None:
            self._live = Live(
                console=self._console,
                get_renderable=self._render,
                refresh_per_second=_REFRESH_PER_S,
                transient=True,
                redirect_stdout=False,
            )
            self._live.start()

    def _write(self, line: str, now: float) -> None:
        stamp = figures.clock(now - self._progress.started_at)
        shown = f"{stamp}  {line}".encode(self._console.encoding, "backslashreplace")
        text = Text(shown.decode(self._console.encoding))
        text.stylize("dim", 0, len(stamp))
        self._console.print(text, soft_wrap=not self._console.is_terminal)

    def _render(self) -> Group:
        """Called by the refresh thread: reads one frozen state."""
        progress, now = self._progress, self._clock()
        elapsed = figures.clock(now - progress.started_at)
        head = Table.grid(expand=True)
        head.add_column(ratio=1, no_wrap=True)
        head.add_column(justify="right", no_wrap=True)
        head.add_row(
            Text.assemble((progress.harness, "bold"), f"  {phase_words(progress)}"),
            Text(f"{elapsed}, {left_words(progress, now=now)}", style="dim"),
        )
        bar = ProgressBar(
            total=max(1, progress.n_total), completed=progress.n_done, width=_BAR_WIDTH
        )
        line = Table.grid(padding=(0, 2))
        line.add_row(bar, Text(facts(progress)[0]))
        lines: list[RenderableType] = [Text(""), head, line, Text("   ".join(facts(progress)[1:]))]
        if progress.latest:
            lines.append(Text(progress.latest, style="dim", no_wrap=True, overflow="ellipsis"))
        return Group(*lines)
