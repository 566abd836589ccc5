"""One sitting of a run from the command line: prepare, start the processes, wait, show."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console

from harnesspro.cli import documents
from harnesspro.cli import prepare as preparing
from harnesspro.cli.audit import close_run
from harnesspro.cli.earlier import confirmed_before
from harnesspro.cli.output import put_json, say
from harnesspro.config import RunHeader, Verb, out_folder, validated
from harnesspro.core.documents import RunDocument
from harnesspro.core.errors import ConfigError, HarnessProError
from harnesspro.store.runs import find_run, new_run_id, read_document, write_json, write_text


def new_run(
    harness_ref: str,
    flags: Mapping[str, Any],
    *,
    verb: Verb,
    out: str | None,
    as_json: bool,
    quiet: bool,
    events_fd: int | None = None,
) -> int:
    """Prepare a fresh run folder and run in it."""
    folder = out_folder(out)
    prepared = preparing.prepare(harness_ref, flags, verb=verb, say=say)
    run_id = new_run_id(datetime.now(UTC))
    run_dir = make_run_dir(folder, run_id)
    preparing.copy_into(prepared, run_dir)
    header = RunHeader(
        run_id=run_id,
        config=prepared.config,
        harness_name=prepared.harness.manifest.name,
        base_harness_id=prepared.harness.harness_id,
        created_at=datetime.now(UTC).isoformat(),
        prices=prepared.prices,
        isolation=prepared.isolation,
        split_key=prepared.task_set.split_key,
        seal=prepared.task_set.seal,
        confirmed_before=confirmed_before(folder, prepared.tasks),
    )
    write_json(run_dir / "run.json", header.model_dump(mode="json", by_alias=True))
    return sit(header, run_dir, folder, as_json=as_json, quiet=quiet, events_fd=events_fd)


def resume_run(
    ref: str,
    changes: Mapping[str, Any],
    *,
    out: str | None,
    as_json: bool,
    quiet: bool,
    events_fd: int | None = None,
) -> int:
    """Go on with a run; what is not None in `changes` replaces that of its configuration."""
    from harnesspro.cli.starting import read_header
    from harnesspro.sandbox.probes import require_again

    folder = out_folder(out)
    run_dir = find_run(folder, ref).resolve()
    header = read_header(run_dir)
    given = {key: value for key, value in changes.items() if value is not None}
    config = validated(header.config.model_dump() | given)
    level = require_again(header.isolation, allow_unsandboxed=config.allow_unsandboxed)
    if level != header.isolation:
        raise ConfigError(
            f"resume {header.run_id}",
            f"isolation {level} here",
            expected=f"{header.isolation}, as the run began",
            fix="an isolation level never changes in mid-run; start a new run",
        )
    for model in header.models:
        preparing.price_of(model, {price.model: price for price in header.prices})
    header = header.model_copy(update={"config": config})
    return sit(
        header, run_dir, run_dir.parent.parent, as_json=as_json, quiet=quiet, events_fd=events_fd
    )


def make_run_dir(folder: Path, run_id: str) -> Path:
    """The run's folder, 0700.

    Raises:
        ConfigError: it cannot be written.
    """
    run_dir = folder / "runs" / run_id
    try:
        run_dir.mkdir(parents=True, mode=0o700)
        probe = run_dir / "run.json"
        probe.write_text("{}", encoding="utf-8")
    except OSError as error:
        raise ConfigError(
            str(folder), f"cannot be written ({error.strerror})", fix="choose another --out"
        ) from error
    return run_dir


def sit(
    header: RunHeader,
    run_dir: Path,
    out: Path,
    *,
    as_json: bool,
    quiet: bool,
    events_fd: int | None = None,
) -> int:
    """Run the processes to their end, then show what there is to show."""
    from harnesspro.cli.starting import run_processes

    code = run_processes(header, run_dir, out, quiet=quiet, say=say, events_fd=events_fd)
    if code in _WITH_DOCUMENT and (run_dir / "report.json").is_file():
        show(header, run_dir, out, as_json=as_json)
    head = close_run(run_dir)
    if head is not None and not quiet:
        say(f"Certificate {head[:16]}…; to check it: harnesspro audit {run_dir.name}")
    return code


_WITH_DOCUMENT = frozenset({0, 4, 5, 130})


def show(header: RunHeader, run_dir: Path, out: Path, *, as_json: bool) -> None:
    """The document of a finished sitting: JSON, or as a person reads it."""
    if header.config.verb != "improve":
        document = json.loads((run_dir / "report.json").read_text(encoding="utf-8"))
        if as_json:
            put_json(document)
        else:
            print_plain(document)
        return
    document = read_document(run_dir)
    write_page(document, run_dir)
    if as_json:
        put_json(document.model_dump(mode="json", by_alias=True))
        return
    from harnesspro.view.terminal import print_document

    shown = None if out == out_folder(None) else str(out)
    print_document(document, Console(), report=str(run_dir / "report.html"), out=shown)


def write_page(document: RunDocument, run_dir: Path) -> None:
    """`report.html` beside the document."""
    from harnesspro.view.page import page_html

    write_text(run_dir / "report.html", page_html(document))


def print_plain(document: Mapping[str, Any]) -> None:
    """An eval, diagnosis or plan document for a person."""
    from harnesspro.view.plain import print_plain as render

    render(document, Console())


def is_run(ref: str, *, out: str | None) -> bool:
    """Whether `ref` names a run rather than a harness."""
    if ref.startswith("builtin:") or (Path(ref) / "harness.yaml").is_file():
        return False
    try:
        find_run(out_folder(out), ref)
    except HarnessProError:
        return False
    return True


def diagnose_run(ref: str, *, out: str | None, as_json: bool) -> int:
    """The findings a run has on record for its initial harness."""
    document = documents.diagnosis_of(find_run(out_folder(out), ref))
    if as_json:
        put_json(document)
    else:
        print_plain(document)
    return 0


def dry_run(harness_ref: str, flags: Mapping[str, Any], *, out: str | None, as_json: bool) -> int:
    """Print the plan: trials, and what they take at the most and by the last run's measure."""
    prepared = preparing.prepare(harness_ref, flags, verb="improve", say=say)
    document = documents.plan_of(prepared, out_folder(out))
    if as_json:
        put_json(document)
    else:
        print_plain(document)
    return 0
