from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from harnesspro.core.decide import Forecast, RoundFacts, RunRound, Stop, World, decide


def world(*rounds, **changes):
    base: dict[str, Any] = {
        "baseline_id": "base",
        "rounds": tuple(rounds),
        "n_rounds": 3,
        "max_candidates": 7,
        "spent_usd": 1.0,
        "cap_usd": None,
        "elapsed_s": 100.0,
        "time_limit_s": None,
        "next_round": Forecast(usd=0.5, seconds=60.0),
        "confirm": Forecast(usd=0.25, seconds=30.0),
    }
    return World(**(base | changes))


def a_round(index=0, *, made=("a", "b", "c"), live=("a",)):
    return RoundFacts(index=index, parent_ids=("base",), candidate_ids=made, promoted_ids=live)


def test_the_first_round_changes_the_baseline_and_takes_its_share_of_the_room_rounded_up():
    assert decide(world()) == RunRound(index=0, parent_ids=("base",), n_new=3)


def test_the_room_that_is_left_is_shared_by_the_rounds_that_are_left():
    assert decide(world(a_round())) == RunRound(index=1, parent_ids=("a",), n_new=2)
    few = world(a_round(made=("a",)))
    assert decide(few) == RunRound(index=1, parent_ids=("a",), n_new=3)


def test_a_candidate_that_two_rounds_name_takes_room_once():
    rounds = a_round(made=("a", "b")), a_round(1, made=("b", "c"))
    assert decide(world(*rounds)) == RunRound(index=2, parent_ids=("a",), n_new=4)


def test_parents_are_those_the_last_round_named():
    lived = a_round(live=("cheap", "safe"))
    assert decide(world(lived)) == RunRound(index=1, parent_ids=("cheap", "safe"), n_new=2)


def test_where_nothing_lives_the_baseline_is_the_parent_again():
    assert decide(world(a_round(live=()))) == RunRound(index=1, parent_ids=("base",), n_new=2)


def test_it_stops_when_all_rounds_are_done():
    assert decide(world(a_round(), n_rounds=1)) == Stop("rounds", "all 1 rounds done")


def test_it_stops_when_all_candidates_are_measured():
    done = world(a_round(), max_candidates=3)
    assert decide(done) == Stop("rounds", "all 3 candidates measured")


def test_it_stops_when_the_last_round_made_nothing_new():
    futile = world(a_round(), a_round(1, made=()))
    assert decide(futile) == Stop("futile", "no proposer had anything new to try")
    assert isinstance(decide(world(a_round(made=()), a_round(1))), RunRound)


def test_money_is_kept_for_the_final_measurement():
    assert isinstance(decide(world(cap_usd=1.75)), RunRound)
    assert decide(world(cap_usd=1.7499)) == Stop(
        "budget",
        "$1.0000 of $1.7499 spent; another round and the final measurement would take about "
        "$0.7500",
    )


def test_time_is_kept_for_the_final_measurement():
    assert isinstance(decide(world(time_limit_s=190.0)), RunRound)
    assert decide(world(time_limit_s=189.0)) == Stop(
        "time",
        "100 s of 189 s used; another round and the final measurement would take about 90 s",
    )


def test_an_interruption_comes_before_every_other_reason():
    cut = world(a_round(), n_rounds=1, cap_usd=0.1, time_limit_s=1.0, interrupted="interrupted")
    assert decide(cut) == Stop("interrupted", "stopped before the next round")


@given(st.integers(1, 8), st.integers(1, 30), st.randoms())
def test_a_run_ends_within_its_rounds_and_its_candidates(n_rounds, max_candidates, chance):
    rounds: list[RoundFacts] = []
    while isinstance(command := decide(_at(rounds, n_rounds, max_candidates)), RunRound):
        assert command.index == len(rounds)
        made = chance.randint(0, command.n_new)
        ids = tuple(f"c{command.index}.{k}" for k in range(made))
        rounds.append(a_round(command.index, made=ids, live=ids))

    assert len(rounds) <= n_rounds
    assert sum(len(done.candidate_ids) for done in rounds) <= max_candidates


@given(st.integers(1, 8), st.integers(1, 30))
def test_a_run_that_finds_enough_uses_all_its_candidates(n_rounds, max_candidates):
    rounds: list[RoundFacts] = []
    while isinstance(command := decide(_at(rounds, n_rounds, max_candidates)), RunRound):
        ids = tuple(f"c{command.index}.{k}" for k in range(command.n_new))
        rounds.append(a_round(command.index, made=ids, live=ids))

    assert sum(len(done.candidate_ids) for done in rounds) == max_candidates


def _at(rounds, n_rounds, max_candidates):
    return world(*rounds, n_rounds=n_rounds, max_candidates=max_candidates)
