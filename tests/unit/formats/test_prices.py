import pytest

from harnesspro.core.errors import ConfigError
from harnesspro.core.money import cost_nanos, worst_case_nanos
from harnesspro.core.records import Usage
from harnesspro.formats.prices import read_prices


def a_table(folder, text):
    path = folder / "prices.yaml"
    path.write_text(text)
    return path


def test_dollars_for_a_million_tokens_become_nano_dollars_by_class(tmp_path):
    path = a_table(tmp_path, "acme/m: {in: 0.25, out: 2, cache_read: 0.025, reasoning: 4}\n")
    price = read_prices(path)["acme/m"]
    assert price.in_nanos_per_mtok == 250_000_000
    assert price.cache_read_nanos_per_mtok == 25_000_000
    assert price.cache_write_nanos_per_mtok == 250_000_000
    assert (price.out_nanos_per_mtok, price.reasoning_nanos_per_mtok) == (2 * 10**9, 4 * 10**9)
    assert price.paid
    assert price.source.startswith("prices.yaml, sha256 ")


def test_thought_tokens_cost_their_own_price_and_the_worst_case_covers_them(tmp_path):
    path = a_table(tmp_path, "m: {in: 1, out: 2, reasoning: 6}\n")
    price = read_prices(path)["m"]
    usage = Usage(uncached_in_tokens=1000, out_tokens=500, reasoning_tokens=400)
    assert cost_nanos(usage, price) == 1000 * 1000 + 100 * 2000 + 400 * 6000
    assert worst_case_nanos(in_tokens=1000, max_out_tokens=500, price=price) >= cost_nanos(
        usage, price
    )


def test_more_thought_than_output_is_priced_as_all_of_the_output(tmp_path):
    price = read_prices(a_table(tmp_path, "m: {in: 1, out: 2, reasoning: 6}\n"))["m"]
    assert cost_nanos(Usage(out_tokens=5, reasoning_tokens=50), price) == 5 * 6000


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("m: {in: 0, out: 1}", "in is 0"),
        ("m: {in: 1}", "out is"),
        ("m: {in: 1, out: -2}", "out is -2"),
        ("m: {in: 1, out: 2, cached: 1}", "cached is 1"),
        ("m: free", "the line is 'free'"),
        ("[1]", "no price table"),
        ("a: &x {in: 1, out: 1}\nb: *x", "not valid YAML"),
    ],
)
def test_what_is_no_price_is_refused_with_its_place(tmp_path, text, found):
    with pytest.raises(ConfigError, match=found) as caught:
        read_prices(a_table(tmp_path, text))
    assert "prices.yaml" in caught.value.where


def test_a_table_that_is_not_there_is_said(tmp_path):
    with pytest.raises(ConfigError, match="cannot be read"):
        read_prices(tmp_path / "none.yaml")
