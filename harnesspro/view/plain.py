"""Eval, diagnosis and plan documents as a person reads them in a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from harnesspro.core.money import format_usd
from harnesspro.core.phrases import percent, points
from harnesspro.view.figures import duration
from harnesspro.view.text import safe_text

Document = Mapping[str, Any]


def print_plain(document: Document, console: Console) -> None:
    """Print whichever of the three this is."""
    printers = {
        "harnesspro/eval@1": print_eval,
        "harnesspro/diagnosis@1": print_diagnosis,
        "harnesspro/plan@1": print_plan,
    }
    printers[document["schema"]](document, console)


def print_eval(document: Document, console: Console) -> None:
    """Score, cost and outcomes of one harness."""
    score, cost = document["score"], document["cost_usd_per_task"]
    console.print(Text(f"{safe_text(document['harness_name'])}: {document['n_tasks']} tasks"))
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    rows = [
        ("score (without gold)", _span(score, "{:.3f}")),
        ("cost per 1,000 tasks", _span(cost, "${:.4f}", scale=1000)),
        ("outcomes", ", ".join(f"{n} {name}" for name, n in document["outcomes"].items())),
        ("isolation", document["levels"]["isolation"]),
    ]
    if document["own_disagreement"] is not None:
        rows.append(("disagrees with itself on", f"{document['own_disagreement']:.1%} of tasks"))
    if document["accuracy"] is not None:
        rows.append(("accuracy (vault opened)", _span(document["accuracy"], "{:.1%}")))
    for name, value in rows:
        table.add_row(name, Text(safe_text(value)))
    console.print(table)
    console.print(Text(f"Next: harnesspro diagnose {document['run_id']}"))


def print_diagnosis(document: Document, console: Console) -> None:
    """Findings, dearest first."""
    n, spent = document["n_trials"], document["spend_usd"]
    per_1000 = 1000 * spent / n if n else 0.0
    console.print(
        Text(
            f"{safe_text(document['harness_name'])}: {n} trials cost {format_usd(spent)} "
            f"({format_usd(per_1000)} per 1,000 tasks)"
        )
    )
    if not document["findings"]:
        console.print("No waste and no loss found by the detectors.")
        return
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("$ per 1,000", justify="right")
    table.add_column("of spend", justify="right")
    table.add_column("lost", justify="right")
    table.add_column("what", overflow="fold")
    for finding in document["findings"]:
        wasted = finding["wasted_usd"]
        table.add_row(
            format_usd(1000 * wasted / n if n else 0.0),
            f"{100 * wasted / spent:.0f} %" if spent else "–",
            f"{100 * finding['lost_success']:.0f} %" if finding["lost_success"] else "–",
            Text(safe_text(f"{finding['pattern']}. {finding['advice']}")),
        )
    console.print(table)
    console.print(Text(f"Next: harnesspro improve {safe_text(document['harness'])}"))


def print_plan(document: Document, console: Console) -> None:
    """Trials × seconds × dollars, before any of them."""
    trials = document["trials"]
    console.print(
        Text(
            f"{safe_text(document['harness_name'])}: {document['n_search']} search and "
            f"{document['n_confirm']} confirm tasks, up to {document['max_candidates']} candidates "
            f"in {document['n_rounds']} rounds, up to {document['max_picks']} picks"
        )
    )
    console.print(
        f"Trials: {trials['low']} at least, {trials['expected']} expected, {trials['high']} at most"
    )
    if document["channels"]:
        heard = ", ".join(document["channels"])
        console.print(Text(safe_text(f"Asked where answers differ: {heard}")))
    measured = document["measured"]
    if measured is None:
        console.print(
            Text(
                f"At the very most {format_usd(document['most_usd'])} and "
                f"{duration(document['most_s'])} (every trial at its limits). "
                "No earlier run of this harness here to say what a trial really takes."
            )
        )
    else:
        console.print(
            Text(
                f"By run {measured['run_id']} ({format_usd(measured['usd_per_trial'])} and "
                f"{measured['s_per_trial']:.1f} s a trial): "
                f"{format_usd(measured['usd_low'])} at least, "
                f"{format_usd(measured['usd_expected'])} expected, "
                f"{format_usd(measured['usd_high'])} at most, as if no variant were cheaper; "
                f"{measured['s_low'] / 60:.0f} to {measured['s_high'] / 60:.0f} minutes"
            )
        )
    for price in document["prices"]:
        console.print(Text(_price_line(price)))
    for line in reach_lines(document["reach"]):
        console.print(Text(line))


def _price_line(price: Document) -> str:
    """The price that all of it rests on."""
    cells = [(price["in_nanos_per_mtok"], "in"), (price["out_nanos_per_mtok"], "out")]
    told = ", ".join(f"{format_usd(nanos / 1e9)} {name}" for nanos, name in cells)
    billed = "" if price["paid"] else "; no bill arrives"
    return (
        f"{safe_text(price['model'])}: {told} for a million tokens ({safe_text(price['source'])})"
        f"{billed}"
    )


def reach_lines(reach: Document) -> tuple[str, ...]:
    """What the confirm tasks can show at the run's margin, by agreement and by a trusted referee."""
    n, margin = reach["n"], points(reach["eps"])
    most = reach["most_changed"]
    if most is None:
        agreement = (
            f"nothing (from {reach['fewest_by_agreement']} tasks on a change that alters none)"
        )
    else:
        agreement = f"a change that alters {f'at most {most}' if most else 'none'} of the answers"
    chance = percent(reach["chance_by_referee"])
    fewest = reach["fewest_by_referee"]
    even = f"; one in two from {fewest} tasks on" if fewest is not None and fewest > n else ""
    return (
        f"At a margin of {margin}, {n} confirm tasks can accept by agreement: {agreement}",
        f"With a trusted referee (right on 90 of 100 pairs) an equally good change of 5 % of the "
        f"answers is accepted with a chance of {chance}{even}",
    )


def _span(estimate: Document, form: str, *, scale: float = 1.0) -> str:
    values = [form.format(scale * estimate[key]) for key in ("mean", "low", "high")]
    return f"{values[0]} [{values[1]}, {values[2]}]"
