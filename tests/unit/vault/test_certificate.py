import copy
import json
import math
from typing import Any

import pytest

from harnesspro.core.ports import GradeReply, Opening
from harnesspro.vault.certificate import certificate, leak_bound, run_events, told_bits, verify
from harnesspro.vault.chain import START

ROOT = "ab" * 32
SEAL = {"taskset_id": "set-1", "merkle_root": ROOT, "n": 100, "split_key": "not for print"}


def opening(n_openings: int = 1, canary_hits: int = 0) -> Opening:
    return Opening(
        replies=tuple(GradeReply(digest=f"{i}", grade="right") for i in range(30)),
        n_openings=n_openings,
        canary_hits=canary_hits,
        merkle_root=ROOT,
    )


def document(told: Opening | None = None, search_bits: float = 0) -> dict[str, Any]:
    events = run_events(
        seal=SEAL,
        isolation="S3",
        firewall="F1",
        search_bits=search_bits,
        opening=told,
        n_harnesses=3,
    )
    return certificate(events)


def test_a_run_that_never_opened_the_vault():
    made = document()
    assert made == {
        "schema": "harnesspro/certificate@1",
        "events": made["events"],
        "leaked_bits": 0,
        "vault_openings": 0,
        "canary_hits": 0,
    }
    assert [event["event"] for event in made["events"]] == ["sealed", "levels", "search_ended"]
    assert made["events"][0]["prev"] == START
    assert verify(made) == []


def test_a_run_with_a_third_opening_names_it_and_its_bound():
    made = document(opening(n_openings=3, canary_hits=2))
    bound = made["events"][-1]
    assert (made["vault_openings"], made["canary_hits"]) == (3, 2)
    assert bound["bits_told_by_earlier_openings"] == round(2 * 3 * math.log2(11), 3)
    assert bound["accuracy_points"] == round(leak_bound(2 * 3 * math.log2(11), n=10), 6)
    assert verify(json.loads(json.dumps(made))) == []


def test_a_first_opening_flatters_nothing():
    assert document(opening())["events"][-1]["accuracy_points"] == 0


def test_the_bound_is_the_one_of_the_literature():
    assert leak_bound(1, n=200) == pytest.approx(0.0416, abs=1e-4)
    assert leak_bound(10, n=200) == pytest.approx(0.1316, abs=1e-4)
    assert told_bits(0, n_tasks=50, n_harnesses=4) == 0


def test_the_split_key_does_not_leave_through_the_certificate():
    assert "not for print" not in json.dumps(document())


def test_bits_told_during_search_are_counted():
    assert document(search_bits=6.5)["leaked_bits"] == 6.5


def changed(path: list[str | int], value: object) -> dict[str, Any]:
    made = copy.deepcopy(document(opening(n_openings=2, canary_hits=1)))
    place: Any = made
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return made


@pytest.mark.parametrize(
    ("path", "value", "problem"),
    [
        (["vault_openings"], 1, "vault_openings: 1 is written, the events say 2"),
        (["leaked_bits"], 3, "leaked_bits: 3 is written, the events say 0"),
        (["canary_hits"], 0, "canary_hits: 0 is written, the events say 1"),
        (["events", 1, "firewall"], "F2", "event 1: changed after it was written"),
        (["events", 3, "n"], 1, "event 3: changed after it was written"),
        (["events", 4, "hits"], float("nan"), "event 4: changed after it was written"),
        (["events", 2], "gone", "event 2: not an event with a hash"),
        (["events"], None, "events: not a list"),
        (["schema"], "other", "schema: 'other' instead of 'harnesspro/certificate@1'"),
    ],
)
def test_a_change_anywhere_is_told(path, value, problem):
    assert problem in verify(changed(path, value))


def test_a_removed_or_moved_event_is_told():
    made = document(opening())
    without = {**made, "events": made["events"][:2] + made["events"][3:]}
    swapped = {**made, "events": made["events"][::-1]}
    assert "event 2: does not follow the event before it" in verify(without)
    assert "event 0: does not follow the event before it" in verify(swapped)


def test_cut_off_events_leave_counts_that_do_not_add_up():
    made = document(opening(canary_hits=1))
    assert verify({**made, "events": made["events"][:3]}) == [
        "vault_openings: 1 is written, the events say 0",
        "canary_hits: 1 is written, the events say 0",
    ]
