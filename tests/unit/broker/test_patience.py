"""A provider that misbehaves, on a clock of our own."""

import pytest

from harnesspro.broker.patience import Patience
from harnesspro.core.errors import ProviderBusy, ProviderError, ProviderSilent, RequestRefused
from harnesspro.core.ports import ChatRequest
from harnesspro.testing.doubles import reply_of

REQUEST = ChatRequest(
    model="acme/m", messages=({"role": "user", "content": "q"},), max_output_tokens=9
)


class Clock:
    """Moves only when slept."""

    def __init__(self) -> None:
        self.now, self.slept = 0.0, list[float]()

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


class Says:
    """Raises or answers by its script; the last line stands for all that follow."""

    def __init__(self, *script: Exception | str) -> None:
        self.script, self.n = list(script), 0

    def price(self, model):
        return None

    def check(self, model):
        return None

    def complete(self, request, *, timeout_s):
        line = self.script[min(self.n, len(self.script) - 1)]
        self.n += 1
        if isinstance(line, Exception):
            raise line
        return reply_of(line, request)


def busy(retry_after_s=None) -> ProviderBusy:
    error = ProviderBusy("acme/m", "429")
    error.retry_after_s = retry_after_s
    return error


def patience(clock: Clock, **changes) -> Patience:
    settings = {"n_tries": 3, "backoff_s": 1.0, "call_timeout_s": 60.0} | changes
    return Patience(clock=clock, sleep=clock.sleep, chance=lambda: 0.5, **settings)


def test_a_rate_limit_is_waited_out_as_long_as_it_says():
    clock, provider = Clock(), Says(busy(4.0), busy(), "well")
    assert patience(clock).complete(provider, REQUEST).text == "well"
    assert clock.slept == [4.5, 1.0]


def test_a_wait_beyond_the_calls_deadline_is_not_begun():
    clock, provider = Clock(), Says(busy(120.0))
    with pytest.raises(ProviderBusy):
        patience(clock).complete(provider, REQUEST)
    assert (clock.slept, provider.n) == ([], 1)


def test_a_silent_call_may_have_been_billed_and_is_not_tried_again():
    provider = Says(ProviderSilent("acme/m", "cut off"), "well")
    with pytest.raises(ProviderSilent):
        patience(Clock()).complete(provider, REQUEST)
    assert provider.n == 1


def test_a_storm_is_not_doubled_by_retries():
    clock, provider = Clock(), Says(busy())
    ours = patience(clock)
    for _ in range(100):
        with pytest.raises(ProviderBusy):
            ours.complete(provider, REQUEST)
    assert provider.n <= 100 + 10 + 20


def test_a_model_that_answers_nobody_is_asked_by_one_after_each_rest():
    clock, provider = Clock(), Says(ProviderSilent("acme/m", "cut off"), "well")
    ours = patience(clock)
    ours.require("acme/m")
    with pytest.raises(ProviderSilent):
        ours.complete(provider, REQUEST)
    with pytest.raises(ProviderBusy, match="no answer for"):
        ours.require("acme/m")
    ours.require("acme/other")
    clock.now += 1.0
    ours.require("acme/m")  # this one finds out
    with pytest.raises(ProviderBusy):
        ours.require("acme/m")  # the others rest on
    ours.complete(provider, REQUEST)
    ours.require("acme/m")


def test_a_refused_key_is_not_waited_for():
    ours = patience(Clock())
    with pytest.raises(ProviderError):
        ours.complete(Says(ProviderError("acme/m", "the provider refused the key")), REQUEST)
    ours.require("acme/m")


def test_a_refused_request_shows_that_the_provider_works():
    ours = patience(Clock())
    with pytest.raises(RequestRefused):
        ours.complete(Says(RequestRefused("acme/m", "too long")), REQUEST)
    ours.require("acme/m")
