import pytest

from harnesspro.core.errors import ManifestError
from harnesspro.formats.native import harness_from_files, load_harness
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


@pytest.mark.parametrize("name", [b"\xff.txt", b"a\nb.txt", b"\x1b[31m.txt", b"a\\b.txt"])
def test_a_file_whose_name_nobody_can_read_is_refused(tmp_path, name):
    (tmp_path / "harness.yaml").write_text(a_harness().files["harness.yaml"])
    with open(bytes(tmp_path) + b"/" + name, "w"):
        pass
    with pytest.raises(ManifestError, match="an unsafe file name"):
        load_harness(tmp_path)


@pytest.mark.parametrize(
    "limits",
    ["usd: .inf", "usd: .nan", "wall_s: .inf", "calls: 1000000000000", "output_bytes: 99999999999"],
)
def test_a_limit_that_bounds_nothing_is_refused(limits):
    files = dict(a_harness().files)
    files["harness.yaml"] += f"limits: {{{limits}}}\n"
    with pytest.raises(ManifestError, match=f"limits.{limits.partition(':')[0]}"):
        harness_from_files(files, where="mine")
