"""What every page of text on a terminal is made of: safe text, lists, sections, the width."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from harnesspro.view.text import safe_text

INDENT = 2
TEXT_WIDTH = 108
"""Lines longer than this read badly."""
_PLAIN_HEAD = box.Box("    \n    \n -- \n    \n    \n    \n    \n    \n", ascii=True)


def plainly(console: Console, printing: Callable[[], None]) -> None:
    """Print; without a terminal, lines carry no trailing spaces."""
    if console.is_terminal:
        printing()
        return
    with console.capture() as capture:
        printing()
    for line in capture.get().splitlines():
        console.file.write(f"{line.rstrip()}\n")


def text_of(value: str, console: Console, *, style: str = "") -> Text:
    """The value, made safe."""
    return Text(fit(value, console), style=style)


def listed(lines: Iterable[tuple[str, str]], console: Console) -> Table:
    """Names and their texts, one below the other."""
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, style="dim")
    table.add_column(ratio=1, overflow="fold")
    for name, text in lines:
        table.add_row(text_of(name, console), text_of(text, console))
    return table


def section(title: str, body: Table | Text | None, console: Console) -> None:
    """A heading and its body; nothing where there is none."""
    if body is not None:
        console.print()
        put(Text(title, style="bold"), console)
        put(body, console)


def put(body: Table | Text, console: Console, *, wide: bool = False) -> None:
    """The body, indented, no wider than reads well unless it is `wide`."""
    width = console.width if wide else min(console.width, TEXT_WIDTH)
    console.print(Padding(body, (0, 0, 0, INDENT)), width=width)


def head_box(console: Console) -> box.Box:
    """A line below the head of a table, in characters the console has."""
    return box.SIMPLE_HEAD if console.encoding.startswith("utf") else _PLAIN_HEAD


def fit(text: object, console: Console) -> str:
    """The text, made safe, in characters the console can write."""
    shown = safe_text(text)
    return shown.encode(console.encoding, "backslashreplace").decode(console.encoding)


def lines_of(lines: Iterable[str], console: Console) -> Table | None:
    """Sentences one below the other; None where there is none."""
    found = [("-", line) for line in lines]
    return listed(found, console) if found else None
