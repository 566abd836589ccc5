"""One wheel of the package index as a file: downloaded by pip, never installed, never run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from harnesspro.core.errors import ProviderError

_PIP_S = 900.0
_FIX = "check the network and that `python -m pip` works, then run it again"


def fetch_wheel(requirement: str, place: Path) -> Path:
    """The one wheel of a requirement, put into `place` by pip under its own configuration.

    Without pip's cache, which would keep what is inside; right answers may be among it.

    Raises:
        ProviderError: pip did not give exactly one wheel in time.
    """
    command = [sys.executable, "-P", "-m", "pip", "download", "--quiet", "--no-input"]
    command += ["--no-deps", "--only-binary", ":all:", "--no-cache-dir", "--dest", str(place)]
    try:
        done = subprocess.run(
            [*command, requirement],
            cwd=place,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_PIP_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise ProviderError(requirement, f"nothing within {_PIP_S:.0f} s", fix=_FIX) from error
    wheels = sorted(place.glob("*.whl"))
    if done.returncode != 0 or len(wheels) != 1:
        lines = done.stderr.strip().splitlines() or ["pip gave no wheel"]
        raise ProviderError(requirement, lines[-1][:200], fix=_FIX)
    return wheels[0]
