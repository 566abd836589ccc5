"""From the command line to a referee that is trusted and accepts changed answers, and to one that is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.conftest import Terminal

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]
SIZE = (
    "--seed",
    "1",
    "--n-search",
    "48",
    "--n-confirm",
    "300",
    "--rounds",
    "3",
    "--max-candidates",
    "12",
)


def run_with(judge: str, folder: Path):
    """The document of a run whose changed answers are scored by a simulated judge."""
    channel = ("--channel", f"judge=sim/{judge}", "--probes", "800")
    ended = Terminal(folder).run(
        "improve", "builtin:planted", *SIZE, *channel, "--json", "-q", timeout=1100
    )
    assert ended.code == 0, ended.err
    return ended.document


def test_a_judge_that_is_right_on_nine_of_ten_leads_to_a_trusted_referee_and_changed_answers_accepted(
    tmp_path: Path,
) -> None:
    document = run_with("judge", tmp_path)
    referee = document["referee"]
    assert referee["trusted"]
    assert referee["discordant_hit_rate"]["low"] >= 0.75
    assert referee["discordant_hit_rate"]["n"] >= 100
    base = document["baseline"]["accuracy"]["mean"]
    accepted = [point for point in document["front"] if point["verdict"] == "accept"]
    assert any(point["answers_changed"]["mean"] > 0.05 for point in accepted)
    assert all(point["accuracy"]["mean"] >= base - 0.03 for point in accepted)


def test_a_judge_that_is_right_on_seven_of_ten_is_not_trusted(tmp_path: Path) -> None:
    document = run_with("judge-70", tmp_path)
    assert not document["referee"]["trusted"]
    accepted = [point for point in document["front"] if point["verdict"] == "accept"]
    assert all(point["answers_changed"]["high"] <= 0.05 for point in accepted)
