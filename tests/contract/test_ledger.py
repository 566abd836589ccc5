"""Every ledger passes the shared suite: the file, the double, and the file seen by a reader."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harnesspro.broker.client import BrokerClient
from harnesspro.broker.serve import BrokerServer
from harnesspro.store.ledger import LedgerReader, LedgerWriter
from harnesspro.testing.doubles import MemoryLedger, ScriptedProvider
from harnesspro.testing.suites import CALL_LEDGER_CASES, LEDGER_CASES
from tests.unit.broker.builders import config


class ReadBack:
    """Writes through the writer, reads through a reader of the same folder."""

    def __init__(self, run_dir):
        self.writer = LedgerWriter(run_dir)
        self.reader = LedgerReader(run_dir)
        self.put = self.writer.put
        self.open_attempt, self.replay = self.writer.open_attempt, self.writer.replay
        self.send, self.settle = self.writer.send, self.writer.settle
        self.get, self.all = self.reader.get, self.reader.all
        self.steps, self.spend = self.reader.steps, self.reader.spend

    def close(self):
        self.reader.close()
        self.writer.close()


MAKERS: dict[str, Callable[[Path], Any]] = {
    "writer": LedgerWriter,
    "reader": ReadBack,
    "double": lambda run_dir: MemoryLedger(),
}


@pytest.fixture(params=MAKERS)
def ledger(request, tmp_path):
    made = MAKERS[request.param](tmp_path / "run")
    yield made
    close = getattr(made, "close", None)
    if close is not None:
        close()


@pytest.mark.parametrize("case", LEDGER_CASES, ids=lambda case: case.__name__)
def test_ledger(case, ledger):
    case(ledger)


@pytest.mark.parametrize("case", CALL_LEDGER_CASES, ids=lambda case: case.__name__)
def test_call_ledger(case, ledger):
    case(ledger)


@pytest.mark.parametrize("case", LEDGER_CASES, ids=lambda case: case.__name__)
def test_ledger_through_the_broker(case, tmp_path):
    folder = tmp_path / "s"
    settings = config(trial_socket=str(folder / "b"), admin_socket=str(folder / "a"))
    with (
        LedgerWriter(tmp_path / "run") as ledger,
        BrokerServer(settings, lambda model: ScriptedProvider([]), ledger),
    ):
        case(BrokerClient(settings.admin_socket))
