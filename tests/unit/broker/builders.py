"""One-line makings for the broker's tests."""

import json

from harnesspro.broker.config import BrokerConfig
from harnesspro.core.ports import Grant
from harnesspro.core.records import Limits, Price

MODEL = "scripted/m"


def price(**changes):
    base = {
        "model": MODEL,
        "in_nanos_per_mtok": 1_000_000,
        "out_nanos_per_mtok": 1_000_000,
        "cache_read_nanos_per_mtok": 1_000_000,
        "cache_write_nanos_per_mtok": 1_000_000,
        "source": "test",
    }
    return Price.model_validate(base | changes)


def config(**changes):
    base = {
        "run_dir": "/nowhere",
        "trial_socket": "/nowhere/b.sock",
        "admin_socket": "/nowhere/a.sock",
        "cap_nanos": None,
        "prices": {MODEL: price()},
        "call_timeout_s": 5.0,
        "parent_pid": 1,
        "backoff_s": 0.01,
    }
    return BrokerConfig.model_validate(base | changes)


def grant(trial_id="t-1", **changes):
    base = {
        "trial_id": trial_id,
        "harness_id": "h",
        "task_id": "task",
        "draw": "search/0",
        "purse": "target",
        "models": {"solver": MODEL},
        "max_output_tokens": {"solver": 50},
        "limits": Limits(),
    }
    return Grant.model_validate(base | changes)


def body(text="hi", **changes):
    base = {"model": "solver", "messages": [{"role": "user", "content": text}]}
    return json.dumps(base | changes).encode()
