import pytest

from harnesspro.core.errors import ModelUnknown
from harnesspro.core.records import Price, Step, Usage
from harnesspro.core.reprice import on_front, repriced, trial_cost


def a_price(model, in_usd, out_usd):
    nanos_in, nanos_out = round(in_usd * 1e9), round(out_usd * 1e9)
    return Price(
        model=model,
        in_nanos_per_mtok=nanos_in,
        out_nanos_per_mtok=nanos_out,
        cache_read_nanos_per_mtok=nanos_in,
        cache_write_nanos_per_mtok=nanos_in,
        source="a test",
    )


def a_step(model, n_in, n_out):
    return Step(
        index=0,
        role="writer",
        model=model,
        request={},
        reply="",
        finish_reason="stop",
        usage=Usage(uncached_in_tokens=n_in, out_tokens=n_out),
        cost_nanos=1,
        latency_s=0.1,
    )


def test_each_call_is_priced_as_its_own_model():
    prices = {"a": a_price("a", 1, 2), "b": a_price("b", 10, 0)}
    steps = [a_step("a", 100, 10), a_step("b", 5, 7)]
    assert trial_cost(steps, prices) == 100 * 1000 + 10 * 2000 + 5 * 10_000


def test_a_model_without_a_price_is_named():
    with pytest.raises(ModelUnknown, match="model b"):
        trial_cost([a_step("b", 1, 1)], {"a": a_price("a", 1, 1)})


def test_means_are_dollars_a_task():
    row = repriced("h", [(10**9, 2 * 10**9), (3 * 10**9, 4 * 10**9)])
    assert (row.n, row.was_usd, row.is_usd) == (2, 2.0, 3.0)


def test_a_front_holds_what_nothing_beats_on_both():
    places = {"a": (0.8, 1.0), "b": (0.8, 2.0), "c": (0.9, 3.0), "d": (None, 0.1)}
    assert on_front(places) == {"a", "c"}
