import pytest

from harnesspro.core.errors import ConfigError, PatchError
from harnesspro.core.records import Task
from harnesspro.formats.native import harness_from_files, sdk_payload
from harnesspro.formats.yaml_text import parse_yaml, set_yaml_key
from tests.unit.builders import a_harness

DEEP = "a: " + "[" * 500


@pytest.mark.parametrize(
    "value", ["yes", "no", "on", "null", "1", "1e3", "a: b", "[", "schema", ""]
)
def test_text_set_in_an_unquoted_place_reads_back_as_the_same_text(value):
    text = set_yaml_key("samples: 3\nmode: none  # kept\n", "mode", value)
    assert parse_yaml(text, where="t") == {"samples": 3, "mode": value}


def test_comments_and_order_survive_a_set_key():
    text = "b: 1  # first\na: {x: 2}\n"
    assert set_yaml_key(text, "a.x", 5) == "b: 1  # first\na: {x: 5}\n"


@pytest.mark.parametrize("text", ["a: [", "a: b: c", "*a", "a: 2026-13-01", DEEP, "\x00"])
def test_a_text_that_is_no_yaml_is_the_callers_to_mend(text):
    with pytest.raises(ConfigError, match=r"^t: not valid YAML"):
        parse_yaml(text, where="t")


@pytest.mark.parametrize("text", ["a: [", DEEP, "- a", "just text"])
def test_a_key_that_cannot_be_set_is_a_patch_error(text):
    with pytest.raises(PatchError, match=r"^b:"):
        set_yaml_key(text, "b", 1)


@pytest.mark.parametrize("value", ["2026-01-31", "!!set {x}", ".nan", "!!binary aGk="])
def test_a_yaml_part_a_harness_could_not_be_given_is_refused_when_it_is_read(value):
    files = a_harness(samples=2).files | {"budgets.yaml": f"samples: 2\nday: {value}\n"}
    with pytest.raises(ConfigError, match=r"^mine/budgets\.yaml: a value that is no JSON"):
        harness_from_files(files, where="mine")


def test_a_yaml_part_is_given_as_text_and_as_its_value():
    payload = sdk_payload(a_harness(samples=2), Task(task_id="t", input="q"))
    assert payload["harness"]["parts"] == {
        "system": {"kind": "prompt", "text": "Be brief.\n", "value": None},
        "budgets": {"kind": "budget", "text": "samples: 2\n", "value": {"samples": 2}},
    }
