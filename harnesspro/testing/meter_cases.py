"""What every `Meter` must do; see `harnesspro.testing.suites` for how a suite is run.

A case is given a fresh meter that knows the model `m`.
"""

# ruff: noqa: D103 - the name of a case is its sentence

from __future__ import annotations

from collections.abc import Callable

from harnesspro.core.documents import Spend
from harnesspro.core.errors import UsageError
from harnesspro.core.ports import Grant, Meter, Metered
from harnesspro.core.records import Limits, Usage


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


def _is_refused(meter: Meter, token: str) -> bool:
    try:
        meter.close_trial(token)
    except UsageError:
        return True
    return False


def every_trial_has_a_token_of_its_own(meter: Meter) -> None:
    tokens = [meter.open_trial(_grant(name)) for name in ("t-1", "t-2", "t-1")]
    assert len(set(tokens)) == 3


def a_trial_that_asked_nothing_used_nothing(meter: Meter) -> None:
    metered = meter.close_trial(meter.open_trial(_grant()))
    assert metered == Metered(
        usage=Usage(), n_calls=0, n_replayed=0, cost_nanos=0, paid_nanos=0, model_latency_s=0.0
    )


def a_token_is_good_for_one_close(meter: Meter) -> None:
    token = meter.open_trial(_grant())
    meter.close_trial(token)
    assert _is_refused(meter, token)


def a_token_nobody_was_given_is_refused(meter: Meter) -> None:
    meter.open_trial(_grant())
    assert _is_refused(meter, "made-up")


def trials_that_asked_nothing_spend_nothing(meter: Meter) -> None:
    meter.close_trial(meter.open_trial(_grant()))
    assert meter.spend() == Spend(improver_usd=0.0, target_usd=0.0, paid_usd=0.0)


METER_CASES: tuple[Callable[[Meter], None], ...] = (
    every_trial_has_a_token_of_its_own,
    a_trial_that_asked_nothing_used_nothing,
    a_token_is_good_for_one_close,
    a_token_nobody_was_given_is_refused,
    trials_that_asked_nothing_spend_nothing,
)
