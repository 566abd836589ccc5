"""The table of channels on a terminal."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from harnesspro.core.documents import RunDocument
from harnesspro.view.channels import print_channels
from tests.unit.view.documents import CALIBRATION, CHECKS, bare_document, judged_document


def printed(doc: RunDocument, width: int) -> list[str]:
    out = io.StringIO()
    print_channels(doc, Console(file=out, width=width))
    return out.getvalue().splitlines()


@pytest.mark.parametrize("width", [80, 110, 170])
@pytest.mark.parametrize("doc", [judged_document(), bare_document()], ids=["judged", "bare"])
def test_nothing_is_wider_than_the_terminal_or_cut(doc: RunDocument, width: int) -> None:
    lines = printed(doc, width)
    assert max(map(len, lines)) <= width
    assert not [line for line in lines if "…" in line or line != line.rstrip()]


def test_the_table_reads_as_intended() -> None:
    lines = printed(judged_document(), 100)
    assert [lines[1], *lines[3:6]] == [
        "  channel                   AUC  best naive            lead  silent       pick gain  heard",
        "  checks                   0.81        0.61           +0.20    22 %           +0.14  yes",
        "                   [0.72, 0.89]    shortest  [+0.08, +0.31]          [+0.05, +0.23]",
        "  judge:sim/judge          0.55        0.61           -0.06     0 %           +0.01  no",
    ]


def test_a_narrow_terminal_gets_the_same_numbers_in_words() -> None:
    text = " ".join(" ".join(printed(judged_document(), 80)).split())
    assert (
        "checks Heard. AUC 0.81 [0.72, 0.89]. Beats taking the shortest answer by 20 points (at least "
        "8) on 41 probes. Strongest naive rule: shortest 0.61; lead +0.20 [+0.08, +0.31]; silent on "
        "22 %; pick gain +0.14 [+0.05, +0.23]."
    ) in text
    assert "panel:sim/other Not heard. No probe has both" in text


def test_reasons_the_hit_rate_and_the_vetoes_stand_below() -> None:
    text = " ".join(" ".join(printed(judged_document(), 80)).split())
    for part in (
        "checks Heard. AUC 0.81 [0.72, 0.89]. Beats taking the shortest answer by 20 points",
        "The referee they make referee Trusted, so it may vouch for changed answers.",
        "right on 91 % of 104 pairs",
        "7c01d2 right on 100 of 200 probes",
        "What to add - More inputs",
        "After the opening - Accuracy was opened once in this run",
    ):
        assert part in text


def test_a_run_that_measured_no_channel_says_what_that_takes() -> None:
    text = " ".join(" ".join(printed(bare_document(), 80)).split())
    assert text.startswith("No channel was measured on probes: that takes a run whose confirm")
    assert "reason No checks." in text
    doc = judged_document()
    unmeasured = CALIBRATION.model_copy(
        update={"n_probes": 0, "hit_rate": None, "reason": "only 4 of 60 probes gave a pair"}
    )
    referee = doc.referee.model_copy(update={"channels": (), "calibration": unmeasured})
    lines = printed(doc.model_copy(update={"referee": referee}), 80)
    assert lines[1] == "  No channel was measured: only 4 of 60 probes gave a pair."


def test_a_channels_name_cannot_steer_the_terminal() -> None:
    evil = CHECKS.model_copy(update={"name": "judge:\x1b[2Jx" + "y" * 90, "reason": "\x1b[2J"})
    doc = judged_document()
    doc = doc.model_copy(update={"referee": doc.referee.model_copy(update={"channels": (evil,)})})
    lines = printed(doc, 80)
    assert "\x1b" not in "".join(lines)
    assert max(map(len, lines)) <= 80
