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
