"""Rows: the baseline first, then the front by cost, then the rest; each harness once; CSV that is safe."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harnesspro.core.documents import Picks
from harnesspro.view.rows import csv_cell, csv_text, rows, short_ids
from tests.unit.view.documents import (
    BASE_ID,
    BASELINE,
    BEST,
    BEST_ID,
    CHEAP,
    CHEAP_ID,
    LOSER,
    TRAP,
    bare_document,
    document,
    est,
    point,
    verdict,
)


def test_the_baseline_comes_first_then_the_front_by_cost_then_the_others_by_cost() -> None:
    shuffled = document(front=(BEST, CHEAP), candidates=(LOSER, TRAP, BEST, CHEAP))
    assert [(r.letter, r.short_id, r.kind) for r in rows(shuffled)] == [
        ("B", "baseline", "baseline"),
        ("a", "3f2a91", "front"),
        ("b", "7c01d2", "front"),
        ("c", "51b0c7", "other"),
        ("d", "9e55aa", "other"),
    ]


def test_a_front_that_holds_the_baseline_shows_it_once() -> None:
    doc = document(front=(BASELINE, CHEAP), candidates=(BASELINE, CHEAP))
    assert [r.candidate_id for r in rows(doc)] == [BASE_ID, CHEAP_ID]


def test_a_run_without_candidates_has_one_row() -> None:
    assert [r.short_id for r in rows(bare_document())] == ["baseline"]


def test_a_pick_shows_the_paired_ratio_of_the_confirm_tasks() -> None:
    row = rows(document())[1]
    assert row.confirmed_change
    assert row.change is not None
    assert row.change.mean == pytest.approx(-0.669)
    assert (row.change.low, row.change.high) == pytest.approx((-0.69, -0.648))


def test_a_pick_shows_the_changed_answers_of_the_confirm_tasks_and_their_bound() -> None:
    doc = document(verdicts=(verdict(n=64, n_changed=1, changed_upper=0.072),))
    changed = rows(doc)[1].answers_changed
    assert changed == est(1 / 64, 0.0, 0.072, 64)
    assert rows(doc)[2].answers_changed == BEST.answers_changed


def test_the_others_show_the_ratio_of_the_means() -> None:
    row = rows(document())[4]
    assert not row.confirmed_change
    assert row.change is not None
    assert row.change.mean == pytest.approx(1.45e-4 / 1.258e-4 - 1)


def test_what_was_only_observed_is_compared_on_its_own_tasks() -> None:
    observed = LOSER.model_copy(update={"cost_ratio": 1.0})
    row = rows(document(candidates=(observed, TRAP, BEST, CHEAP)))[4]
    assert row.change is not None
    assert row.change.mean == 0.0


def test_a_free_baseline_has_no_change_in_cost() -> None:
    free = point(BASE_ID, est(0.0, 0.0, 0.0), est(0.5, 0.4, 0.6))
    doc = document(baseline=free, verdicts=())
    assert [r.change for r in rows(doc)] == [None] * 5


def test_dollars_are_for_a_thousand_tasks() -> None:
    cost = rows(bare_document())[0].cost_per_1000
    assert (cost.mean, cost.low, cost.high) == pytest.approx((0.1258, 0.121, 0.131))


def test_a_point_may_be_several_picks() -> None:
    doc = document(picks=Picks(knee=CHEAP_ID, cheapest_safe=CHEAP_ID, best=BEST_ID))
    assert [r.picks for r in rows(doc)[:3]] == [(), ("cheapest_safe", "knee"), ("best",)]


def test_opened_accuracy_counts_right_answers() -> None:
    assert [r.n_right for r in rows(document())] == [43, 45, 45, None, None]


@given(st.sets(st.text("0123456789abcdef", min_size=16, max_size=16), min_size=1, max_size=12))
def test_short_ids_are_prefixes_that_tell_all_apart(ids: set[str]) -> None:
    short = short_ids([f"h-{each}" for each in ids])
    assert len(set(short.values())) == len(ids)
    assert all(full.removeprefix("h-").startswith(each) for full, each in short.items())


def test_short_ids_grow_only_where_they_clash() -> None:
    ids = ["h-aaaaaaaa00000000", "h-aaaaaaab00000000"]
    assert short_ids(ids) == {ids[0]: "aaaaaaaa", ids[1]: "aaaaaaab"}


def test_csv_has_a_line_a_row_and_numbers_as_numbers() -> None:
    table = list(csv.DictReader(io.StringIO(csv_text(document()))))
    assert [line["candidate_id"] for line in table][:2] == [BASE_ID, CHEAP_ID]
    assert table[0]["accuracy_n"] == "64"
    assert table[3]["accuracy_mean"] == ""
    assert float(table[1]["cost_change_mean"]) == pytest.approx(-0.669)
    assert table[1]["picks"] == "cheapest_safe knee"


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("=1+1", "'=1+1"),
        ("+cmd|x", "'+cmd|x"),
        ("-2", "'-2"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "'\\t=1"),
        (" =1", "' =1"),
        ("plain", "plain"),
        ("a\x1b[2J", "a\\x1b[2J"),
    ],
)
def test_no_cell_is_read_as_a_formula(text: str, cell: str) -> None:
    assert csv_cell(text) == cell


def test_a_summary_that_is_a_formula_is_disarmed_in_the_csv() -> None:
    evil = CHEAP.model_copy(update={"summary": '=HYPERLINK("http://x","y")'})
    table = csv_text(document(front=(evil,), candidates=(evil,)))
    cells = [cell for line in csv.reader(io.StringIO(table)) for cell in line]
    assert '\'=HYPERLINK("http://x","y")' in cells
    assert not [cell for cell in cells if cell.startswith(("=", "@", "+"))]
