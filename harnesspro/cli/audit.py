"""`harnesspro audit`: recompute a run's certificate from its folder alone; and closing a run's folder."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from harnesspro.cli.output import put, put_json
from harnesspro.core.errors import ConfigError, HarnessProError, IntegrityError
from harnesspro.view.text import safe_lines

RUN = typer.Argument("latest", help="A run id, a unique prefix, latest, or a run folder.")
HEAD = typer.Option(None, "--head", metavar="HASH", help="The head you wrote down, or its start.")
OUT = typer.Option(None, "--out", help="Where runs are kept (default .harnesspro).")
JSON = typer.Option(False, "--json", help="One JSON document on stdout.")
_LEAST_OF_A_HEAD = 12
_MOST_SHOWN = 20


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("audit")(audit)


def audit(
    run: str = RUN, head: str | None = HEAD, out: str | None = OUT, as_json: bool = JSON
) -> int:
    """Whether a run's folder is what its certificate says; fails on any edit, and names it."""
    from harnesspro.config import out_folder
    from harnesspro.store.runs import find_run

    run_dir = find_run(out_folder(out), run)
    document = audit_document(run_dir, head=head)
    if as_json:
        put_json(document)
    else:
        put(safe_lines("\n".join(_lines(document))))
    return 0 if document["ok"] else 1


def audit_document(run_dir: Path, *, head: str | None = None) -> dict[str, Any]:
    """The `harnesspro/audit@1` document of a run folder; nothing in it is written to."""
    document: dict[str, Any] = {
        "schema": "harnesspro/audit@1",
        "run_id": run_dir.resolve().name,
        "ok": False,
        "head": None,
        "n_files": None,
        "checks": {},
        "leaked_bits": None,
        "vault_openings": None,
        "canary_hits": None,
        "leak_bound_points": None,
    }
    try:
        certificate = _certificate(run_dir)
    except IntegrityError as error:
        return document | {"checks": {"certificate": [error.found]}}
    checks = {"certificate": _head_problems(certificate, head)} | _findings(run_dir, certificate)
    return document | _told(certificate) | {"checks": checks, "ok": not any(checks.values())}


def _told(certificate: Mapping[str, Any]) -> dict[str, Any]:
    """What the certificate itself says."""
    from harnesspro.vault.audit import head_of
    from harnesspro.vault.certificate import last_event

    bound = last_event(certificate, "leak_bound")
    told = {name: certificate[name] for name in ("leaked_bits", "vault_openings", "canary_hits")}
    return told | {
        "head": head_of(certificate),
        "n_files": (last_event(certificate, "closed") or {}).get("n_files"),
        "leak_bound_points": bound.get("accuracy_points") if bound else None,
    }


def _certificate(run_dir: Path) -> dict[str, Any]:
    from harnesspro.vault.certificate import read_certificate
    from harnesspro.vault.evidence import CERTIFICATE_NAME

    path = run_dir / CERTIFICATE_NAME
    try:
        content = path.read_bytes()
    except OSError as error:
        raise IntegrityError(str(path), f"cannot be read ({error.strerror})") from error
    return read_certificate(content, where=str(path))


def _head_problems(certificate: Mapping[str, Any], head: str | None) -> list[str]:
    from harnesspro.vault.audit import head_of

    if head is None:
        return []
    if len(head) < _LEAST_OF_A_HEAD:
        raise ConfigError("--head", head, expected=f"at least {_LEAST_OF_A_HEAD} hex digits")
    found = head_of(certificate)
    return [] if found.startswith(head.lower()) else [f"its head is {found}"]


def _findings(run_dir: Path, certificate: Mapping[str, Any]) -> dict[str, list[str]]:
    """Name of each check -> what does not hold. What was edited proves nothing, so that ends it."""
    from harnesspro.vault.audit import audit as held_against
    from harnesspro.vault.audit import files_hold
    from harnesspro.vault.evidence import digests

    try:
        edited = files_hold(certificate, digests(run_dir))
    except OSError as error:
        edited = [f"{error.filename}: cannot be read ({error.strerror})"]
    if edited:
        return {"files": edited}
    try:
        evidence = _evidence(run_dir, certificate)
    except (HarnessProError, OSError, ValueError, sqlite3.Error) as error:
        return {"files": [], "records": [f"cannot be read: {error}"]}
    run_id = str(evidence.header.get("run_id"))  # the folder may have been copied and renamed
    return {"files": [], **held_against(evidence), **_vault_findings(run_id, certificate)}


def _evidence(run_dir: Path, certificate: Mapping[str, Any]) -> Any:
    from harnesspro.formats.tasks import load_tasks
    from harnesspro.vault.audit import Evidence

    report = run_dir / "report.json"
    return Evidence(
        certificate=certificate,
        header=json.loads((run_dir / "run.json").read_bytes()),
        report=json.loads(report.read_bytes()) if report.is_file() else None,
        tasks=load_tasks(run_dir / "tasks.jsonl"),
        ledger=tuple(_entries(run_dir / "ledger.db")),
    )


def _entries(path: Path) -> list[Any]:
    """The ledger's records in the order written; the file is read as it lies, nothing beside it."""
    from harnesspro.vault.audit import Entry

    if not path.is_file():
        return []
    address = f"{path.resolve().as_uri()}?mode=ro&immutable=1"
    with contextlib.closing(sqlite3.connect(address, uri=True)) as ledger:
        rows = ledger.execute("SELECT seq, kind, key, value FROM records ORDER BY seq").fetchall()
    return [Entry(seq, kind, key, json.loads(value)) for seq, kind, key, value in rows]


def _vault_findings(run_id: str, certificate: Mapping[str, Any]) -> dict[str, list[str]]:
    """Where the vault is on this machine, what its own log says of the run; else nothing."""
    from harnesspro.vault.audit import log_problems
    from harnesspro.vault.log import VaultLog

    folder = _vault_of(certificate)
    if folder is None:
        return {}
    try:
        entries = VaultLog(folder).entries()
    except IntegrityError as error:
        return {"vault log": [error.found]}
    return {"vault log": log_problems(entries, run_id=run_id, certificate=certificate)}


def _vault_of(certificate: Mapping[str, Any]) -> Path | None:
    from harnesspro.formats.paths import vault_home
    from harnesspro.vault.certificate import last_event
    from harnesspro.vault.log import LOG_NAME

    sealed = last_event(certificate, "sealed")
    if sealed is None:
        return None
    folder = vault_home() / str(sealed["taskset_id"])
    return folder if (folder / LOG_NAME).is_file() else None


# --- closing -------------------------------------------------------------------------------------


def close_run(run_dir: Path) -> str | None:
    """Write every file's digest into the certificate, as its last event; the certificate's head.

    For the end of a sitting, when nothing writes to the folder any more. None where the sitting
    ended before there was a certificate. The vault's log keeps the head too, where gold was opened.
    """
    from harnesspro.store.runs import write_text
    from harnesspro.vault.audit import head_of
    from harnesspro.vault.certificate import certificate_text, extended, last_event
    from harnesspro.vault.evidence import CERTIFICATE_NAME, closing
    from harnesspro.vault.log import VaultLog

    path = run_dir / CERTIFICATE_NAME
    if not path.is_file():
        return None
    document = extended(_certificate(run_dir), closing(run_dir))
    write_text(path, certificate_text(document))
    folder = _vault_of(document) if last_event(document, "opened") else None
    if folder is not None:
        VaultLog(folder).append("certified", run=run_dir.name, head=head_of(document))
    return head_of(document)


def _lines(document: Mapping[str, Any]) -> list[str]:
    verdict = "stands" if document["ok"] else "does not stand"
    lines = [f"{document['run_id']}: the certificate {verdict}"]
    if document["head"]:
        lines += [f"  head {document['head']}", f"  {_counted(document)}"]
    for name, problems in document["checks"].items():
        lines.append(f"  {'ok    ' if not problems else 'FAILED'} {name}")
        lines += _shown(problems)
    return lines


def _shown(problems: Sequence[str]) -> list[str]:
    lines = [f"         {problem}" for problem in problems[:_MOST_SHOWN]]
    left = len(problems) - _MOST_SHOWN
    return [*lines, f"         and {left} more"] if left > 0 else lines


def _counted(document: Mapping[str, Any]) -> str:
    bound = document["leak_bound_points"]
    said = "" if bound is None else f" (may flatter accuracy by at most {100 * bound:.1f} points)"
    return (
        f"{document['n_files']} files; {document['leaked_bits']:g} bits back to the search; opening "
        f"{document['vault_openings']} of the vault{said}; {document['canary_hits']} canary hits"
    )
