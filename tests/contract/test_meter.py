"""Every meter passes the shared suite: the desk, the desk behind its socket, and the double."""

from contextlib import contextmanager

import pytest

from harnesspro.broker.client import BrokerClient
from harnesspro.broker.desk import CallDesk
from harnesspro.broker.serve import BrokerServer
from harnesspro.core.ports import Metered
from harnesspro.core.records import Usage
from harnesspro.store.ledger import LedgerWriter
from harnesspro.testing.doubles import MemoryLedger, ScriptedMeter, ScriptedProvider
from harnesspro.testing.meter_cases import METER_CASES
from tests.unit.broker.builders import config, price

NOTHING = Metered(
    usage=Usage(), n_calls=0, n_replayed=0, cost_nanos=0, paid_nanos=0, model_latency_s=0.0
)
PRICES = {"m": price(model="m")}


@contextmanager
def the_double(folder):
    yield ScriptedMeter(lambda grant: NOTHING)


@contextmanager
def the_desk(folder):
    yield CallDesk(config(prices=PRICES), lambda model: ScriptedProvider([]), MemoryLedger())


@contextmanager
def the_socket(folder):
    places = {"trial_socket": str(folder / "s/b"), "admin_socket": str(folder / "s/a")}
    settings = config(prices=PRICES, **places)
    with (
        LedgerWriter(folder / "run") as ledger,
        BrokerServer(settings, lambda model: ScriptedProvider([]), ledger),
    ):
        yield BrokerClient(settings.admin_socket)


@pytest.fixture(params=[the_double, the_desk, the_socket], ids=lambda made: made.__name__)
def meter(request, tmp_path):
    with request.param(tmp_path) as made:
        yield made


@pytest.mark.parametrize("case", METER_CASES, ids=lambda case: case.__name__)
def test_a_meter_owes(case, meter):
    case(meter)
