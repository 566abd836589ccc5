"""The channels of a run on a terminal: the table, then what the referee they make is worth."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from harnesspro.core.documents import RunDocument
from harnesspro.view import judge
from harnesspro.view.console import fit, head_box, lines_of, listed, plainly, put, section
from harnesspro.view.judge import Cell, ChannelLine

_AS_TABLE, _REASONS_BESIDE = 96, 160
"""From these widths on there is a table, and the reason stands in it."""
NOT_MEASURED = (
    "No channel was measured on probes: that takes a run whose confirm tasks a referee could help, "
    "or --probes N."
)


def print_channels(doc: RunDocument, console: Console) -> None:
    """Every channel measured, heard or not and why; hit rate, tilt and what the run may claim."""
    plainly(console, lambda: _print(doc, console))


def _print(doc: RunDocument, console: Console) -> None:
    console.print()
    lines = judge.channel_lines(doc.referee)
    if not lines:
        put(Text(fit(_why_none(doc), console)), console)
    elif console.width < _AS_TABLE:
        put(listed([(line.name, _in_words(line)) for line in lines], console), console)
    else:
        beside = console.width >= _REASONS_BESIDE
        put(_table(lines, console, beside=beside), console, wide=beside)
        reasons = [(line.name, line.reason) for line in lines]
        section("Why", None if beside else listed(reasons, console), console)
    facts = [*judge.trust_facts(doc.referee), *judge.probe_facts(doc)]
    section("The referee they make", listed(facts, console), console)
    section("What to add", lines_of(doc.referee.advice, console), console)
    section("After the opening", lines_of(judge.opened_facts(doc), console), console)
    console.print()


def _why_none(doc: RunDocument) -> str:
    calibration = doc.referee.calibration
    if calibration is None:
        return NOT_MEASURED
    return f"No channel was measured: {calibration.reason.rstrip('.')}."


def _in_words(line: ChannelLine) -> str:
    """What the table holds, for a terminal that is too narrow for it."""
    if not line.auc.below:
        return judge.heard_words(line)
    numbers = (
        f"Strongest naive rule: {line.naive.below} {line.naive.value}; lead {_flat(line.lead)}; "
        f"silent on {line.silent.value}; pick gain {_flat(line.gain)}."
    )
    return f"{judge.heard_words(line)} {numbers}"


def _flat(cell: Cell) -> str:
    return f"{cell.value} {cell.below}".strip()


def _table(lines: tuple[ChannelLine, ...], console: Console, *, beside: bool) -> Table:
    table = Table(box=head_box(console), show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("channel", overflow="fold")
    for name in ("AUC", "best naive", "lead", "silent", "pick gain"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("heard", no_wrap=True)
    if beside:
        table.add_column("why", ratio=1)
    for line in lines:
        numbers = [line.auc, line.naive, line.lead, line.silent, line.gain]
        style = "green" if line.heard else "yellow"
        table.add_row(
            Text(fit(line.name, console), style="bold" if line.heard else ""),
            *(_number(cell, console) for cell in numbers),
            Text("yes" if line.heard else "no", style=style),
            *([Text(fit(line.reason, console))] if beside else []),
        )
    return table


def _number(cell: Cell, console: Console) -> Text:
    text = Text(fit(cell.value, console))
    if cell.below:
        text.append(f"\n{fit(cell.below, console)}", style="dim")
    return text
