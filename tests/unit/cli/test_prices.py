"""prices and reprice, on a finished run."""

import json

import pytest
import typer

from harnesspro.cli import prices
from harnesspro.core.errors import ModelUnknown
from tests.unit.cli.runs import BASE, BETTER, finished_run


def run(*arguments: str) -> object:
    app = typer.Typer()
    prices.register(app)
    return app(args=list(arguments), prog_name="harnesspro", standalone_mode=False)


def document(capsys, *arguments):
    run(*arguments, "--json")
    return json.loads(capsys.readouterr().out)


def test_the_table_is_what_a_run_would_freeze(capsys, tmp_path):
    own = tmp_path / "p.yaml"
    own.write_text("acme/m: {in: 1, out: 2, paid: false}\n")
    found = document(capsys, "prices", "sim/small", "acme/m", "--prices", str(own))
    listed, told = found["prices"]
    assert (listed["source"], listed["out_nanos_per_mtok"]) == ("simulator", 400_000_000)
    assert (told["in_nanos_per_mtok"], told["paid"]) == (10**9, False)


def test_a_model_without_a_price_says_how_to_give_it_one():
    with pytest.raises(ModelUnknown, match="--prices"):
        run("prices", "local/nobody")


def test_a_run_is_priced_anew_and_stays_as_it_is(capsys, tmp_path):
    folder = finished_run(tmp_path / "out")
    before = {path: path.read_bytes() for path in folder.rglob("*.json")}
    models = {p["model"] for p in json.loads((folder / "report.json").read_text())["prices"]}
    own = tmp_path / "p.yaml"
    own.write_text("".join(f"{model}: {{in: 1, out: 1}}\n" for model in {*models, "sim/small"}))

    found = document(
        capsys, "reprice", "latest", "--out", str(tmp_path / "out"), "--prices", str(own)
    )

    rows = {row["candidate_id"]: row for row in found["harnesses"]}
    assert set(rows) == {BASE.harness_id, BETTER.harness_id}
    assert all(row["was_usd_per_task"] != row["usd_per_task"] > 0 for row in rows.values())
    assert {path: path.read_bytes() for path in folder.rglob("*.json")} == before
