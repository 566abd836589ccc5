import sys
import zipfile

import pytest

from harnesspro.core.errors import ProviderError
from harnesspro.formats.wheels import fetch_wheel


def test_a_download_that_fails_tells_the_reason(monkeypatch, tmp_path):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(ProviderError, match="harnesspro-no-such-thing"):
        fetch_wheel("harnesspro-no-such-thing==1", tmp_path)


def test_pip_hands_over_the_wheel_of_a_local_index(monkeypatch, tmp_path):
    made = tmp_path / "index" / "demo_tasks-1-py3-none-any.whl"
    made.parent.mkdir()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr(
            "demo_tasks-1.dist-info/METADATA",
            "Metadata-Version: 2.1\nName: demo-tasks\nVersion: 1\n",
        )
        archive.writestr(
            "demo_tasks-1.dist-info/WHEEL",
            "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        archive.writestr("demo_tasks-1.dist-info/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(made.parent))
    place = tmp_path / "place"
    place.mkdir()
    assert fetch_wheel("demo-tasks==1", place).read_bytes() == made.read_bytes()
    assert "demo_tasks" not in sys.modules
