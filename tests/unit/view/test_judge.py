"""The referee laid out: every channel measured, the hit rate, the vetoes, the opening."""

from __future__ import annotations

from harnesspro.view.judge import (
    Cell,
    ChannelLine,
    channel_lines,
    opened_facts,
    probe_facts,
    trust_facts,
)
from tests.unit.view.documents import CALIBRATION, bare_document, document, judged_document


def test_channels_that_are_heard_come_first_and_unmeasured_cells_are_empty() -> None:
    lines = channel_lines(judged_document().referee)
    assert [line.name for line in lines] == ["checks", "judge:sim/judge", "panel:sim/other"]
    assert lines[0] == ChannelLine(
        name="checks",
        auc=Cell("0.81", "[0.72, 0.89]"),
        naive=Cell("0.61", "shortest"),
        lead=Cell("+0.20", "[+0.08, +0.31]"),
        silent=Cell("22 %"),
        gain=Cell("+0.14", "[+0.05, +0.23]"),
        heard=True,
        reason="Beats taking the shortest answer by 20 points (at least 8) on 41 probes.",
    )
    unmeasured = lines[2]
    assert {unmeasured.auc, unmeasured.naive, unmeasured.lead, unmeasured.silent} == {Cell()}


def test_a_referee_that_was_not_measured_says_why_and_what_it_may_claim() -> None:
    assert trust_facts(bare_document().referee) == [
        ("referee", "Not trusted, so this run claims cost and agreement only."),
        ("reason", "No checks."),
        ("hit rate", "Not measured."),
    ]


def test_a_referee_that_was_not_put_to_probes_says_why() -> None:
    unmeasured = CALIBRATION.model_copy(
        update={"n_probes": 0, "hit_rate": None, "reason": "no candidate was left to judge"}
    )
    referee = judged_document().referee.model_copy(update={"calibration": unmeasured})
    assert trust_facts(referee)[2:] == [
        ("hit rate", "Not measured: no candidate was left to judge.")
    ]


def test_why_it_was_not_measured_is_said_once() -> None:
    why = "only 4 of 60 probes gave a pair"
    unmeasured = CALIBRATION.model_copy(update={"n_probes": 0, "hit_rate": None, "reason": why})
    referee = judged_document().referee.model_copy(
        update={"calibration": unmeasured, "reason": f"it is not known: {why}"}
    )
    assert trust_facts(referee)[1:] == [
        ("reason", "It is not known: only 4 of 60 probes gave a pair."),
        ("hit rate", "Not measured."),
    ]


def test_a_measured_referee_says_where_the_measuring_stopped() -> None:
    facts = dict(trust_facts(judged_document().referee))
    assert facts["referee"] == "Trusted, so it may vouch for changed answers."
    assert facts["probes"] == (
        "60 probes admitted the channels, 140 more marked the referee; stopped: 104 pairs of differing "
        "answers."
    )


def test_harnesses_on_probes_are_named_as_in_the_table() -> None:
    assert probe_facts(judged_document()) == [
        ("baseline", "right on 124 of 200 probes [55, 69] %"),
        ("7c01d2", "right on 100 of 200 probes [43, 57] %; vetoed: it loses to the original"),
    ]
    assert probe_facts(document()) == []


def test_without_an_opening_nothing_is_said_of_gold() -> None:
    assert opened_facts(document()) == ()
    assert opened_facts(judged_document())[0] == (
        "Accuracy was opened once in this run, after the verdicts, on 64 tasks."
    )
