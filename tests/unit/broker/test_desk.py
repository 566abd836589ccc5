"""What a trial may spend, what is paid once, and whose fault a failure is."""

import contextlib
import threading
import time

import pytest

from harnesspro.broker.desk import CallDesk
from harnesspro.broker.wire import Refused
from harnesspro.core.errors import (
    ModelUnknown,
    ProviderBusy,
    ProviderError,
    ProviderSilent,
    RequestRefused,
    UsageError,
)
from harnesspro.core.ports import ChatReply, Metered, Purse
from harnesspro.core.records import Limits, Usage
from harnesspro.testing.doubles import MemoryLedger, ScriptedProvider, reply_of
from tests.unit.broker.builders import MODEL, body, config, grant, price


def desk_with(*script, ledger=None, **changes):
    provider = ScriptedProvider(script)
    desk = CallDesk(config(**changes), lambda model: provider, ledger or MemoryLedger())
    return desk, provider


def reply(n_in=10, n_out=5, text="yes"):
    usage = Usage(uncached_in_tokens=n_in, out_tokens=n_out)
    return ChatReply(text=text, finish_reason="stop", usage=usage, model=MODEL, latency_s=0.5)


def ask(desk, token, text="hi", **fields):
    return desk.complete(token, body(text, **fields))["choices"][0]["message"]["content"]


def refusal(desk, token, text="hi"):
    with pytest.raises(Refused) as refused:
        ask(desk, token, text)
    return refused.value.status, refused.value.code


def test_a_trial_is_answered_and_counted():
    desk, provider = desk_with(reply())
    token = desk.open_trial(grant())
    assert ask(desk, token) == "yes"
    assert desk.close_trial(token) == Metered(
        usage=Usage(uncached_in_tokens=10, out_tokens=5),
        n_calls=1,
        n_replayed=0,
        cost_nanos=15,
        paid_nanos=15,
        model_latency_s=0.5,
    )
    assert provider.requests[0].model == MODEL


def test_the_same_request_in_another_trial_of_the_draw_is_replayed_for_nothing():
    desk, provider = desk_with(reply())
    first, second = desk.open_trial(grant("t-1")), desk.open_trial(grant("t-2"))
    assert ask(desk, first) == ask(desk, second) == "yes"
    metered = desk.close_trial(second)
    assert (metered.n_calls, metered.n_replayed, metered.cost_nanos, metered.paid_nanos) == (
        1,
        1,
        15,
        0,
    )
    assert metered.model_latency_s == 0.5
    assert len(provider.requests) == 1
    assert desk.spend().paid_usd == 1.5e-8


def test_the_second_time_in_one_trial_is_a_fresh_sample_with_its_own_seed():
    desk, provider = desk_with("one", "two")
    token = desk.open_trial(grant())
    assert [ask(desk, token), ask(desk, token)] == ["one", "two"]
    again = desk.open_trial(grant("t-2"))
    assert [ask(desk, again), ask(desk, again)] == ["one", "two"]
    first, second = (request.seed for request in provider.requests)
    assert first != second


def test_another_draw_is_paid_for():
    desk, _ = desk_with("one", "two")
    assert ask(desk, desk.open_trial(grant())) == "one"
    assert ask(desk, desk.open_trial(grant("t-2", draw="confirm/0"))) == "two"


def test_two_that_ask_the_same_at_once_pay_once():
    def slow(request):
        time.sleep(0.1)
        return reply()

    desk, provider = desk_with(*[slow] * 8)
    tokens = [desk.open_trial(grant(f"t-{n}")) for n in range(8)]
    threads = [threading.Thread(target=ask, args=(desk, token)) for token in tokens]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    counts = [desk.close_trial(token) for token in tokens]
    assert len(provider.requests) == 1
    assert sorted(count.paid_nanos for count in counts) == [0] * 7 + [15]
    assert [count.cost_nanos for count in counts] == [15] * 8


def test_a_token_that_is_unknown_or_retired_is_refused():
    desk, _ = desk_with()
    token = desk.open_trial(grant())
    desk.close_trial(token)
    assert refusal(desk, token) == refusal(desk, "made up") == (401, "token")
    with pytest.raises(UsageError, match="unknown or retired"):
        desk.close_trial(token)


def test_calls_beyond_the_limit_are_refused_and_remembered():
    desk, provider = desk_with("one")
    token = desk.open_trial(grant(limits=Limits(calls=1)))
    ask(desk, token)
    assert refusal(desk, token) == (402, "limit")
    metered = desk.close_trial(token)
    assert (metered.n_calls, metered.limit_hit) == (1, "calls")
    assert len(provider.requests) == 1


def test_a_call_whose_worst_case_passes_the_trials_dollars_is_refused_before_it_is_made():
    desk, provider = desk_with("one")
    token = desk.open_trial(grant(limits=Limits(usd=1e-8)))
    assert refusal(desk, token) == (402, "limit")
    metered = desk.close_trial(token)
    assert (metered.n_calls, metered.cost_nanos, metered.limit_hit) == (0, 0, "usd")
    assert provider.requests == []


def test_a_replayed_call_counts_in_full_against_the_trials_dollars():
    desk, _ = desk_with(reply(n_in=400))
    ask(desk, desk.open_trial(grant("t-1")))
    token = desk.open_trial(grant("t-2", limits=Limits(usd=5e-7)))
    ask(desk, token)
    assert refusal(desk, token, "more") == (402, "limit")


def test_the_runs_cap_refuses_and_says_that_it_was_the_run():
    desk, provider = desk_with("one", cap_nanos=100)
    token = desk.open_trial(grant())
    assert refusal(desk, token) == (402, "limit")
    assert desk.close_trial(token).limit_hit == "run_budget"
    assert provider.requests == []


@pytest.mark.parametrize(
    ("of", "limit_hit"),
    [
        ({"purse": "improver"}, "improver_budget"),
        (
            {"within": (Purse(path="run/target/round 1", kind="round", cap_nanos=100),)},
            "round_budget",
        ),
        (
            {
                "within": (
                    Purse(path="run/target/round 1", kind="round"),
                    Purse(path="run/target/round 1/h", kind="candidate", cap_nanos=100),
                )
            },
            "candidate_budget",
        ),
    ],
)
def test_a_purse_inside_the_runs_refuses_and_says_which(of, limit_hit):
    desk, provider = desk_with("one", cap_nanos=10**6, improver_cap_nanos=100)
    token = desk.open_trial(grant(**of))

    assert refusal(desk, token) == (402, "limit")
    assert desk.close_trial(token).limit_hit == limit_hit
    assert provider.requests == []


def test_what_thinking_may_not_spend_measuring_still_may():
    desk, _ = desk_with("one", cap_nanos=10**6, improver_cap_nanos=100)

    assert ask(desk, desk.open_trial(grant())) == "one"


def test_a_call_waits_for_what_calls_in_flight_give_back():
    started, release = threading.Event(), threading.Event()

    def slow(request):
        started.set()
        assert release.wait(5)
        return reply()

    desk, _ = desk_with(slow, reply(), cap_nanos=300)
    first, second = desk.open_trial(grant("t-1")), desk.open_trial(grant("t-2"))
    threads = [
        threading.Thread(target=ask, args=(desk, first, "a")),
        threading.Thread(target=ask, args=(desk, second, "b")),
    ]
    threads[0].start()
    assert started.wait(5)
    threads[1].start()
    time.sleep(0.05)
    release.set()
    for thread in threads:
        thread.join()
    assert [desk.close_trial(token).limit_hit for token in (first, second)] == [None, None]


def test_sixty_four_trials_at_once_never_pass_the_cap():
    desk, provider = desk_with(*[lambda request: reply(n_in=100, n_out=50)] * 192, cap_nanos=3000)
    tokens = [desk.open_trial(grant(f"t-{n}")) for n in range(64)]

    def run(token):
        for turn in range(3):
            with contextlib.suppress(Refused):
                ask(desk, token, f"{token} {turn}")

    threads = [threading.Thread(target=run, args=(token,)) for token in tokens]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    counts = [desk.close_trial(token) for token in tokens]
    paid = sum(count.paid_nanos for count in counts)
    assert "run_budget" in {count.limit_hit for count in counts}
    assert paid == 150 * len(provider.requests) == round(desk.spend().paid_usd * 1e9)
    assert 2700 <= paid <= 3000


def test_a_passing_fault_is_tried_again_under_the_same_reservation():
    busy = ProviderBusy("m", "rate limit")
    desk, provider = desk_with(busy, busy, reply(), cap_nanos=300)
    assert ask(desk, desk.open_trial(grant())) == "yes"
    assert len(provider.requests) == 3
    assert desk.spend().paid_usd == 1.5e-8


@pytest.mark.parametrize(
    ("script", "n_ambiguous"),
    [
        ([ProviderBusy("m", "rate limit")] * 3, 0),
        ([ProviderError("m", "key refused")], 0),
        ([ModelUnknown("m", "no such model")], 0),
        ([ProviderSilent("m", "no reply")], 1),
        ([reply(n_in=0, n_out=0)], 1),
    ],
)
def test_a_failure_for_good_is_the_grounds_fault(script, n_ambiguous):
    desk, _ = desk_with(*script)
    token = desk.open_trial(grant())
    assert refusal(desk, token) == (503, "ground")
    metered = desk.close_trial(token)
    assert metered.ground_fault
    assert metered.cost_nanos == 0
    spend = desk.spend()
    assert spend.n_ambiguous_calls == n_ambiguous
    assert (spend.paid_usd > 0) == (n_ambiguous == 1)


def test_a_request_the_provider_cannot_take_is_the_askers_fault():
    desk, _ = desk_with(RequestRefused("m", "too long"))
    token = desk.open_trial(grant())
    assert refusal(desk, token) == (400, "invalid")
    assert desk.close_trial(token).ground_fault is None


def test_a_provider_that_breaks_leaves_the_call_charged_and_the_trial_void():
    def broken(request):
        raise KeyError("choices")

    desk, _ = desk_with(broken)
    token = desk.open_trial(grant())
    with pytest.raises(KeyError):
        ask(desk, token)
    assert desk.close_trial(token).ground_fault == "broker: KeyError: 'choices'"
    assert desk.spend().n_ambiguous_calls == 1


def test_tokens_for_nothing_at_a_priced_model_are_an_error():
    prices = {MODEL: price(in_nanos_per_mtok=0, cache_read_nanos_per_mtok=0)}
    prices[MODEL] = prices[MODEL].model_copy(update={"cache_write_nanos_per_mtok": 0})
    desk, _ = desk_with(reply(n_out=0), prices=prices)
    token = desk.open_trial(grant())
    assert refusal(desk, token) == (503, "ground")
    assert "10 tokens for $0" in str(desk.close_trial(token).ground_fault)


@pytest.mark.parametrize("prices", [{}, {MODEL: price(in_nanos_per_mtok=0, out_nanos_per_mtok=0)}])
def test_a_model_without_a_price_is_refused_before_anything_is_spent(prices):
    desk, _ = desk_with(prices=prices)
    with pytest.raises(ModelUnknown, match="price"):
        desk.open_trial(grant())


def test_closing_waits_for_the_calls_in_flight():
    def slow(request):
        time.sleep(0.2)
        return reply_of("late", request)

    desk, _ = desk_with(slow)
    token = desk.open_trial(grant())
    call = threading.Thread(target=ask, args=(desk, token))
    call.start()
    time.sleep(0.05)
    assert desk.close_trial(token).usage.out_tokens == 1
    call.join()


def test_what_was_paid_before_a_resume_is_replayed_after_it():
    ledger = MemoryLedger()
    desk, _ = desk_with(reply(), ledger=ledger)
    ask(desk, desk.open_trial(grant()))
    resumed, provider = desk_with(ledger=ledger)
    token = resumed.open_trial(grant())
    assert ask(resumed, token) == "yes"
    assert resumed.close_trial(token).n_replayed == 1
    assert provider.requests == []
    assert [step.replayed for step in ledger.steps("t-1")] == [True]
