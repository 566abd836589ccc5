"""One launcher a level for the whole suite; where bubblewrap is missing the attacks fail, loudly."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.sandbox.boxes import Box, launched, open_folder

GOLD = "the-right-answer-is-4711"


@pytest.fixture(scope="session")
def s3() -> Iterator[Box]:
    with launched("S3") as box:
        yield box


@pytest.fixture(scope="session")
def s0() -> Iterator[Box]:
    """No isolation: where an attack is shown to work, so that the defence is what stops it."""
    with launched("S0") as box:
        yield box


@pytest.fixture
def vault() -> Iterator[Path]:
    """A closed folder with gold in it, on an open path."""
    with open_folder() as folder:
        path = folder / "vault"
        path.mkdir(mode=0o700)
        (path / "gold.jsonl").write_text(GOLD)
        yield path
