import os
from pathlib import Path

import pytest

from harnesspro.cli.guarding import firewall_level, showing


@pytest.mark.parametrize(
    ("vault", "shown"),
    [
        ("apart/vault", None),
        ("open/data/vault", "open"),
        ("open", "open"),
        ("link/vault", "open"),
        ("", "open"),
        ("opening/vault", None),
    ],
)
def test_a_vault_in_a_folder_that_stays_readable_is_noticed(
    tmp_path: Path, vault: str, shown: str | None
) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "open")
    found = showing(tmp_path / vault, ["/nowhere", str(tmp_path / "open")])
    assert found == (None if shown is None else str(tmp_path / shown))


@pytest.mark.parametrize(
    ("landlocked", "isolated", "shown", "uid", "level"),
    [
        (True, True, False, os.geteuid() + 1, "F2"),
        (True, True, False, os.geteuid(), "F1"),
        (True, True, False, None, "F1"),
        (False, True, False, os.geteuid() + 1, "F0"),
        (True, False, False, os.geteuid() + 1, "F0"),
        (True, True, True, os.geteuid() + 1, "F0"),
    ],
)
def test_a_wall_is_as_strong_as_its_weakest_part(
    landlocked: bool, isolated: bool, shown: bool, uid: int | None, level: str
) -> None:
    found = firewall_level(landlocked=landlocked, isolated=isolated, shown=shown, grader_uid=uid)
    assert found == level
