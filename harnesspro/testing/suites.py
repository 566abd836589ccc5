"""Conformance suites: what every implementation of a port, and every double, must do.

A suite is a tuple of cases; a case is a function that takes a fresh implementation and asserts.
Run them with `pytest.mark.parametrize("case", LEDGER_CASES)`.
"""

# ruff: noqa: D103 - the name of a case is its sentence

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from harnesspro.core.documents import Spend
from harnesspro.core.errors import BudgetExhausted, HarnessProError, IntegrityError
from harnesspro.core.ports import (
    CallEnd,
    ChatReply,
    ChatRequest,
    Grant,
    Ledger,
    PlannedCall,
    Purse,
    PurseName,
    RunLedger,
)
from harnesspro.core.records import Limits, Usage


def _raises(kind: type[HarnessProError], call: Callable[[], object]) -> bool:
    try:
        call()
    except kind:
        return True
    return False


# --- Ledger ------------------------------------------------------------------------------------


def what_was_put_is_got(ledger: Ledger) -> None:
    ledger.put("trial", "a", {"n": 1, "text": "é", "none": None})
    assert ledger.get("trial", "a") == {"n": 1, "text": "é", "none": None}


def what_was_never_put_is_none(ledger: Ledger) -> None:
    ledger.put("trial", "a", 1)
    assert ledger.get("trial", "b") is None
    assert ledger.get("round", "a") is None


def the_same_value_again_is_a_no_op(ledger: Ledger) -> None:
    ledger.put("trial", "a", {"x": 1, "y": 2})
    ledger.put("trial", "a", {"y": 2, "x": 1})
    assert ledger.all("trial") == [("a", {"x": 1, "y": 2})]


def another_value_under_a_key_is_refused(ledger: Ledger) -> None:
    ledger.put("trial", "a", 1)
    assert _raises(IntegrityError, lambda: ledger.put("trial", "a", 2))
    assert ledger.get("trial", "a") == 1


def a_kind_is_listed_in_the_order_written(ledger: Ledger) -> None:
    for key in ("c", "a", "b"):
        ledger.put("trial", key, key.upper())
    ledger.put("round", "z", 0)
    assert ledger.all("trial") == [("c", "C"), ("a", "A"), ("b", "B")]


def a_trial_nobody_ran_has_no_steps(ledger: Ledger) -> None:
    assert ledger.steps("t-none") == ()


LEDGER_CASES: tuple[Callable[[Ledger], None], ...] = (
    what_was_put_is_got,
    what_was_never_put_is_none,
    the_same_value_again_is_a_no_op,
    another_value_under_a_key_is_refused,
    a_kind_is_listed_in_the_order_written,
    a_trial_nobody_ran_has_no_steps,
)


# --- CallLedger --------------------------------------------------------------------------------


def _grant(trial_id: str = "t-1") -> Grant:
    return Grant(
        trial_id=trial_id,
        harness_id="h",
        task_id="task",
        draw="search/0",
        purse="target",
        models={"solver": "m"},
        max_output_tokens={"solver": 10},
        limits=Limits(),
    )


def _call(
    key: str = "k",
    *,
    trial_id: str = "t-1",
    attempt: int = 0,
    index: int = 0,
    reserved_nanos: int = 100,
    purse: PurseName = "target",
    paid: bool = True,
) -> PlannedCall:
    request = ChatRequest(
        model="m", messages=({"role": "user", "content": key},), max_output_tokens=10
    )
    return PlannedCall(
        trial_id=trial_id,
        attempt=attempt,
        index=index,
        role="solver",
        draw="search/0",
        purse=purse,
        replay_key=key,
        reserved_nanos=reserved_nanos,
        paid=paid,
        request=request,
    )


def _capped(call: PlannedCall, nanos: int, *inner: Purse) -> PlannedCall:
    """The call, reserved from a run's purse with a cap and from those inside it."""
    return replace(call, within=(Purse(path="run", kind="run", cap_nanos=nanos), *inner))


def _done(nanos: int = 40) -> CallEnd:
    usage = Usage(uncached_in_tokens=3, out_tokens=2)
    reply = ChatReply(text="yes", finish_reason="stop", usage=usage, model="m", latency_s=0.5)
    return CallEnd("done", reply=reply, attributed_nanos=nanos)


def attempts_are_counted_from_zero(ledger: RunLedger) -> None:
    assert [ledger.open_attempt(_grant("t-1")) for _ in range(2)] == [0, 1]
    assert ledger.open_attempt(_grant("t-2")) == 0


def a_done_call_is_replayed_for_nothing(ledger: RunLedger) -> None:
    ledger.open_attempt(_grant())
    assert ledger.replay(_call()) is None
    ledger.settle(ledger.send(_capped(_call(), 100)), _done(40))
    found = ledger.replay(_call(index=1))
    assert found is not None
    assert (found.reply.text, found.attributed_nanos) == ("yes", 40)
    assert ledger.spend() == Spend(improver_usd=0.0, target_usd=4e-8, paid_usd=4e-8)
    steps = ledger.steps("t-1")
    assert [(step.index, step.replayed, step.cost_nanos, step.reply) for step in steps] == [
        (0, False, 40, "yes"),
        (1, True, 40, "yes"),
    ]


def the_steps_are_those_of_the_last_attempt(ledger: RunLedger) -> None:
    ledger.open_attempt(_grant())
    ledger.settle(ledger.send(_call("first")), _done())
    ledger.open_attempt(_grant())
    assert ledger.steps("t-1") == ()
    ledger.settle(ledger.send(_call("second", attempt=1)), _done())
    (step,) = ledger.steps("t-1")
    assert step.request == {
        "messages": [{"role": "user", "content": "second"}],
        "max_output_tokens": 10,
    }


def calls_in_flight_hold_their_worst_case(ledger: RunLedger) -> None:
    ledger.open_attempt(_grant())
    first = ledger.send(_capped(_call("a"), 150))
    assert _raises(BudgetExhausted, lambda: ledger.send(_capped(_call("b", index=1), 150)))
    ledger.settle(first, _done(40))
    ledger.send(_capped(_call("b", index=1), 150))
    assert _raises(BudgetExhausted, lambda: ledger.send(_capped(_call("c", index=2), 150)))


def a_failed_call_gives_its_reservation_back(ledger: RunLedger) -> None:
    ledger.open_attempt(_grant())
    ledger.settle(ledger.send(_capped(_call("a"), 100)), CallEnd("failed", fault="refused"))
    ledger.send(_capped(_call("b", index=1), 100))
    assert ledger.replay(_call("a", index=2)) is None
    assert ledger.spend() == Spend(improver_usd=0.0, target_usd=0.0, paid_usd=0.0)


def an_ambiguous_call_stays_charged_at_its_reservation(ledger: RunLedger) -> None:
    ledger.open_attempt(_grant())
    call = _call("a", purse="improver")
    ledger.settle(ledger.send(_capped(call, 100)), CallEnd("ambiguous", fault="silence"))
    assert _raises(BudgetExhausted, lambda: ledger.send(_capped(_call("b", index=1), 100)))
    assert ledger.spend() == Spend(
        improver_usd=1e-7, target_usd=0.0, paid_usd=1e-7, n_ambiguous_calls=1
    )


def a_call_that_costs_no_bill_is_attributed_and_binds_the_cap(ledger: RunLedger) -> None:
    ledger.open_attempt(_grant())
    ledger.settle(ledger.send(_capped(_call("a", paid=False), 100)), _done(40))
    assert ledger.spend() == Spend(improver_usd=0.0, target_usd=4e-8, paid_usd=0.0)
    assert _raises(BudgetExhausted, lambda: ledger.send(_capped(_call("b", index=1), 100)))


def a_call_ends_once(ledger: RunLedger) -> None:
    ledger.open_attempt(_grant())
    call_id = ledger.send(_call())
    ledger.settle(call_id, _done())
    assert _raises(IntegrityError, lambda: ledger.settle(call_id, _done()))


def a_bill_above_the_reservation_counts_in_full(ledger: RunLedger) -> None:
    ledger.open_attempt(_grant())
    ledger.settle(ledger.send(_capped(_call("a"), 200)), _done(130))
    assert ledger.spend().paid_usd == 1.3e-7
    assert _raises(BudgetExhausted, lambda: ledger.send(_capped(_call("b", index=1), 200)))


def _purse_that_refuses(ledger: RunLedger, call: PlannedCall) -> str | None:
    try:
        ledger.send(call)
    except BudgetExhausted as error:
        return error.purse_path
    return None


def a_purse_inside_another_binds_too_and_is_named(ledger: RunLedger) -> None:
    ledger.open_attempt(_grant())
    inner = Purse(path="run/target", kind="candidate", cap_nanos=150)
    ledger.settle(ledger.send(_capped(_call("a"), 1000, inner)), _done(60))
    refused = _capped(_call("b", index=1), 1000, inner)
    assert _purse_that_refuses(ledger, refused) == "run/target"
    # What the inner purse refused, the outer one does not hold.
    ledger.send(_capped(_call("b", index=1, reserved_nanos=940), 1000))


CALL_LEDGER_CASES: tuple[Callable[[RunLedger], None], ...] = (
    attempts_are_counted_from_zero,
    a_done_call_is_replayed_for_nothing,
    the_steps_are_those_of_the_last_attempt,
    calls_in_flight_hold_their_worst_case,
    a_failed_call_gives_its_reservation_back,
    an_ambiguous_call_stays_charged_at_its_reservation,
    a_call_that_costs_no_bill_is_attributed_and_binds_the_cap,
    a_call_ends_once,
    a_bill_above_the_reservation_counts_in_full,
    a_purse_inside_another_binds_too_and_is_named,
)
