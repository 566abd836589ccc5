import pytest

from harnesspro.core.errors import ManifestError
from harnesspro.formats.native import harness_from_files
from tests.unit.builders import a_harness


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        ("{kind: json}", "{kind: json, schema: reply.json}", "answer.schema: 'reply.json'"),
        ("int: [1, 5]", "int: [1]", "knobs.samples.int.1: nothing"),
        ("kind: budget", "kind: money", "parts.budgets.kind: 'money'"),
    ],
)
def test_a_wrong_value_is_named_as_the_manifest_spells_it(old, new, where):
    files = dict(a_harness(samples=3).files)
    files["harness.yaml"] = files["harness.yaml"].replace(old, new)
    with pytest.raises(ManifestError) as caught:
        harness_from_files(files, where="mine")
    assert str(caught.value).startswith(f"mine/harness.yaml: {where}; expected ")
