"""Calls per second, and milliseconds a trial, through a whole broker process with an instant model.

Run it: python tests/bench/broker.py [TRIALS]
"""

import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from harnesspro.broker.client import BrokerClient
from harnesspro.broker.serve import serve
from harnesspro.sdk import SocketTransport
from harnesspro.store.ledger import LedgerWriter
from harnesspro.testing.doubles import ScriptedProvider, reply_of
from tests.unit.broker.builders import config, grant

PROMPT = "Choose the function that answers the request. " * 40


def broker(settings, n_calls):
    provider = ScriptedProvider([lambda request: reply_of("yes", request)] * n_calls)
    with LedgerWriter(settings.run_dir) as ledger:
        serve(settings, lambda model: provider, ledger)
    os._exit(0)


def trial(settings, name, text):
    """Open, one call, close, one record; in seconds."""
    client, started = BrokerClient(settings.admin_socket), time.perf_counter()
    token = client.open_trial(grant(name))
    message = {"role": "user", "content": PROMPT + text}
    SocketTransport(settings.trial_socket, token)({"model": "solver", "messages": [message]})
    client.put("trial", name, client.close_trial(token).model_dump(mode="json"))
    return time.perf_counter() - started


def measure(settings, what, names, *, n_threads):
    started = time.perf_counter()
    with ThreadPoolExecutor(n_threads) as pool:
        each = list(pool.map(lambda name: trial(settings, *name), names))
    rate = len(each) / (time.perf_counter() - started)
    middle, slow = statistics.median(each) * 1e3, statistics.quantiles(each, n=20)[-1] * 1e3
    line = f"{what:28} {rate:6.0f} trials/s   {middle:5.1f} ms median   {slow:5.1f} ms p95\n"
    sys.stdout.write(line)


def main(n_trials):
    with tempfile.TemporaryDirectory(prefix="hp-") as folder:
        settings = config(
            run_dir=f"{folder}/run",
            trial_socket=f"{folder}/b",
            admin_socket=f"{folder}/a",
            parent_pid=os.getpid(),
            cap_nanos=10**12,
        )
        process = multiprocessing.get_context("fork").Process(
            target=broker, args=(settings, 2 * n_trials)
        )
        process.start()
        BrokerClient(settings.admin_socket).wait_ready()
        paid = [(f"a{n}", f"a{n}") for n in range(n_trials)]
        replayed = [(f"b{n}", f"a{n}") for n in range(n_trials)]
        at_once = [(f"c{n}", f"c{n}") for n in range(n_trials)]
        measure(settings, "paid, one at a time", paid, n_threads=1)
        measure(settings, "replayed, one at a time", replayed, n_threads=1)
        measure(settings, "paid, eight at once", at_once, n_threads=8)
        process.terminate()
        process.join()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 300)
