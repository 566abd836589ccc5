"""Run folders: their names, finding one, reading and writing its documents."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime
from pathlib import Path

from pydantic import ValidationError

from harnesspro.core.documents import RunDocument
from harnesspro.core.errors import ConfigError, IntegrityError, UsageError
from harnesspro.store.placing import write_json, write_text

__all__ = [
    "REPORT",
    "find_run",
    "new_run_id",
    "read_document",
    "run_ids",
    "write_json",
    "write_text",
]

REPORT = "report.json"
_MARKS = ("run.json", "ledger.db", REPORT)
_N_SHOWN = 5


def new_run_id(now: datetime) -> str:
    """A name that sorts by start time (UTC) and does not clash: `20261130-214611-7f3a`."""
    return f"{now.astimezone(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


def run_ids(out: Path) -> list[str]:
    """The runs kept in `out`, oldest first."""
    runs = out / "runs"
    if not runs.is_dir():
        return []
    return sorted(folder.name for folder in runs.iterdir() if _is_run(folder))


def find_run(out: Path, ref: str) -> Path:
    """The run folder that `ref` names: a run id, a unique prefix, `latest`, or a folder.

    Raises:
        UsageError: there is none, or several.
    """
    ids = run_ids(out)
    if ref in ids:
        return out / "runs" / ref
    if ref == "latest" and ids:
        return out / "runs" / ids[-1]
    matches = [name for name in ids if ref and name.startswith(ref)]
    if len(matches) == 1:
        return out / "runs" / matches[0]
    if len(matches) > 1:
        raise UsageError(ref, f"begins {len(matches)} runs", expected=_some(matches))
    if ref and _is_run(Path(ref)):
        return Path(ref)
    if not ids:
        raise UsageError(
            str(out),
            "no runs yet",
            expected="a run folder, or --out naming where runs are kept",
            fix="start one with: harnesspro improve HARNESS",
        )
    raise UsageError(ref or "RUN", "no such run", expected=f"latest, or one of {_some(ids)}")


def read_document(run_dir: Path) -> RunDocument:
    """The run's report.

    Raises:
        ConfigError: the run has written none yet.
        IntegrityError: it is not a report.
    """
    path = run_dir / REPORT
    try:
        return RunDocument.model_validate_json(path.read_bytes())
    except FileNotFoundError as error:
        raise ConfigError(
            str(run_dir),
            "no report yet: the run is under way or was interrupted",
            fix=f"wait, or go on with: harnesspro improve --resume {run_dir.name}",
        ) from error
    except OSError as error:
        raise ConfigError(str(path), error.strerror or "cannot be read") from error
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"])) or "document"
        raise IntegrityError(f"{path}: {key}", first["msg"], expected="harnesspro/run@1") from error


def _is_run(folder: Path) -> bool:
    return any((folder / mark).is_file() for mark in _MARKS)


def _some(names: list[str]) -> str:
    shown = ", ".join(names[-_N_SHOWN:])
    return shown if len(names) <= _N_SHOWN else f"... {shown}"
