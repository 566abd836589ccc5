import pytest

from harnesspro.formats.native import parse_yaml, set_yaml_key


@pytest.mark.parametrize(
    "value", ["yes", "no", "on", "null", "1", "1e3", "a: b", "[", "schema", ""]
)
def test_text_set_in_an_unquoted_place_reads_back_as_the_same_text(value):
    text = set_yaml_key("samples: 3\nmode: none  # kept\n", "mode", value)
    assert parse_yaml(text, where="t") == {"samples": 3, "mode": value}


def test_comments_and_order_survive_a_set_key():
    text = "b: 1  # first\na: {x: 2}\n"
    assert set_yaml_key(text, "a.x", 5) == "b: 1  # first\na: {x: 5}\n"
