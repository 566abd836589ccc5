"""channels: the run's referee from its report, as a table and as a document."""

from __future__ import annotations

import json

import pytest
import typer

from harnesspro.cli import channels
from harnesspro.core.errors import ConfigError, UsageError
from harnesspro.store.runs import write_json
from tests.unit.view.documents import ADVICE, CALIBRATION, bare_document, judged_document

RUN_ID = "20261130-214611-7f3a"


@pytest.fixture
def out(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path / ".harnesspro"


def keep(out, document):
    folder = out / "runs" / RUN_ID
    folder.mkdir(parents=True)
    write_json(folder / "report.json", document.model_dump(mode="json", by_alias=True))


def run(*arguments):
    app = typer.Typer()
    channels.register(app)
    return app(args=list(arguments), prog_name="harnesspro", standalone_mode=False)


def test_the_table_is_of_the_latest_run(capsys, out):
    keep(out, judged_document())
    assert run() == 0
    text = capsys.readouterr().out
    assert "judge:sim/judge          0.55        0.61" in text
    assert "Trusted, so it may vouch for changed answers." in text


def test_the_document_holds_all_that_was_measured(capsys, out):
    doc = judged_document()
    keep(out, doc)
    assert run(RUN_ID, "--json") == 0
    value = json.loads(capsys.readouterr().out)
    calibration = CALIBRATION.model_dump(mode="json")
    assert value == {
        "schema": "harnesspro/channels@1",
        "run_id": RUN_ID,
        "harness_name": "toolcaller",
        "hash": doc.referee.hash,
        "trusted": True,
        "reason": doc.referee.reason,
        "channels": [one.model_dump(mode="json") for one in doc.referee.channels],
        "hit_rate": calibration["hit_rate"],
        "tilt": calibration["tilt"],
        "calibration": calibration,
        "checks": [one.model_dump(mode="json") for one in doc.referee.checks],
        "advice": list(ADVICE),
        "sealed": doc.sealed.model_dump(mode="json") if doc.sealed else {},
    }


def test_a_run_that_measured_none_says_why(capsys, out):
    keep(out, bare_document())
    assert run("latest", "--json") == 0
    value = json.loads(capsys.readouterr().out)
    assert (value["channels"], value["hit_rate"], value["tilt"]) == ([], None, None)
    assert (value["trusted"], value["reason"], value["sealed"]) == (False, "no checks", None)
    assert run() == 0
    assert "No channel was measured on probes" in capsys.readouterr().out


def test_a_run_without_a_report_or_no_run_is_said_to_be_so(out):
    with pytest.raises(UsageError, match="start one with: harnesspro improve"):
        run("latest", "--out", str(out))
    keep(out, bare_document())
    (out / "runs" / RUN_ID / "run.json").write_text("{}")
    (out / "runs" / RUN_ID / "report.json").unlink()
    with pytest.raises(ConfigError, match=f"no report yet.*--resume {RUN_ID}"):
        run(RUN_ID)
