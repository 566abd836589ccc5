from pathlib import Path

import pytest

from harnesspro.cli.starting import showing


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
