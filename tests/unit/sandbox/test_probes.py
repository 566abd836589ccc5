"""The level is found by starting, not by looking."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from harnesspro.core.errors import SandboxUnavailable
from harnesspro.sandbox import probes, promises, start
from tests.unit.sandbox.boxes import DENIED, ORDINARY, open_folder

ROOT = Path(__file__).parents[3]


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


def elsewhere(program: str, *denied: str) -> dict[str, object]:
    """What a program prints as an ordinary user whose kernel refuses some things: `namespaces` (as
    in a container by default), `landlock`.
    """
    line = [*ORDINARY] if os.geteuid() == 0 else []
    line += [sys.executable, DENIED, ",".join(denied), sys.executable, "-c", program]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "HOME": "/"}
    done = subprocess.run(line, cwd=ROOT, env=env, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    found: dict[str, object] = json.loads(done.stdout)
    return found


def test_here_the_best_level_starts_and_every_promise_holds_inside():
    found = probes.probe()
    assert (found.level, found.reason, found.fix) == ("S3", "", "")
    assert found.guarantees == promises.promised("S3")
    assert "surviving an exploit of the Linux kernel" in found.not_guaranteed


def test_every_bubblewrap_on_this_machine_can_start():
    found = list(start.bubblewraps())
    assert found
    for bwrap, home in found:
        assert Path(bwrap).is_relative_to(home)


LADDER = """
import json
from harnesspro.sandbox import probes
print(json.dumps({rung.level: [rung.starts, rung.reason] for rung in probes.ladder()}))
"""


def test_an_ordinary_user_has_all_levels_but_the_one_for_root():
    assert elsewhere(LADDER) == {
        "S3": [True, ""],
        "S2r": [False, "PermissionError: [Errno 1] only root can start it"],
        "S2": [True, ""],
        "S0": [True, ""],
    }


BEST = """
import json
from harnesspro.sandbox import probes
found = probes.probe()
print(json.dumps({"level": found.level, "reason": found.reason, "fix": found.fix}))
"""


def test_where_no_namespaces_can_be_made_the_next_level_is_taken_and_the_reason_told():
    found = elsewhere(BEST, "namespaces")
    assert (found["level"], found["fix"]) == ("S2", probes.NAMESPACES)
    reasons = str(found["reason"])
    assert reasons.startswith("S3: ")
    assert reasons.count("No permissions to creat") == len([*start.bubblewraps()])


NONE = """
import json
from harnesspro.core.errors import SandboxUnavailable
from harnesspro.sandbox import probes
try:
    probes.require(allow_unsandboxed=False)
except SandboxUnavailable as error:
    print(json.dumps({
        "error": str(error),
        "code": error.exit_code,
        "allowed": probes.require(allow_unsandboxed=True),
    }))
"""


def test_where_no_level_starts_it_says_so_and_what_to_use():
    found = elsewhere(NONE, "namespaces", "landlock")
    assert (found["code"], found["allowed"]) == (3, "S0")
    error = str(found["error"])
    assert "S2r: PermissionError: [Errno 1] only root can start it" in error
    assert "S2: OSError: [Errno 38] this kernel has no Landlock" in error
    assert error.endswith(
        "let bubblewrap make user namespaces (sysctl kernel.apparmor_restrict_unprivileged_userns=0"
        " or user.max_user_namespaces above 0; in a container --privileged), or"
        " --allow-unsandboxed, whose results are stamped S0 and cannot enter an archive"
    )


@pytest.mark.usefixtures("broken")
def test_a_bubblewrap_that_cannot_start_is_no_sandbox():
    found = probes.rung("S3")
    assert not found.starts
    assert found.reason.endswith("bwrap: bwrap: setting up uid map: Permission denied")
    assert "user namespaces" in found.how


@pytest.mark.usefixtures("absent")
def test_root_without_bubblewrap_gets_the_level_made_for_it_and_hears_how_to_get_the_better():
    if os.geteuid() != 0:
        pytest.fail("this suite runs as root: an ordinary user has no level S2r")
    found = probes.probe()
    assert (found.level, found.reason) == ("S2r", "S3: no bubblewrap found")
    assert found.fix == "apt install bubblewrap, or pip install 'harnesspro[sandbox]'"
    assert found.guarantees == promises.promised("S2r")


def test_a_promise_that_does_not_hold_inside_is_no_level(monkeypatch: pytest.MonkeyPatch):
    with open_folder() as folder:
        facts = (start.HERE / "facts.py").read_text()
        (folder / "facts.py").write_text(facts.replace("os.getuid() != 0", "False"))
        monkeypatch.setattr(probes, "HERE", folder)
        found = probes.rung("S3")
    assert (found.starts, found.reason) == (
        False,
        "it starts, but inside it these do not hold: runs as an ordinary user",
    )


def test_unsandboxed_the_same_program_finds_that_nothing_holds():
    found = probes._ask("S0")
    assert {name for name, holds in found.items() if holds} <= {"no_environment", "not_root"}


def test_the_permission_to_go_unsandboxed_is_not_used_where_a_sandbox_starts():
    assert probes.require(allow_unsandboxed=True) == "S3"


@pytest.mark.usefixtures("broken")
def test_a_run_goes_on_at_the_level_it_began_at_or_hears_of_another():
    assert probes.require_again("S2r", allow_unsandboxed=False) == "S2r"
    assert probes.require_again("S3", allow_unsandboxed=True) == "S2r"


def test_a_run_that_began_at_a_lower_level_is_not_lifted():
    assert probes.require_again("S2r", allow_unsandboxed=False) == "S2r"
    assert probes.require_again("S0", allow_unsandboxed=True) == "S3"


def test_elsewhere_than_linux_it_says_what_to_use(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.platform", "darwin")
    found = probes.probe()
    assert (found.level, found.reason) == (
        "none",
        "darwin has no sandbox of ours; only unsandboxed runs exist there",
    )
    assert found.fix.startswith("use a Linux virtual machine or container, or --allow-unsandboxed")
    with pytest.raises(SandboxUnavailable, match="expected one of them to start"):
        probes.require(allow_unsandboxed=False)


@pytest.mark.parametrize("level", [*promises.LEVELS, "S0"])
def test_each_level_says_of_every_promise_whether_it_is_one(level: str):
    held = set(promises.promised(level))
    missing = set(promises.not_promised(level, as_root=False))
    assert held | missing >= {promise.text for promise in promises.PROMISES}
    assert not held & missing
    assert set(promises.tried(level).values()) <= held
