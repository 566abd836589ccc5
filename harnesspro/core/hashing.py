"""One way to name things by their content: canonical JSON, then SHA-256."""

from __future__ import annotations

import hashlib
import json
from typing import Any


def canonical_json(value: Any) -> str:
    """The one JSON text of a value: sorted keys, no spaces, no NaN.

    Raises:
        ValueError: the value holds a NaN or an infinity.
        TypeError: the value is not JSON.
    """
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def content_hash(*values: Any) -> str:
    """SHA-256 in hex of the canonical JSON of the values, in order."""
    return hashlib.sha256(canonical_json(list(values)).encode()).hexdigest()


def content_id(prefix: str, *values: Any) -> str:
    """A short, stable name: the prefix and the first 16 hex digits of the content hash."""
    return f"{prefix}-{content_hash(*values)[:16]}"


def seed_from(*values: Any) -> int:
    """A 63-bit seed that depends on the values alone."""
    return int(content_hash(*values)[:16], 16) & 0x7FFF_FFFF_FFFF_FFFF
