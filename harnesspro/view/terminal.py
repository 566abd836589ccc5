"""A run document on a terminal: what was saved and how sure, the table, the money, what is next."""

from __future__ import annotations

import shlex

from rich.console import Console
from rich.table import Table
from rich.text import Text

from harnesspro.core.documents import RunDocument
from harnesspro.core.phrases import own_noise
from harnesspro.view import figures, judge, sentences
from harnesspro.view.console import (
    INDENT,
    fit,
    head_box,
    lines_of,
    listed,
    plainly,
    put,
    section,
    text_of,
)
from harnesspro.view.plot import MIN_WIDTH, scatter
from harnesspro.view.rows import Row, rows
from harnesspro.view.text import safe_text

_WIDE = 106
_PLOT_WIDTH = 72
_N_OTHERS = 8
_N_FINDINGS = 6
_VERDICT_STYLES = {
    "accepted": "green",
    "rejected": "red",
    "inconclusive": "yellow",
    "observed": "dim",
    "baseline": "dim",
}
_TONE_STYLES = {"accepted": "bold green", "open": "bold yellow", "nothing": "bold"}


def print_document(
    doc: RunDocument,
    console: Console,
    *,
    report: str | None = None,
    out: str | None = None,
    note: str = "",
) -> None:
    """The summary a person reads; `note` says what of the run is shown, where that is not all.

    `report` is where the page lies, if it does; `out` the folder of runs, where it is not the
    default. Without a terminal, lines carry no trailing spaces.
    """
    plainly(console, lambda: _print(doc, console, report=report, out=out, note=note))


def _print(
    doc: RunDocument, console: Console, *, report: str | None, out: str | None, note: str
) -> None:
    table_rows = _shown(rows(doc))
    _headline(doc, console, note=note)
    put(_table(doc, table_rows, console), console)
    _plot(table_rows, console)
    section("What changed", _changes(table_rows, console), console)
    section("Verdicts", _verdicts(doc, console), console)
    section("Waste for 1,000 tasks, and its share of the cost", _findings(doc, console), console)
    section("What this run cost", text_of(" ".join(sentences.spend_words(doc)), console), console)
    section("The referee", _referee(doc, console), console)
    section("What to add", lines_of(doc.referee.advice, console), console)
    section("Control", lines_of(judge.control_facts(doc), console), console)
    section("After the opening", lines_of(judge.opened_facts(doc), console), console)
    section("How far to trust it", _trust(doc, console), console)
    _next(doc, console, report=report, out=out)
    console.print()


def _shown(all_rows: tuple[Row, ...]) -> list[Row]:
    others = [row for row in all_rows if row.kind == "other"]
    return [row for row in all_rows if row.kind != "other"] + others[:_N_OTHERS]


def _headline(doc: RunDocument, console: Console, *, note: str) -> None:
    head = sentences.headline(doc)
    models = ", ".join(f"{role}: {model}" for role, model in sorted(doc.models.items()))
    console.print()
    if note:
        put(text_of(note, console, style="bold"), console)
    put(text_of(head.claim, console, style=_TONE_STYLES[head.tone]), console)
    put(text_of(head.support, console), console)
    put(text_of(f"{doc.harness}  {doc.run_id}  {models}", console, style="dim"), console)
    console.print()


def _table(doc: RunDocument, table_rows: list[Row], console: Console) -> Table:
    wide = console.width >= _WIDE
    table = Table(box=head_box(console), show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("", no_wrap=True)
    table.add_column("harness", no_wrap=True)
    for name in ("$ per 1,000", "vs base", "score", "changed"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    if wide:
        table.add_column("right answers", justify="right", no_wrap=True)
        table.add_column("seconds", justify="right", no_wrap=True)
    places = figures.usd_decimals(*(row.cost_per_1000.mean for row in table_rows))
    for row in table_rows:
        cells = [*_names(row, wide=wide), *_numbers(doc, row, decimals=places)]
        table.add_row(*cells, *(_wide_cells(row) if wide else ()))
    return table


def _names(row: Row, *, wide: bool) -> list[Text]:
    strong = _strength(row)
    return [
        Text(row.letter, style=strong),
        _two(safe_text(row.short_id), _picks(row)[:1] if wide else (), strong),
    ]


def _strength(row: Row) -> str:
    return "bold" if row.kind == "front" else ""


def _numbers(doc: RunDocument, row: Row, *, decimals: int) -> list[Text]:
    strong, base = _strength(row), row.kind == "baseline"
    word = sentences.verdict_word(row)
    stamp = row.stamp if row.verdict is not None else f"best of {sentences.n_compared(doc)}"
    cost = figures.usd(row.cost_per_1000.mean, decimals=decimals)
    return [
        _two(cost, (figures.usd_interval(row.cost_per_1000, decimals=decimals),), strong),
        Text("" if base else figures.change(row.change), style=strong),
        _two(figures.score(row.score.mean), (figures.score_interval(row.score),), strong),
        _changed(doc, row),
        Text("") if base else _two(word, (stamp,), _VERDICT_STYLES[word]),
    ]


def _changed(doc: RunDocument, row: Row) -> Text:
    """Changed answers with their bound; of the baseline, how often it disagrees with itself."""
    if row.answers_changed is not None:
        bound = f"<= {figures.percent(row.answers_changed.high)}"
        return _two(figures.count_changed(row.answers_changed), (bound,), "")
    own = sentences.own_disagreement(doc)
    return Text("") if own is None else _two(figures.percent(own), ("itself",), "")


def _wide_cells(row: Row) -> list[Text]:
    right = Text("")
    if row.accuracy is not None:
        right = _two(
            f"{row.n_right} of {row.accuracy.n}", (figures.percent_interval(row.accuracy),), ""
        )
    return [right, Text(f"{row.latency_s.mean:.1f}")]


def _picks(row: Row) -> tuple[str, ...]:
    return tuple(pick.replace("_", " ") for pick in row.picks)


def _two(first: str, below: tuple[str, ...], style: str) -> Text:
    text = Text(first, style=style)
    for line in below:
        text.append(f"\n{line}", style="dim not bold")
    return text


def _plot(table_rows: list[Row], console: Console) -> None:
    if len(table_rows) < 2 or console.width < MIN_WIDTH + 2 * INDENT:
        return
    width = min(_PLOT_WIDTH, console.width - 2 * INDENT)
    console.print()
    put(Text("score, against dollars for 1,000 tasks", style="dim"), console)
    styles = {row.letter: "bold" if row.kind == "front" else "" for row in table_rows}
    for line in scatter(table_rows, width=width):
        text = Text(line, style="dim")
        for place, char in enumerate(line):
            if char in styles and char.isalpha():
                text.stylize(f"not dim {styles[char]}", place, place + 1)
        put(text, console)


def _changes(table_rows: list[Row], console: Console) -> Table | None:
    lines = [(row.letter, _change(row, wide=console.width >= _WIDE)) for row in table_rows[1:]]
    return listed(lines, console) if lines else None


def _change(row: Row, *, wide: bool) -> str:
    notes = [] if wide else [*_picks(row), f"{figures.seconds(row.latency_s.mean)} a task"]
    if row.p_on_front is not None:
        notes.append(f"on the front with {figures.percent(row.p_on_front)}")
    if row.accuracy is not None and not wide:
        notes.append(f"{row.n_right} of {row.accuracy.n} right")
    shown = sentences.sentence(row.summary)
    return f"{shown} ({', '.join(notes)})" if notes else shown


def _verdicts(doc: RunDocument, console: Console) -> Table | None:
    names = {row.candidate_id: row for row in rows(doc)}
    lines = []
    for verdict in doc.verdicts:
        row = names.get(verdict.candidate_id)
        letter = row.letter if row else "?"
        word = sentences.VERDICT_WORDS[verdict.kind]
        said = sentences.verdict_sentences(verdict)
        lines.append((letter, f"{word.capitalize()}. {said}"))
    return listed(lines, console) if lines else None


def _findings(doc: RunDocument, console: Console) -> Table | None:
    found = [each for each in sentences.wastes(doc) if each.usd_per_1000 or each.lost_success]
    if not found:
        return None
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(justify="right", no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(ratio=1)
    places = figures.usd_decimals(*(each.usd_per_1000 for each in found))
    for each in found[:_N_FINDINGS]:
        share = figures.percent(each.share) if each.share is not None else ""
        lost = f"; {figures.percent(each.lost_success)} of trials lost" if each.lost_success else ""
        table.add_row(
            Text(figures.usd(each.usd_per_1000, decimals=places), style="bold"),
            Text(share, style="dim"),
            Text(fit(f"{each.pattern} ({each.part}){lost}", console)),
        )
    n_more = len(found) - _N_FINDINGS
    if n_more > 0:
        table.add_row("", "", Text(f"and {n_more} more", style="dim"))
    return table


def _referee(doc: RunDocument, console: Console) -> Table:
    """Trusted or not, how it was measured, and each channel in a line."""
    lines = [*judge.trust_facts(doc.referee), *judge.probe_facts(doc)]
    lines += [(line.name, judge.heard_words(line)) for line in judge.channel_lines(doc.referee)]
    return listed(lines, console)


def _trust(doc: RunDocument, console: Console) -> Table:
    isolation, firewall = sentences.level_words(doc)
    return listed(
        [
            ("tasks", sentences.power_words(doc)),
            ("noise", sentences.sentence(own_noise(sentences.own_disagreement(doc)))),
            *([("models", told)] if (told := sentences.model_words(doc)) else []),
            ("isolation", isolation),
            ("firewall", firewall),
            ("answers", sentences.firewall_words(doc)),
            ("ended", f"{doc.stop.reason}: {doc.stop.detail}, {figures.duration(doc.elapsed_s)}"),
        ],
        console,
    )


def _next(doc: RunDocument, console: Console, *, report: str | None, out: str | None) -> None:
    """Commands to copy: never folded by us."""
    where = f" --out {shlex.quote(out)}" if out else ""
    name, lines = doc.harness_name, []
    lead = sentences.lead_row(doc)
    if lead is not None:
        target = shlex.quote(f"{name}-{lead.short_id}")
        lines.append(f"harnesspro export {doc.run_id} {lead.short_id} --to {target}{where}")
        lines.append(f"harnesspro diff {doc.run_id} baseline {lead.short_id}{where}")
    if doc.referee.channels:
        lines.append(f"harnesspro channels {doc.run_id}{where}")
    lines.append(f"harnesspro view {doc.run_id} --html {shlex.quote(f'{name}.html')}{where}")
    console.print()
    put(Text("Next", style="bold"), console)
    for line in lines:
        console.print(Text(f"{' ' * INDENT}{fit(line, console)}"), soft_wrap=True)
    if report is not None:
        line = f"{' ' * INDENT}The report lies at {fit(report, console)}"
        console.print(Text(line, style="dim"), soft_wrap=True)
