"""The ledger under load: commits a second and their slowest percent, growth to many trials, one purse
raced for by 64, and how long a run of that size takes to its first new trial when it goes on.

Run it: python -m tests.bench.ledger [TRIALS]   (100,000 by default: some ten minutes)
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harnesspro.core.decide import RunRound, decide
from harnesspro.core.errors import BudgetExhausted
from harnesspro.core.ports import CallEnd, ChatReply, ChatRequest, Grant, PlannedCall, Purse
from harnesspro.core.records import Limits, Trial, Usage
from harnesspro.formats.content import harness_path
from harnesspro.formats.native import load_harness
from harnesspro.loop import scan
from harnesspro.loop.live import live_ids
from harnesspro.proposers.operators import OperatorProposer
from harnesspro.store.ledger import LedgerWriter
from tests.bench.at_hand import a_search, sim_tasks

MODEL = "sim/small"
REPLY = "word " * 40
PROMPT = "Choose the option that fits the notes best. " * 20


def grant(trial_id: str, *, harness_id: str = "h", task_id: str = "t") -> Grant:
    """What one trial may do."""
    return Grant(
        trial_id=trial_id,
        harness_id=harness_id,
        task_id=task_id,
        draw="search/0",
        purse="target",
        models={"worker": MODEL},
        max_output_tokens={"worker": 100},
        limits=Limits(),
    )


def planned(
    trial_id: str, attempt: int, *, reserved: int = 2000, cap: int | None = None
) -> PlannedCall:
    """One call of a trial."""
    return PlannedCall(
        trial_id=trial_id,
        attempt=attempt,
        index=0,
        role="worker",
        draw="search/0",
        purse="target",
        replay_key=f"{trial_id}/{attempt}",
        reserved_nanos=reserved,
        paid=True,
        within=(Purse(path="run", kind="run", cap_nanos=cap),),
        request=ChatRequest(
            model=MODEL,
            messages=({"role": "user", "content": PROMPT + trial_id},),
            max_output_tokens=100,
        ),
    )


def done(nanos: int) -> CallEnd:
    """A call that was answered."""
    usage = Usage(uncached_in_tokens=200, out_tokens=50)
    reply = ChatReply(text=REPLY, finish_reason="stop", usage=usage, model=MODEL, latency_s=1.0)
    return CallEnd("done", reply=reply, attributed_nanos=nanos)


def record(ledger: LedgerWriter, trial: Trial) -> None:
    """All that a trial of one call writes: four commits."""
    asked = grant(trial.trial_id, harness_id=trial.harness_id, task_id=trial.task_id)
    attempt = ledger.open_attempt(asked)
    ledger.settle(ledger.send(planned(trial.trial_id, attempt)), done(1500))
    ledger.put("trial", trial.trial_id, trial.model_dump(mode="json"))


def trials(n: int, *, harness_ids: list[str], task_ids: list[str], draw: str) -> Iterator[Trial]:
    """Distinct trials of these harnesses on these tasks."""
    for index in range(n):
        yield Trial(
            trial_id=f"{draw}-{index:07d}",
            harness_id=harness_ids[index % len(harness_ids)],
            task_id=task_ids[index // len(harness_ids) % len(task_ids)],
            draw=draw,
            outcome="answered",
            answer="word",
            usage=Usage(uncached_in_tokens=200, out_tokens=50),
            n_calls=1,
            cost_nanos=1500,
            paid_nanos=1500,
            latency_s=1.0,
        )


def growth(n: int) -> None:
    """Fill a ledger with a run's worth of trials; then open it again and go on with that run."""
    with tempfile.TemporaryDirectory(prefix="hp-") as folder:
        place = Path(folder) / "r"
        going_on_s = filled(place, n)
        started = time.perf_counter()
        with LedgerWriter(place / "run"):
            opening_s = time.perf_counter() - started
        size = (place / "run" / "ledger.db").stat().st_size / 1e6
        say(
            f"going on: {opening_s:.2f} s to open and check a ledger of {size:.0f} MB, "
            f"{going_on_s:.2f} s from there to what the next round begins with"
        )


def filled(place: Path, n: int) -> float:
    """Print how the ledger took the trials; seconds from the open ledger to the next round's parents."""
    base = load_harness(harness_path("builtin:planted"))
    settings: dict[str, Any] = {
        "n_search": 60,
        "n_confirm": 30,
        "n_rounds": 1000,
        "max_candidates": 4000,
    }
    tasks, proposers = sim_tasks(1, 100), (OperatorProposer(),)
    with a_search(place, base, tasks=tasks, proposers=proposers, **settings) as bench:
        ledger = bench.ports.ledger
        assert isinstance(ledger, LedgerWriter)
        ids = [task.task_id for task in bench.search]
        each = []
        for trial in trials(n, harness_ids=[base.harness_id], task_ids=ids, draw="filler/0"):
            started = time.perf_counter()
            record(ledger, trial)
            each.append(time.perf_counter() - started)
        tenth = max(1, n // 10)
        first, last = statistics.median(each[:tenth]), statistics.median(each[-tenth:])
        middle, slow = statistics.median(each), sorted(each)[int(0.99 * (n - 1))]
        say(f"{n} trials, four commits each: {4 * n / sum(each):.0f} commits/s")
        say(f"a trial's commits: {1e3 * middle:.2f} ms median, {1e3 * slow:.2f} ms p99")
        say(f"last tenth against first tenth: {last / first:.2f} times")
        started = time.perf_counter()
        command = decide(scan.scan(bench))
        assert isinstance(command, RunRound)
        live_ids(bench)
        return time.perf_counter() - started


def race(n_threads: int = 64, n_trials: int = 1000, cap: int = 1_000_003) -> None:
    """Everybody reserves from one purse; what it gave never passes its cap."""
    with tempfile.TemporaryDirectory(prefix="hp-") as folder, LedgerWriter(folder) as ledger:
        most, refused = [0], [0]
        lock = threading.Lock()

        def ask(worker: int) -> None:
            for index in range(n_trials // n_threads + 1):
                name = f"w{worker}-{index}"
                attempt = ledger.open_attempt(grant(name))
                try:
                    call_id = ledger.send(planned(name, attempt, reserved=1999, cap=cap))
                except BudgetExhausted:
                    with lock:
                        refused[0] += 1
                    continue
                purse = next(p for p in ledger.purses() if p.path == "run")
                with lock:
                    most[0] = max(most[0], purse.reserved_nanos + purse.charged_nanos)
                ledger.settle(call_id, done(1500 if index % 3 else 1999))

        threads = [threading.Thread(target=ask, args=(n,)) for n in range(n_threads)]
        started = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        seconds = time.perf_counter() - started
        (purse,) = (p for p in ledger.purses() if p.path == "run")
        assert purse.reserved_nanos == 0
        assert max(most[0], purse.charged_nanos) <= cap
        say(
            f"{n_threads} at one purse of {cap} nano-dollars: {purse.charged_nanos} given, {refused[0]} "
            f"refused, never more than {most[0]} held and given together; {seconds:.1f} s"
        )


def say(line: str) -> None:
    """One line of the result."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    race()
    growth(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
