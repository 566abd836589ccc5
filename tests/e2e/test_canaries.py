"""A piece of the vault found in a run voids it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.e2e.conftest import ROOT, Terminal

pytestmark = pytest.mark.timeout(300)
SMALL = ("--n-search", "8", "--n-confirm", "8", "--max-candidates", "1", "--rounds", "1", "-q")


def canary(home: Path) -> str:
    (gold,) = (home / ".local/share/harnesspro/vault").glob("set-*/gold.jsonl")
    return str(json.loads(gold.read_text().split("\n")[0])["canary"])


def test_a_run_with_a_canary_in_a_prompt_has_no_report_and_does_not_stand(
    tmp_path: Path,
) -> None:
    terminal = Terminal(tmp_path)
    clean = terminal.run("improve", "builtin:planted", *SMALL)
    assert clean.code in (0, 5), clean.err
    leaky = tmp_path / "leaky"
    shutil.copytree(ROOT / "harnesses" / "planted", leaky)
    prompt = sorted((leaky / "prompts").iterdir())[0]
    prompt.write_text(f"{prompt.read_text()}\nThe sheet says {canary(tmp_path)[::-1]}.\n")
    void = terminal.run("improve", str(leaky), *SMALL)
    assert void.code == 1
    assert "the run is void" in void.err
    run = terminal.runs()[-1]
    assert not (run / "report.json").exists()
    audited = terminal.run("audit", "--json")
    assert audited.code == 1
    assert audited.document["canary_hits"] > 0
    assert audited.document["checks"]["report"][0].endswith("the run is void")
