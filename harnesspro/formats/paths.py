"""Where HarnessPro keeps a user's things between runs: the XDG base directories."""

from __future__ import annotations

import os
from pathlib import Path


def cache_dir() -> Path:
    """What can be fetched or made again: `$XDG_CACHE_HOME/harnesspro`, else below `~/.cache`."""
    return _base("XDG_CACHE_HOME", ".cache")


def data_dir() -> Path:
    """What is the user's own: `$XDG_DATA_HOME/harnesspro`, else below `~/.local/share`."""
    return _base("XDG_DATA_HOME", ".local/share")


def vault_home() -> Path:
    """Where right answers are kept; only a grader opens what is inside."""
    return data_dir() / "vault"


def _base(variable: str, fallback: str) -> Path:
    named = os.environ.get(variable, "")
    # The XDG rules: a relative value is invalid and counts as unset.
    base = Path(named) if os.path.isabs(named) else Path.home() / fallback
    return base / "harnesspro"
