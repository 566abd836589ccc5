"""Race, frozen picks and confirm end to end in toy worlds: what is accepted is hardly ever harmful."""

import pytest

from tests.sim.whole import GOOD, LEANING, LOSING, MIXED, Setting, tally


@pytest.mark.parametrize(
    ("name", "eyes"), [("none", (None, None)), ("good", GOOD), ("leaning", LEANING)]
)
def test_a_run_hardly_ever_accepts_what_loses_more_than_the_margin(name, eyes):
    """The trap is 20 points worse, the loss 8; the slip (4.5) lies within the margin of 5."""
    found = tally(Setting(name, MIXED, 66, 134, *eyes), n_runs=50)

    assert "trap" not in found.accepted
    assert found.accepted.get("loss", 0) <= 1
    assert found.n_harmful <= 4
    assert found.n_accepting >= 15


def test_where_every_candidate_loses_hardly_any_run_accepts():
    found = tally(Setting("all lose", LOSING, 40, 80, *GOOD), n_runs=40)

    assert found.n_accepting <= 3


def test_at_an_absurd_margin_nearly_every_run_accepts_the_trap():
    """So that it is never accepted at five points is the judge's doing."""
    trap = {"trap": MIXED["trap"]}
    absurd = tally(Setting("absurd", trap, 40, 134, eps=0.35), n_runs=20)
    usual = tally(Setting("usual", trap, 40, 134), n_runs=20)

    assert absurd.accepted.get("trap", 0) >= 19
    assert "trap" not in usual.accepted
