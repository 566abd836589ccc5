"""What becomes of a call whose provider misbehaves, over HTTP and through LiteLLM."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from harnesspro.broker.desk import CallDesk
from harnesspro.broker.patience import Patience
from harnesspro.broker.wire import Refused
from harnesspro.core.errors import ProviderBusy, ProviderSilent
from harnesspro.core.ports import ChatRequest
from harnesspro.providers.litellm_provider import LiteLLMProvider
from harnesspro.testing.doubles import MemoryLedger
from harnesspro.testing.misbehaving import (
    CUT,
    DRIP,
    EMPTY,
    GARBAGE,
    HOLD,
    NO_USAGE,
    RESET,
    WELL,
    MisbehavingServer,
    broken,
    saying,
    storm,
)
from tests.unit.broker.builders import body, config, grant, price

MODEL = "openai/gpt-4o-mini"
REQUEST = ChatRequest(
    model=MODEL, messages=({"role": "user", "content": "hi"},), max_output_tokens=9
)


@pytest.fixture
def serving(monkeypatch):
    @contextmanager
    def serve(*script) -> Iterator[MisbehavingServer]:
        with MisbehavingServer(script) as server:
            monkeypatch.setenv("OPENAI_API_BASE", server.url)
            monkeypatch.setenv("OPENAI_API_KEY", "not-a-key")
            yield server

    return serve


def patience(slept: list[float], **changes) -> Patience:
    settings = {"n_tries": 3, "backoff_s": 0.01, "call_timeout_s": 10.0} | changes
    return Patience(sleep=slept.append, chance=lambda: 0.0, **settings)


def test_a_storm_that_says_when_to_come_back_is_waited_out(serving):
    slept: list[float] = []
    with serving(storm("3"), WELL) as server:
        assert patience(slept).complete(LiteLLMProvider(), REQUEST).text == "yes"
    assert slept == [3.0]
    assert len(server.asked) == 2


def test_a_date_to_come_back_at_is_understood(serving):
    slept: list[float] = []
    then = format_datetime(datetime.now(UTC) + timedelta(seconds=5), usegmt=True)
    with serving(storm(then), WELL):
        patience(slept).complete(LiteLLMProvider(), REQUEST)
    assert 2.0 < slept[0] <= 5.0


@pytest.mark.parametrize("told", ["soon", "-5", ""])
def test_a_time_that_cannot_be_meant_is_not_taken_for_one(serving, told):
    slept: list[float] = []
    with serving(storm(told), WELL):
        patience(slept).complete(LiteLLMProvider(), REQUEST)
    assert slept == [0.0]


def test_an_overload_is_tried_again_and_given_up_in_the_end(serving):
    slept: list[float] = []
    with serving(broken(503)) as server, pytest.raises(ProviderBusy):
        patience(slept).complete(LiteLLMProvider(), REQUEST)
    assert len(server.asked) == 3


@pytest.mark.parametrize("line", [CUT, RESET, GARBAGE, HOLD, DRIP], ids=lambda line: line.how)
def test_what_breaks_off_may_have_been_billed_and_is_asked_once(serving, line):
    started = time.monotonic()
    with serving(line) as server, pytest.raises(ProviderSilent):
        patience([], call_timeout_s=1.0).complete(LiteLLMProvider(), REQUEST)
    assert len(server.asked) == 1
    assert time.monotonic() - started < 8


def a_desk(ledger) -> CallDesk:
    settings = config(prices={MODEL: price(model=MODEL)}, backoff_s=0.0)
    provider = LiteLLMProvider()
    return CallDesk(settings, lambda model: provider, ledger)


@pytest.mark.parametrize(
    ("line", "charged_in_full"),
    [
        (WELL, False),
        (EMPTY, False),
        (NO_USAGE, True),
        (saying(usage={"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}), True),
    ],
)
def test_a_count_that_cannot_be_true_stays_charged_at_its_reservation(
    serving, line, charged_in_full
):
    ledger = MemoryLedger()
    desk = a_desk(ledger)
    with serving(line):
        token = desk.open_trial(grant(models={"solver": MODEL}))
        with pytest.raises(Refused) if charged_in_full else nullcontext():
            desk.complete(token, body())
        metered = desk.close_trial(token)
    assert (metered.ground_fault is not None) == charged_in_full
    assert (ledger.spend().n_ambiguous_calls == 1) == charged_in_full
    assert ledger.spend().paid_usd > 0


def test_a_reply_of_another_model_is_put_on_record_once(serving):
    ledger = MemoryLedger()
    desk = a_desk(ledger)
    with serving(saying(model="gpt-3.5-turbo"), saying(model="gpt-3.5-turbo"), WELL):
        token = desk.open_trial(grant(models={"solver": MODEL}))
        for text in ("a", "b", "c"):
            desk.complete(token, body(text))
        desk.close_trial(token)
    assert [value for _, value in ledger.all("answered_as")] == [
        {"asked": MODEL, "told": "gpt-3.5-turbo"}
    ]
