import pytest

from harnesspro.core.decide import RunRound, Stop
from harnesspro.loop import finish
from harnesspro.loop.sitting import _next
from tests.unit.loop.test_round import Stubborn, a_bench

PICK = {"candidate_id": "h-1", "claim": "cost", "why": "knee"}


@pytest.mark.parametrize(("picks", "goes_on"), [(None, True), ([], True), ([PICK], False)])
def test_nothing_is_searched_once_the_picks_are_frozen(tmp_path, picks, goes_on):
    bench = a_bench(tmp_path, Stubborn())
    if picks is not None:
        bench.ports.ledger.put("picks", "frozen", picks)
    command = _next(bench)
    assert isinstance(command, RunRound if goes_on else Stop)


def test_a_search_that_found_nothing_to_pick_leaves_the_picks_open(tmp_path):
    bench = a_bench(tmp_path, Stubborn())
    assert finish.confirm(bench) == ()
    assert bench.ports.ledger.all("picks") == []
