"""One-line builders for what the vault's tests seal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from harnesspro.core.records import Task
from harnesspro.formats.tasksets import read_seal
from harnesspro.vault.seal import SealReceipt, seal_records

GOLD = "the-quick-brown-answer"


def record(index: int = 0, **fields) -> dict[str, Any]:
    return {"input": {"question": f"q{index}"}, "gold": f"{GOLD}-{index}", **fields}


def sealed(
    tmp_path: Path,
    records: list[dict[str, Any]] | None = None,
    *,
    public: str = "public",
    **changes: str,
) -> SealReceipt:
    plan = {"name": "demo", "answer_kind": "text", "scheme": "exact"} | changes
    return seal_records(
        [record(index) for index in range(5)] if records is None else records,
        public_dir=tmp_path / public,
        vault_dir=tmp_path / "vault",
        **plan,
    )


def gold_path(receipt: SealReceipt) -> Path:
    return Path(receipt.vault_path) / "gold.jsonl"


def hidden_of(receipt: SealReceipt) -> list[dict[str, Any]]:
    return [json.loads(line) for line in gold_path(receipt).read_text().split("\n") if line]


def question(task: Task) -> str:
    assert isinstance(task.input, dict)
    return str(task.input["question"])


def split_key(tmp_path: Path, public: str = "public") -> str:
    seal = read_seal(tmp_path / public)
    assert seal is not None
    return seal.split_key
