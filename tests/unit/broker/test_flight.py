"""The first works, the others wait; a failure is everybody's."""

import threading
import time

import pytest

from harnesspro.broker.flight import SingleFlight


def in_threads(n, work):
    threads = [threading.Thread(target=work) for _ in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_of_many_at_once_one_works_and_the_rest_are_told_to_look():
    flight: SingleFlight[str] = SingleFlight()
    worked, led = [], []

    def work():
        worked.append(1)
        time.sleep(0.1)
        return "value"

    in_threads(8, lambda: led.append(flight.lead("k", work)))
    assert sorted(map(str, led)) == ["None"] * 7 + ["value"]
    assert worked == [1]


def test_what_the_first_raised_reaches_all_who_waited_and_the_key_is_free_again():
    flight: SingleFlight[int] = SingleFlight()
    raised = []

    def fail():
        time.sleep(0.1)
        raise ValueError("no")

    def lead():
        try:
            flight.lead("k", fail)
        except ValueError as error:
            raised.append(str(error))

    in_threads(4, lead)
    assert raised == ["no"] * 4
    assert flight.lead("k", lambda: 1) == 1


def test_other_keys_do_not_wait():
    flight: SingleFlight[int | None] = SingleFlight()
    assert flight.lead("a", lambda: flight.lead("b", lambda: 2)) == 2


def test_an_interrupt_is_passed_on_too():
    with pytest.raises(KeyboardInterrupt):
        SingleFlight().lead("k", lambda: (_ for _ in ()).throw(KeyboardInterrupt))
