"""The verbs of the price table: prices, reprice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from harnesspro.cli.looking import JSON, OUT, RUN
from harnesspro.cli.output import put, put_json
from harnesspro.cli.running import PRICES
from harnesspro.core.errors import UsageError

if TYPE_CHECKING:
    from harnesspro.cli.found import FoundRun
    from harnesspro.core.records import Price, Trial
    from harnesspro.core.reprice import Repriced

MODELS = typer.Argument(..., help="Names of models, e.g. openai/gpt-5-mini.")
_SEARCH, _CONFIRM = "search/0", "confirm/0"


def register(app: typer.Typer) -> None:
    """Add the verbs."""
    app.command("prices")(list_prices)
    app.command("reprice")(reprice)


def list_prices(
    models: list[str] = MODELS, prices: str | None = PRICES, as_json: bool = JSON
) -> int:
    """The price table as a run would freeze it now."""
    from harnesspro.cli.prepare import known_price

    own = _own(prices)
    table = [known_price(model, own) for model in models]
    if as_json:
        rows = [price.model_dump(mode="json") for price in table]
        put_json({"schema": "harnesspro/prices@1", "prices": rows})
    else:
        put("\n".join(_price_lines(table)))
    return 0


def reprice(
    run: str = RUN, prices: str | None = PRICES, as_json: bool = JSON, out: str | None = OUT
) -> int:
    """What the harnesses of a run would cost under other prices; the run stays as it is."""
    from harnesspro.cli.found import found_run
    from harnesspro.cli.prepare import known_price
    from harnesspro.core.reprice import on_front

    own = _own(prices)
    with found_run(run, out=out) as found:
        report = found.document()
        models = dict.fromkeys((*(price.model for price in report.prices), *own))
        table = {model: known_price(model, own) for model in models}
        rows = _rows(found, table)
    points = (report.baseline, *report.candidates)
    score = {point.candidate_id: point.score.mean for point in points}
    then = on_front({row.candidate_id: (score.get(row.candidate_id), row.was_usd) for row in rows})
    now = on_front({row.candidate_id: (score.get(row.candidate_id), row.is_usd) for row in rows})
    document = {
        "schema": "harnesspro/reprice@1",
        "run_id": found.run_id,
        "prices": [price.model_dump(mode="json") for price in table.values()],
        "harnesses": [
            {
                "candidate_id": row.candidate_id,
                "n": row.n,
                "was_usd_per_task": row.was_usd,
                "usd_per_task": row.is_usd,
                "was_on_front": row.candidate_id in then,
                "on_front": row.candidate_id in now,
            }
            for row in rows
        ],
    }
    if as_json:
        put_json(document)
    else:
        put("\n".join(_reprice_lines(document)))
    return 0


def _own(path: str | None) -> Mapping[str, Price]:
    from harnesspro.formats.prices import read_prices

    return read_prices(Path(path).expanduser()) if path else {}


def _rows(found: FoundRun, table: Mapping[str, Price]) -> list[Repriced]:
    """Each harness on the confirm tasks where it was confirmed, else on the search tasks."""
    from harnesspro.core.records import Trial
    from harnesspro.core.reprice import repriced, trial_cost

    by_harness: dict[str, list[Trial]] = {}
    for _, value in found.ledger.all("trial"):
        trial = Trial.model_validate(value)
        if trial.draw in (_SEARCH, _CONFIRM) and trial.harness_id in found.candidates:
            by_harness.setdefault(trial.harness_id, []).append(trial)
    if not by_harness:
        raise UsageError(found.run_id, "no trial on record yet", fix="wait for the first ones")
    return [
        repriced(
            candidate_id,
            [
                (trial.cost_nanos, trial_cost(found.ledger.steps(trial.trial_id), table))
                for trial in _latest_phase(by_harness[candidate_id])
            ],
        )
        for candidate_id in found.candidates
        if candidate_id in by_harness
    ]


def _latest_phase(trials: Sequence[Trial]) -> list[Trial]:
    confirmed = [trial for trial in trials if trial.draw == _CONFIRM]
    return confirmed or list(trials)


def _price_lines(table: Sequence[Price]) -> list[str]:
    from harnesspro.view.text import safe_text

    head = (
        f"{'$ for a million tokens':32}{'in':>9}{'cached':>9}{'written':>9}{'out':>9}{'thought':>9}"
    )
    lines = [head]
    for price in table:
        thought = price.reasoning_nanos_per_mtok
        nanos = (
            price.in_nanos_per_mtok,
            price.cache_read_nanos_per_mtok,
            price.cache_write_nanos_per_mtok,
            price.out_nanos_per_mtok,
            price.out_nanos_per_mtok if thought is None else thought,
        )
        cells = "".join(f"{each / 1e9:9.4g}" for each in nanos)
        billed = "" if price.paid else "; attributed, no bill arrives"
        lines += [f"{safe_text(price.model):32}{cells}", f"  {safe_text(price.source)}{billed}"]
    return lines


def _reprice_lines(document: Mapping[str, Any]) -> list[str]:
    rows = document["harnesses"]
    base = rows[0]
    lines = [f"{'$ for 1,000 tasks':20}{'was':>10}{'now':>10}{'vs base, was':>14}{'now':>8}  front"]
    for row in rows:
        was, now = 1000 * row["was_usd_per_task"], 1000 * row["usd_per_task"]
        name = "baseline" if row is base else row["candidate_id"]
        lines.append(
            f"{name:20}{was:10.4g}{now:10.4g}"
            f"{_against(row, base, 'was_usd_per_task'):>14}{_against(row, base, 'usd_per_task'):>8}"
            f"  {_front_word(row)}"
        )
    return lines


def _against(row: Mapping[str, Any], base: Mapping[str, Any], key: str) -> str:
    return "" if row is base or not base[key] else f"{100 * (row[key] / base[key] - 1):+.0f} %"


def _front_word(row: Mapping[str, Any]) -> str:
    word = {
        (True, True): "stays",
        (True, False): "leaves it",
        (False, True): "joins it",
        (False, False): "",
    }
    return word[row["was_on_front"], row["on_front"]]
