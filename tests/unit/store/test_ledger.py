"""The ledger file: what a crash leaves, what a second writer meets, what damage looks like."""

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harnesspro.core.documents import Spend
from harnesspro.core.errors import (
    BudgetExhausted,
    ConfigError,
    IntegrityError,
    RunLocked,
    UsageError,
)
from harnesspro.core.ports import CallEnd, ChatReply, ChatRequest, Grant, PlannedCall, Purse
from harnesspro.core.records import Limits, Usage
from harnesspro.store.ledger import LedgerReader, LedgerWriter
from harnesspro.store.run_lock import file_system_of

GRANT = Grant(
    trial_id="t",
    harness_id="h",
    task_id="task",
    draw="search/0",
    purse="target",
    models={"solver": "m"},
    max_output_tokens={"solver": 10},
    limits=Limits(),
)


def call(index=0, *, nanos=100, paid=True):
    return PlannedCall(
        trial_id="t",
        attempt=0,
        index=index,
        role="solver",
        draw="search/0",
        purse="target",
        replay_key=f"k{index}",
        reserved_nanos=nanos,
        paid=paid,
        request=ChatRequest(
            model="m", messages=({"role": "user", "content": "hi"},), max_output_tokens=10
        ),
    )


def capped(planned, nanos):
    return replace(planned, within=(Purse(path="run", kind="run", cap_nanos=nanos),))


def done(nanos):
    usage = Usage(uncached_in_tokens=1, out_tokens=1)
    reply = ChatReply(text="yes", finish_reason="stop", usage=usage, model="m", latency_s=0.1)
    return CallEnd("done", reply=reply, attributed_nanos=nanos)


@pytest.fixture
def writer(tmp_path):
    made = LedgerWriter(tmp_path)
    made.open_attempt(GRANT)
    yield made
    made.close()


def purse_of(run_dir):
    with sqlite3.connect(run_dir / "ledger.db") as connection:
        return connection.execute(
            "SELECT cap_nanos, reserved_nanos, charged_nanos FROM purses WHERE name = 'run'"
        ).fetchone()


CRASH = """
import os, sys
sys.path.insert(0, {tests!r})
from test_ledger import GRANT, LedgerWriter, call, capped, done
writer = LedgerWriter({run_dir!r})
writer.open_attempt(GRANT)
writer.settle(writer.send(capped(call(0), 1000)), done(40))
writer.send(capped(call(1, nanos=300), 1000))
writer.send(capped(call(2, nanos=200, paid=False), 1000))
writer.put("trial", "kept", 1)
print("sent", flush=True)
sys.stdin.read()
"""


def test_a_call_in_flight_when_the_writer_is_killed_is_ambiguous_and_stays_charged(tmp_path):
    program = CRASH.format(tests=os.path.dirname(__file__), run_dir=str(tmp_path))
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"sent\n"
        child.send_signal(signal.SIGKILL)
    crashed = LedgerReader(tmp_path)
    assert [each.state for each in crashed.calls()] == ["done", "sent", "sent"]
    crashed.close()
    writer = LedgerWriter(tmp_path)
    assert [each.state for each in writer.calls()] == ["done", "ambiguous", "ambiguous"]
    assert writer.spend() == Spend(
        improver_usd=0.0, target_usd=5.4e-7, paid_usd=3.4e-7, n_ambiguous_calls=2
    )
    assert writer.get("trial", "kept") == 1
    with pytest.raises(BudgetExhausted, match=r"0 held for calls in flight"):
        writer.send(capped(call(3, nanos=461), 1000))
    writer.send(capped(call(3, nanos=460), 1000))
    writer.close()
    assert purse_of(tmp_path) == (1000, 460, 540)


def test_a_second_writer_is_refused_and_told_who_writes(writer, tmp_path):
    with pytest.raises(RunLocked, match=rf"process {os.getpid()} writes this run; wait"):
        LedgerWriter(tmp_path)


def test_a_closed_ledger_can_be_opened_again_and_is_one_plain_file(tmp_path):
    LedgerWriter(tmp_path).close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ledger.db", "writer.lock"]
    LedgerWriter(tmp_path).close()


def test_a_reader_follows_the_writer_and_writes_nothing(writer, tmp_path):
    reader = LedgerReader(tmp_path)
    writer.put("trial", "a", 1)
    assert reader.get("trial", "a") == 1
    with pytest.raises(UsageError, match="opened for looking"):
        reader.put("trial", "b", 2)
    reader.close()


def test_a_reader_works_in_a_folder_nobody_may_write(tmp_path):
    writer = LedgerWriter(tmp_path)
    writer.put("trial", "a", 1)
    writer.close()
    tmp_path.chmod(0o500)
    reader = LedgerReader(tmp_path)
    assert reader.all("trial") == [("a", 1)]
    reader.close()
    tmp_path.chmod(0o700)


def test_a_folder_without_a_ledger_says_so(tmp_path):
    with pytest.raises(ConfigError, match="no such ledger"):
        LedgerReader(tmp_path)


def test_a_file_that_is_no_ledger_is_an_integrity_error(tmp_path):
    (tmp_path / "ledger.db").write_bytes(b"nothing like a database" * 100)
    with pytest.raises(IntegrityError, match="not a database"):
        LedgerWriter(tmp_path)
    with pytest.raises(IntegrityError, match="not a database"):
        LedgerReader(tmp_path)


def test_a_damaged_page_is_found_when_the_ledger_is_opened(tmp_path):
    writer = LedgerWriter(tmp_path)
    for number in range(200):
        writer.put("trial", f"{number}", "x" * 500)
    writer.close()
    whole = bytearray((tmp_path / "ledger.db").read_bytes())
    middle = len(whole) // 2
    whole[middle : middle + 4096] = b"\xff" * 4096
    (tmp_path / "ledger.db").write_bytes(whole)
    with pytest.raises(IntegrityError):
        LedgerWriter(tmp_path)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE records SET value = '2'",
        "DELETE FROM records",
        "UPDATE calls SET charged_nanos = 0",
        "DELETE FROM calls",
        "UPDATE purses SET charged_nanos = 101",
    ],
)
def test_the_tables_themselves_refuse_to_be_rewritten(writer, tmp_path, statement):
    writer.put("trial", "a", 1)
    writer.settle(writer.send(capped(call(), 100)), done(40))
    with (
        sqlite3.connect(tmp_path / "ledger.db") as connection,
        pytest.raises(sqlite3.IntegrityError),
    ):
        connection.execute(statement)


def test_two_paid_replies_cannot_stand_under_one_key(writer):
    first, second = call(0), call(0)
    one = writer.send(first)
    two = writer.send(
        PlannedCall(**{name: getattr(second, name) for name in second.__slots__} | {"index": 1}),
    )
    writer.settle(one, done(1))
    with pytest.raises(IntegrityError, match="UNIQUE"):
        writer.settle(two, done(1))


def test_a_cap_below_what_is_spent_refuses_the_next_call(writer):
    writer.settle(writer.send(capped(call(0), 1000)), done(400))
    with pytest.raises(BudgetExhausted, match="raise the budget to go on"):
        writer.send(capped(call(1), 300))


@settings(max_examples=8, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 400), st.floats(0, 1)), min_size=1, max_size=12))
def test_the_purse_balances_for_any_reservations_and_bills(tmp_path_factory, calls):
    writer = LedgerWriter(tmp_path_factory.mktemp("run"))
    writer.open_attempt(GRANT)
    charged = 0
    for index, (nanos, share) in enumerate(calls):
        try:
            call_id = writer.send(capped(call(index, nanos=nanos), 1000))
        except BudgetExhausted:
            assert charged + nanos > 1000
            continue
        bill = int(nanos * share)
        writer.settle(call_id, done(bill))
        charged += bill
    assert writer.spend().paid_usd == pytest.approx(charged / 1e9)
    writer.close()


def test_thirty_two_callers_at_once_never_pass_the_cap(writer, tmp_path):
    refused = []

    def spend_some(caller):
        for turn in range(4):
            try:
                call_id = writer.send(capped(call(caller * 4 + turn, nanos=100), 5000))
            except BudgetExhausted:
                refused.append(caller)
            else:
                writer.settle(call_id, done(90))

    callers = [threading.Thread(target=spend_some, args=(caller,)) for caller in range(32)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    cap, reserved, charged = purse_of(tmp_path)
    n_done = sum(each.state == "done" for each in writer.calls())
    assert (cap, reserved, charged) == (5000, 0, 90 * n_done)
    assert n_done + len(refused) == 128
    assert 4800 < charged <= 5000


def test_the_deepest_mount_names_the_file_system(tmp_path):
    mounts = (
        "22 1 254:0 / / rw - ext4 /dev/vda rw\n"
        f"30 22 0:40 / {tmp_path} rw,relatime shared:5 - nfs4 host:/export rw\n"
    )
    assert file_system_of(tmp_path / "run", mounts) == "nfs4"
    assert file_system_of(tmp_path.parent, mounts) == "ext4"


def test_a_ledger_of_another_form_is_refused_and_left_as_it_is(tmp_path):
    LedgerWriter(tmp_path).close()
    with sqlite3.connect(tmp_path / "ledger.db") as connection:
        connection.execute("PRAGMA user_version = 1")

    with pytest.raises(ConfigError, match="a ledger of form 1"):
        LedgerWriter(tmp_path)

    with LedgerReader(tmp_path) as reader:
        assert reader.calls() == ()


def test_the_purses_show_where_the_money_went(writer):
    inner = (
        Purse(path="run", kind="run", cap_nanos=1000),
        Purse(path="run/target", kind="run"),
        Purse(path="run/target/round 1", kind="round", cap_nanos=500),
    )
    writer.settle(writer.send(replace(call(0), within=inner)), done(40))
    writer.settle(writer.send(replace(call(1), within=inner[:2])), done(7))

    assert [(p.path, p.cap_nanos, p.charged_nanos) for p in writer.purses()] == [
        ("run", 1000, 47),
        ("run/target", None, 47),
        ("run/target/round 1", 500, 40),
    ]
