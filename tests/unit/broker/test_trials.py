"""How many calls of one trial are let in, at once and at all."""

import threading
import time

import pytest

from harnesspro.broker.trials import OpenTrial
from harnesspro.broker.wire import Refused
from harnesspro.core.records import Limits
from tests.unit.broker.builders import grant


def a_trial(**limits):
    return OpenTrial(grant(limits=Limits(**limits)), attempt=0)


def in_thread(work):
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def test_a_call_beyond_those_at_once_waits_until_one_is_over():
    trial = a_trial(concurrent_calls=2)
    first, _second = trial.admit("a", 1), trial.admit("b", 1)
    let_in = []
    waiting = in_thread(lambda: let_in.append(trial.admit("c", 1)))
    time.sleep(0.05)
    assert let_in == []
    trial.leave(first, None)
    waiting.join(5)
    assert [ticket.index for ticket in let_in] == [2]


def test_a_call_that_waits_when_the_trial_is_closed_is_refused_and_not_counted():
    trial = a_trial(concurrent_calls=1)
    first = trial.admit("a", 1)
    refused = []

    def ask():
        with pytest.raises(Refused) as caught:
            trial.admit("b", 1)
        refused.append(caught.value.code)

    waiting = in_thread(ask)
    time.sleep(0.05)
    counted = []
    closing = in_thread(lambda: counted.append(trial.metered()))
    waiting.join(5)
    trial.leave(first, None)
    closing.join(5)
    assert refused == ["token"]
    assert [metered.n_calls for metered in counted] == [1]


def test_nothing_is_let_in_once_a_trial_was_counted():
    trial = a_trial()
    assert trial.metered().n_calls == 0
    with pytest.raises(Refused):
        trial.admit("a", 1)
