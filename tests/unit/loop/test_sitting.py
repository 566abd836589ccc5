import pytest

from harnesspro.core.decide import RunRound, Stop
from harnesspro.loop import finish, sitting
from harnesspro.loop.racing import purse_of_round
from harnesspro.loop.sitting import _next, _one_round
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


def test_a_round_whose_purse_is_used_up_ends_the_search_and_not_the_run(tmp_path, monkeypatch):
    bench = a_bench(tmp_path, Stubborn())

    def race_until_the_purse_is_empty(bench, command):
        bench.ports.round_empty.set()
        raise bench.cut_now()

    monkeypatch.setattr(sitting, "run_round", race_until_the_purse_is_empty)

    stop = _one_round(bench, RunRound(index=0, parent_ids=(bench.base.harness_id,), n_new=1))

    assert stop == Stop(
        "budget",
        "the round's share of the cap covers no further call; the rest is kept for the final "
        "measurement",
    )
    assert bench.cut_now() is None


def test_the_purse_of_a_round_keeps_the_cap_it_began_with(tmp_path):
    bench = a_bench(tmp_path, Stubborn())
    bench.ports.ledger.put("purse", "000", {"cap_nanos": 7})

    assert [purse_of_round(bench, i).cap_nanos for i in (0, 1)] == [7, None]
