"""The summary on a terminal: everything a person needs, within the width, nothing hidden."""

from __future__ import annotations

import io
import subprocess
import sys

import pytest
from rich.console import Console

from harnesspro.core.documents import CertificateSummary, Levels, RunDocument
from harnesspro.view.plot import scatter
from harnesspro.view.rows import rows
from harnesspro.view.sentences import firewall_words
from harnesspro.view.terminal import print_document
from tests.unit.view.documents import (
    BASELINE,
    CHEAP,
    bare_document,
    document,
    est,
    judged_document,
)


def printed(doc: RunDocument, width: int, **more: str) -> list[str]:
    out = io.StringIO()
    print_document(doc, Console(file=out, width=width), **more)
    return out.getvalue().splitlines()


@pytest.mark.parametrize("width", [80, 106, 120, 200])
@pytest.mark.parametrize(
    "doc", [document(), bare_document(), judged_document()], ids=["full", "bare", "judged"]
)
def test_nothing_is_wider_than_the_terminal_or_cut(doc: RunDocument, width: int) -> None:
    lines = printed(doc, width)
    assert max(map(len, lines)) <= width
    assert not [line for line in lines if "…" in line or line != line.rstrip()]


def test_the_headline_comes_first_and_the_commands_last() -> None:
    lines = [line.strip() for line in printed(document(), 80, report="r/report.html") if line]
    assert lines[0] == "toolcaller is 67 % cheaper: $0.042 instead of $0.126 for 1,000 tasks."
    assert lines[-5:] == [
        "Next",
        "harnesspro export 20261130-214611-7f3a 3f2a91 --to toolcaller-3f2a91",
        "harnesspro diff 20261130-214611-7f3a baseline 3f2a91",
        "harnesspro view 20261130-214611-7f3a --html toolcaller.html",
        "The report lies at r/report.html",
    ]


def test_commands_name_the_folder_of_runs_where_it_is_not_the_default() -> None:
    lines = printed(document(), 80, out="my runs")
    assert sum(line.endswith(" --out 'my runs'") for line in lines) == 3


def test_the_table_reads_as_intended() -> None:
    lines = printed(document(), 80)
    start = next(i for i, line in enumerate(lines) if "$ per 1,000" in line)
    assert lines[start : start + 6] == [
        "     harness      $ per 1,000  vs base         score   changed  verdict",
        "  ──────────────────────────────────────────────────────────────────────────",
        "  B  baseline          $0.126                   0.67     3.0 %",
        "               [0.121, 0.131]           [0.57, 0.75]    itself",
        "  a  3f2a91            $0.042    -67 %          0.69   2 of 96  accepted",
        "               [0.040, 0.044]           [0.59, 0.78]  <= 6.4 %  confirmed",
    ]


def test_a_wide_terminal_shows_right_answers_and_seconds() -> None:
    text = "\n".join(printed(document(), 120))
    assert "right answers" in text
    assert "45 of 64" in text


def test_money_findings_verdicts_and_walls_are_all_there() -> None:
    text = " ".join(" ".join(printed(document(), 80)).split())
    for part in (
        "$0.0806 64 % samples agree from the start (flow)",
        "answers rejected for form only (system); 3.0 % of trials lost",
        "b Inconclusive. 9 of 96 answers changed; the margin is 5 points; about 212 more tasks "
        "would decide.",
        "$0.0012 on thinking, $0.0391 on measuring (at list prices); $0 billed.",
        "Paid back after 479 tasks.",
        "S3 (own namespaces, no network, nothing of the judge visible)",
        "0 bits back to the search, 1 opening of the vault so far, 0 canary hits",
        "Not trusted, so this run claims cost and agreement only.",
        "Right on 71 % of 88 probe pairs",
        "hit rate Not measured.",
    ):
        assert part in text


def test_the_referee_its_channels_what_to_add_and_the_opening_are_all_there() -> None:
    text = " ".join(" ".join(printed(judged_document(), 80)).split())
    for part in (
        "referee Trusted, so it may vouch for changed answers.",
        "right on 91 % of 104 pairs of differing answers (between 85 % and 95 %)",
        "its errors favour the change by 2.0 % (7.0 % of pairs at most)",
        "7c01d2 right on 100 of 200 probes [43, 57] %; vetoed: it loses to the original",
        "checks Heard. AUC 0.81 [0.72, 0.89]. Beats taking the shortest answer by 20 points",
        "judge:sim/judge Not heard. AUC 0.55",
        "panel:sim/other Not heard. No probe has both",
        "What to add - More inputs (no right answers needed)",
        "the score without gold preferred the right one on 82 % of 22 (at least 64 %)",
        "in orders that agree with tau +0.33",
        "harnesspro channels 20261130-214611-7f3a",
        "on the front with 99 %",
        "best of 4",
    ):
        assert part in text


def test_a_run_without_gold_or_advice_has_no_such_sections() -> None:
    text = "\n".join(printed(document(), 80))
    absent = ("What to add", "After the opening", "harnesspro channels")
    assert [each for each in absent if each in text] == []


def test_an_unsandboxed_run_says_so() -> None:
    text = " ".join(printed(document(levels=Levels(isolation="S0", firewall="F0")), 80))
    assert "S0 (no sandbox: these results are unsandboxed)" in text


def test_text_from_outside_cannot_write_escape_codes_or_markup() -> None:
    evil = CHEAP.model_copy(update={"summary": "[red]x[/red]\x1b[2J\u202e"})
    doc = document(front=(evil,), candidates=(evil,), harness_name="a\x1b]0;t\x07b")
    text = "\n".join(printed(doc, 80))
    assert "\x1b" not in text
    assert "[red]x[/red]\\x1b[2J\\u202e" in text


def test_an_ascii_terminal_gets_ascii_only() -> None:
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="ascii")
    evil = CHEAP.model_copy(update={"summary": "Größer"})
    print_document(document(front=(evil,), candidates=(evil,)), Console(file=out, width=80))
    out.flush()
    assert "Gr\\xf6\\xdfer" in raw.getvalue().decode("ascii")


def test_a_plot_shows_every_row_left_to_right_by_cost() -> None:
    lines = scatter(rows(document()), width=72)
    plot = "\n".join(lines)
    assert [plot.count(letter) for letter in "Babcd"] == [1, 1, 1, 1, 1]
    columns = [max(line.find(letter) for line in lines) for letter in "cabBd"]
    assert columns == sorted(columns)
    assert max(map(len, lines)) <= 72


def test_a_plot_of_equal_or_free_points_still_draws() -> None:
    flat = BASELINE.model_copy(
        update={"score": est(0.5, 0.5, 0.5), "cost_usd_per_task": est(0.0, 0.0, 0.0)}
    )
    assert "B" in "".join(scatter(rows(bare_document(baseline=flat)), width=60))


def test_looking_loads_no_heavy_library() -> None:
    code = (
        "import sys, harnesspro.view.rows, harnesspro.view.terminal, harnesspro.store.runs, "
        "harnesspro.view.live\n"
        "heavy = {'scipy', 'langgraph', 'litellm', 'altair', 'vl_convert', 'git', 'optuna'}\n"
        "print(sorted(heavy & {name.partition('.')[0] for name in sys.modules}))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_what_earlier_openings_may_have_told_is_bounded_beside_their_number() -> None:
    certificate = CertificateSummary(
        leaked_bits=0.0, vault_openings=3, canary_hits=0, leak_bound=0.21
    )
    told = firewall_words(document().model_copy(update={"certificate": certificate}))
    assert told.startswith("0 bits back to the search, 3 openings of the vault so far")
    assert told.endswith("can flatter this accuracy by at most 21 points")


def test_a_model_that_answered_under_another_name_is_told() -> None:
    as_asked = " ".join(" ".join(printed(document(), 80)).split())
    assert "answered as" not in as_asked
    other = document().model_copy(update={"answered_as": (("openai/gpt-4o", "gpt-4o-mini"),)})
    assert "openai/gpt-4o answered as gpt-4o-mini" in " ".join(" ".join(printed(other, 80)).split())
