"""Checks and probes that need no model: answer kind -> what an answer can be held to.

Pure; the owner's own checks are commands and run elsewhere.
"""

from __future__ import annotations

from harnesspro.checks.admission import admit
from harnesspro.checks.kinds import (
    cheats,
    checks_for,
    empty_answer,
    impossible_probes_for,
    mutants,
    passes,
    probes_for,
    took_honey,
)

__all__ = [
    "admit",
    "cheats",
    "checks_for",
    "empty_answer",
    "impossible_probes_for",
    "mutants",
    "passes",
    "probes_for",
    "took_honey",
]
