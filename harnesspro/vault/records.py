"""What the vault keeps of one task, and the commitments that bind it. Pure.

A record is committed before anything runs: HMAC-SHA256 under its own 128-bit salt (short answers
could be guessed from a plain hash), then a Merkle tree over the records in file order.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Sequence

from pydantic import Field, JsonValue, ValidationError

from harnesspro.core.errors import IntegrityError
from harnesspro.core.hashing import canonical_json
from harnesspro.core.records import Record

SECRET_BYTES = 16


class VaultRecord(Record):
    """Everything of a task that is not public."""

    task_id: str
    salt: str
    canary: str
    """32 hex digits that stand nowhere else: found elsewhere, they prove a leak."""
    gold: JsonValue = None
    """None: this task has no right answer on record."""
    rest: dict[str, JsonValue] = Field(default_factory=dict)
    """The fields of the source that are not on the public list."""


def vault_record(task_id: str, *, gold: JsonValue, rest: dict[str, JsonValue]) -> VaultRecord:
    """A record with fresh salt and canary."""
    return VaultRecord(
        task_id=task_id,
        salt=secrets.token_hex(SECRET_BYTES),
        canary=secrets.token_hex(SECRET_BYTES),
        gold=gold,
        rest=rest,
    )


def commitment(record: VaultRecord) -> str:
    """HMAC-SHA256 in hex of all of the record but its salt, under its salt."""
    content = canonical_json(record.model_dump(exclude={"salt"})).encode()
    return hmac.new(record.salt.encode(), content, hashlib.sha256).hexdigest()


def merkle_root(records: Sequence[VaultRecord]) -> str:
    """Root in hex over the commitments in order; leaves and nodes hash apart (RFC 6962)."""
    level = [hashlib.sha256(b"\x00" + commitment(record).encode()).digest() for record in records]
    if not level:
        return hashlib.sha256(b"").hexdigest()
    while len(level) > 1:
        pairs = [
            hashlib.sha256(b"\x01" + left + right).digest()
            for left, right in zip(level[::2], level[1::2], strict=False)
        ]
        level = pairs + level[2 * len(pairs) :]
    return level[0].hex()


def gold_text(records: Sequence[VaultRecord]) -> str:
    """The one text of `gold.jsonl`."""
    return "".join(canonical_json(record.model_dump()) + "\n" for record in records)


def verified_records(content: bytes, *, root: str, where: str) -> tuple[VaultRecord, ...]:
    """The records of a `gold.jsonl` that matches the committed root, byte for byte.

    Raises:
        IntegrityError: it does not.
    """
    wrong = IntegrityError(
        where,
        "the vault does not match the root committed for it",
        expected=f"Merkle root {root[:16]}…",
        fix="restore it from a copy, or seal the original again",
    )
    try:
        text = content.decode()
        records = tuple(VaultRecord.model_validate_json(line) for line in _lines(text))
        holds = merkle_root(records) == root and gold_text(records) == text
    except (ValidationError, ValueError) as error:
        raise wrong from error
    if not holds:
        raise wrong
    return records


def _lines(text: str) -> list[str]:
    """Lines by line feed alone: a JSON text may hold other line separators."""
    return text.removesuffix("\n").split("\n")
