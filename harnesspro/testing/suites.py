"""Conformance suites: what every implementation of a port, and every double, must do.

A suite is a tuple of cases; a case is a function that takes a fresh implementation and asserts
(for a sandbox also a folder that it may show as code, which the case fills).
Run them with `pytest.mark.parametrize("case", LEDGER_CASES)`.
"""

# ruff: noqa: D103 - the name of a case is its sentence

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

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
    Sandbox,
    SandboxResult,
    SandboxSpec,
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


# --- Sandbox -----------------------------------------------------------------------------------


def _command(sandbox: Sandbox, code: str, line: str, **changes: Any) -> SandboxResult:
    settings = {"payload": "{}", "broker": False, "wall_s": 20.0, **changes}
    return sandbox.run(SandboxSpec(name="case", code_dir=code, argv=("sh", "-c", line), **settings))


def _solve(sandbox: Sandbox, code: str, body: str) -> SandboxResult:
    Path(code, "solver.py").write_text(f"def solve(task, h):\n    {body}\n")
    payload = {
        "entry": "solver.py:solve",
        "task": {"input": "q"},
        "token": "t",
        "harness": {"parts": {}, "knobs": {}},
    }
    spec = SandboxSpec(
        name="case", code_dir=code, argv=None, payload=json.dumps(payload), broker=False
    )
    return sandbox.run(spec)


def _alive(marker: str) -> bool:
    for line in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if marker.encode() in line.read_bytes():
                return True
        except (FileNotFoundError, ProcessLookupError):
            continue
    return False


def a_python_entry_answers(sandbox: Sandbox, code: str) -> None:
    done = _solve(sandbox, code, "h.note('seen'); return task['input'] + '!'")
    assert (done.ended, done.exit_code) == ("exited", 0)
    assert json.loads(done.result or b"") == {
        "outcome": "answered",
        "answer": "q!",
        "notes": ["seen"],
    }


def an_entry_that_raises_is_a_result(sandbox: Sandbox, code: str) -> None:
    done = _solve(sandbox, code, "raise SystemExit(7)")
    assert json.loads(done.result or b"") == {
        "outcome": "crashed",
        "fault": "SystemExit: 7",
        "notes": [],
    }


def a_command_finds_its_files_and_its_exit_code_is_told(sandbox: Sandbox, code: str) -> None:
    line = "cat in/a.txt > answer.json; echo why >&2; exit 3"
    done = _command(sandbox, code, line, files={"in/a.txt": "é"})
    assert (done.ended, done.exit_code) == ("exited", 3)
    assert (done.result, done.stderr) == ("é".encode(), "why\n")


def without_an_answer_the_result_is_none(sandbox: Sandbox, code: str) -> None:
    done = _command(sandbox, code, "true")
    assert (done.ended, done.exit_code, done.result) == ("exited", 0, None)


def the_payload_names_the_broker_only_where_it_is_shown(sandbox: Sandbox, code: str) -> None:
    done = _command(sandbox, code, "cp task.json answer.json", payload='{"x": 1}')
    assert json.loads(done.result or b"") == {"x": 1, "broker": ""}


def the_environment_is_what_was_named(sandbox: Sandbox, code: str) -> None:
    done = _command(sandbox, code, "env > answer.json", env={"SEED": "7"})
    names = {line.partition("=")[0] for line in (done.result or b"").decode().splitlines()}
    assert names - {"PWD", "_", "OLDPWD", "SHLVL"} == {"PATH", "HOME", "LANG", "SEED"}


def a_signal_is_told_as_shells_do(sandbox: Sandbox, code: str) -> None:
    done = _command(sandbox, code, "kill -9 $$")
    assert (done.ended, done.exit_code) == ("exited", 137)


def a_missing_command_is_exit_127(sandbox: Sandbox, code: str) -> None:
    spec = SandboxSpec(name="c", code_dir=code, argv=("no-such",), payload="{}", broker=False)
    done = sandbox.run(spec)
    assert (done.ended, done.exit_code) == ("exited", 127)


def the_clock_ends_it(sandbox: Sandbox, code: str) -> None:
    done = _command(sandbox, code, "echo 1 > answer.json; sleep 30", wall_s=0.5)
    assert (done.ended, done.exit_code) == ("wall", None)
    assert 0.5 <= done.wall_s < 10


def too_much_output_ends_it(sandbox: Sandbox, code: str) -> None:
    assert _command(sandbox, code, "yes", output_bytes=100_000).ended == "output"
    burst = _command(sandbox, code, "head -c 60000 /dev/zero", output_bytes=50_000)
    assert burst.ended == "output"


def an_answer_above_the_cap_is_none(sandbox: Sandbox, code: str) -> None:
    line = "head -c 5000 /dev/zero > answer.json"
    assert _command(sandbox, code, line, output_bytes=4999).result is None
    assert _command(sandbox, code, line, output_bytes=5000).result == bytes(5000)


def only_the_end_of_stderr_is_kept(sandbox: Sandbox, code: str) -> None:
    done = _command(sandbox, code, "head -c 9000 /dev/zero >&2; echo end >&2")
    assert done.stderr == "\0" * 4092 + "end\n"


def nothing_started_is_left_behind(sandbox: Sandbox, code: str) -> None:
    marker = f"77.{secrets.randbelow(10**12):012d}"
    daemons = f"sleep {marker} & setsid sleep {marker} & (sleep {marker} &)"
    assert _command(sandbox, code, daemons).ended == "exited"
    assert not _alive(marker)
    assert _command(sandbox, code, f"{daemons}; sleep {marker}", wall_s=0.5).ended == "wall"
    assert not _alive(marker)


def many_run_at_once_and_none_is_mixed_up(sandbox: Sandbox, code: str) -> None:
    def one(number: int) -> SandboxResult:
        return _command(sandbox, code, f"sleep 0.1; echo {number} > answer.json; exit {number}")

    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(one, range(16)))
    assert [(each.exit_code, each.result) for each in done] == [
        (number, f"{number}\n".encode()) for number in range(16)
    ]


def code_outside_what_it_may_show_is_refused(sandbox: Sandbox, code: str) -> None:
    Path(code, "link").symlink_to("/usr")
    for folder in ("/usr", f"{code}/../..", f"{code}/link", f"{code}/none"):
        done = _command(sandbox, folder, "echo 1 > answer.json")
        assert (done.ended, done.result) == ("refused", None), folder


def a_spec_that_reaches_out_of_its_place_is_refused(sandbox: Sandbox, code: str) -> None:
    for changes in ({"files": {"../x": ""}}, {"files": {"/x": ""}}, {"env": {"A": "b\0--bind"}}):
        assert _command(sandbox, code, "true", **changes).ended == "refused", changes


SANDBOX_CASES: tuple[Callable[[Sandbox, str], None], ...] = (
    a_python_entry_answers,
    an_entry_that_raises_is_a_result,
    a_command_finds_its_files_and_its_exit_code_is_told,
    without_an_answer_the_result_is_none,
    the_payload_names_the_broker_only_where_it_is_shown,
    the_environment_is_what_was_named,
    a_signal_is_told_as_shells_do,
    a_missing_command_is_exit_127,
    the_clock_ends_it,
    too_much_output_ends_it,
    an_answer_above_the_cap_is_none,
    only_the_end_of_stderr_is_kept,
    nothing_started_is_left_behind,
    many_run_at_once_and_none_is_mixed_up,
    code_outside_what_it_may_show_is_refused,
    a_spec_that_reaches_out_of_its_place_is_refused,
)
