"""The level is found by starting, not by looking."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from harnesspro.core.errors import SandboxUnavailable
from harnesspro.sandbox import probes, start
from tests.unit.sandbox.boxes import open_folder


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A bubblewrap that is there and cannot start, as where user namespaces are forbidden."""
    with open_folder() as folder:
        script = folder / "bwrap"
        script.write_text(
            "#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2; exit 1\n"
        )
        script.chmod(0o755)
        monkeypatch.setattr(start, "bubblewraps", lambda: iter([(str(script), str(folder))]))
        yield


@pytest.fixture
def absent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start, "bubblewraps", lambda: iter([]))


def test_here_a_sandbox_starts_and_every_promise_holds_inside():
    found = probes.probe()
    assert (found.level, found.reason, found.fix) == ("S3", "", "")
    assert found.guarantees == (*probes.PROMISES.values(), *probes.ALWAYS)
    assert "surviving an exploit of the Linux kernel" in found.not_guaranteed


def test_every_bubblewrap_on_this_machine_can_start():
    found = list(start.bubblewraps())
    assert found
    for bwrap, home in found:
        assert Path(bwrap).is_relative_to(home)


@pytest.mark.usefixtures("broken")
def test_a_bubblewrap_that_cannot_start_is_no_sandbox():
    found = probes.probe()
    assert found.level == "none"
    assert found.reason.endswith("bwrap: bwrap: setting up uid map: Permission denied")
    assert "user namespaces" in found.fix


@pytest.mark.usefixtures("absent")
def test_without_bubblewrap_the_refusal_names_three_ways_out():
    with pytest.raises(SandboxUnavailable) as caught:
        probes.require(allow_unsandboxed=False)
    assert str(caught.value) == (
        "sandbox: no bubblewrap found; expected a bubblewrap that can start; apt install bubblewrap,"
        " or pip install 'harnesspro[sandbox]', or --allow-unsandboxed, whose results are stamped S0"
        " and cannot enter an archive"
    )
    assert caught.value.exit_code == 3


@pytest.mark.usefixtures("absent")
def test_unsandboxed_must_be_asked_for():
    assert probes.require(allow_unsandboxed=True) == "S0"


def test_the_permission_to_go_unsandboxed_is_not_used_where_a_sandbox_starts():
    assert probes.require(allow_unsandboxed=True) == "S3"


def test_elsewhere_than_linux_it_says_what_to_use(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.platform", "darwin")
    found = probes.probe()
    assert (found.level, found.reason) == (
        "none",
        "darwin has no bubblewrap; only unsandboxed runs exist there",
    )
    assert found.fix.startswith("use a Linux virtual machine or container")
