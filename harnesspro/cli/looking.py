"""The verbs that look at a run and take from it: show, view, diff, trace, export."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from harnesspro.cli.output import put, put_json, say
from harnesspro.core.errors import ConfigError, IntegrityError, UsageError

if TYPE_CHECKING:
    from harnesspro.core.documents import RunDocument

_RUN_HELP = "A run id, a unique prefix, latest, or a run folder."
RUN = typer.Argument(..., help=_RUN_HELP)
LATEST = typer.Argument("latest", help=_RUN_HELP)
CANDIDATE_HELP = "An id, a unique prefix, or knee, cheapest_safe, best, baseline."
CANDIDATE = typer.Argument(..., help=CANDIDATE_HELP)
OUT = typer.Option(None, "--out", help="Where runs are kept (default .harnesspro).")
JSON = typer.Option(False, "--json", help="One JSON document on stdout.")


def register(app: typer.Typer) -> None:
    """Add the verbs."""
    app.command("show")(show)
    app.command("view")(view)
    app.command("diff")(diff)
    app.command("trace")(trace)
    app.command("export")(export)


def show(
    run: str = LATEST,
    as_json: bool = JSON,
    as_csv: bool = typer.Option(False, "--csv", help="The table as CSV on stdout."),
    max_latency_s: float | None = typer.Option(
        None, "--max-latency-s", min=0.0, help="The front of those this fast on average."
    ),
    out: str | None = OUT,
) -> int:
    """The front, the baseline, the verdicts and the spend of a run."""
    if as_json and as_csv:
        raise UsageError("show", "--json and --csv", expected="one of the two")
    run_dir = run_folder(run, out)
    other = _other_document(run_dir)
    if other is not None:
        if max_latency_s is not None:
            raise UsageError("--max-latency-s", f"a {other['schema']} document", expected=_IMPROVE)
        return _show_other(other, as_json=as_json, as_csv=as_csv)
    doc, note = _document(run_dir, max_latency_s=max_latency_s)
    if as_json:
        put_json(doc.model_dump(mode="json", by_alias=True))
    elif as_csv:
        from harnesspro.view.rows import csv_text

        put(csv_text(doc).removesuffix("\n"))
    else:
        from rich.console import Console

        from harnesspro.view.terminal import print_document

        page = run_dir / "report.html"
        report = str(page) if page.is_file() else None
        print_document(doc, Console(), report=report, out=out, note=note)
    return 0


def _document(run_dir: Path, *, max_latency_s: float | None) -> tuple[RunDocument, str]:
    """The run's report, its front among the fast enough where that is asked, and a note of it."""
    from harnesspro.store.runs import read_document

    doc = read_document(run_dir)
    if max_latency_s is None:
        return doc, ""
    from harnesspro.view.latency import within_latency

    filtered = within_latency(doc, max_latency_s)
    return filtered, filtered.words[0]


def view(
    run: str = LATEST,
    html: str | None = typer.Option(
        None, "--html", metavar="FILE", help="Write the page here (default: the run folder)."
    ),
    out: str | None = OUT,
) -> int:
    """The report as one page that needs no network; prints where it lies."""
    from harnesspro.store.runs import read_document, write_text

    run_dir = run_folder(run, out)
    target = Path(html).expanduser() if html is not None else run_dir / "report.html"
    if html is not None or not target.is_file():
        from harnesspro.view.page import page_html

        text = page_html(read_document(run_dir))
        try:
            write_text(target, text)
        except OSError as error:
            raise ConfigError(
                str(target), f"cannot write: {error.strerror}", fix="name another FILE"
            ) from error
    put(f"{target}")
    return 0


def diff(
    run: str = RUN,
    a: str = CANDIDATE,
    b: str = CANDIDATE,
    as_json: bool = JSON,
    out: str | None = OUT,
) -> int:
    """What changed from candidate A to candidate B, file by file."""
    from harnesspro.cli.found import found_run
    from harnesspro.view.changes import file_changes

    with found_run(run, out=out) as found:
        first, second = found.candidate(a), found.candidate(b)
        names = (_short(a, first.candidate_id), _short(b, second.candidate_id))
        changes = file_changes(found.files(first), found.files(second), names=names)
        document = {
            "schema": "harnesspro/diff@1",
            "run_id": found.run_id,
            "a": first.candidate_id,
            "b": second.candidate_id,
            "files": [{"path": c.path, "status": c.status, "diff": c.diff} for c in changes],
        }
    if as_json:
        put_json(document)
    elif changes:
        _print_diff("".join(change.diff for change in changes))
    else:
        say(f"{names[0]} and {names[1]} are the same harness")
    return 0


def trace(
    run: str = RUN,
    candidate: str = CANDIDATE,
    task: str = typer.Argument(..., help="A task id or a unique prefix."),
    as_json: bool = JSON,
    out: str | None = OUT,
) -> int:
    """What happened when a candidate did a task: every message, every reply, the answer."""
    from harnesspro.cli.found import found_run
    from harnesspro.store.trajectories import to_atif
    from harnesspro.view.trace import trace_text

    with found_run(run, out=out) as found:
        chosen = found.candidate(candidate)
        name = found.harness_name()
        shown = [
            (each, to_atif(each, agent_name=name)) for each in found.trajectories(chosen, task)
        ]
        run_id = found.run_id
    if as_json:
        put_json(
            {
                "schema": "harnesspro/trace@1",
                "run_id": run_id,
                "candidate_id": chosen.candidate_id,
                "task_id": shown[0][0].trial.task_id,
                "trajectories": [atif for _, atif in shown],
            }
        )
    else:
        put(
            "\n".join(trace_text(trajectory, atif) for trajectory, atif in shown).removesuffix("\n")
        )
    return 0


def export(
    run: str = RUN,
    candidate: str = CANDIDATE,
    to: str = typer.Option(..., "--to", metavar="DIR", help="A new or empty folder."),
    as_json: bool = JSON,
    out: str | None = OUT,
) -> int:
    """Write a candidate as a harness folder, with its provenance beside the manifest."""
    from harnesspro.cli import exporting
    from harnesspro.cli.found import found_run

    target = Path(to).expanduser()
    with found_run(run, out=out) as found:
        provenance = exporting.export(found, found.candidate(candidate), target)
    if as_json:
        put_json(
            {
                "schema": "harnesspro/export@1",
                "path": str(target),
                **{key: provenance[key] for key in ("run_id", "candidate_id", "harness_id")},
                **{key: provenance[key] for key in ("stamp", "verdict", "isolation")},
                "files": sorted(provenance["files"]),
            }
        )
    else:
        put(f"{target}")
    n_files, judged = len(provenance["files"]), provenance["verdict"] or "not judged"
    say(f"{n_files} files; {judged}, {provenance['stamp']}, measured at {provenance['isolation']}")
    say(f'use it from Python: harnesspro.load("{target}").run(task)')
    return 0


def run_folder(run: str, out: str | None) -> Path:
    """The folder of the run that `run` names.

    Raises:
        UsageError: no such run.
    """
    from harnesspro.config import out_folder
    from harnesspro.store.runs import find_run

    return find_run(out_folder(out), run)


def _other_document(run_dir: Path) -> dict[str, Any] | None:
    """The report of a run that was no `improve` run, else None."""
    from harnesspro.store.runs import REPORT

    try:
        value = json.loads((run_dir / REPORT).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    is_other = isinstance(value, dict) and value.get("schema") in _OTHERS
    return value if is_other else None


_IMPROVE = "an improve run"
_OTHERS = frozenset({"harnesspro/eval@1", "harnesspro/diagnosis@1"})


def _show_other(document: dict[str, Any], *, as_json: bool, as_csv: bool) -> int:
    if as_csv:
        raise UsageError("--csv", f"a {document.get('schema')} document", expected=_IMPROVE)
    if as_json:
        put_json(document)
        return 0
    from rich.console import Console

    from harnesspro.view.plain import print_plain

    try:
        print_plain(document, Console())
    except (KeyError, TypeError, ValueError) as error:
        raise IntegrityError(
            f"report.json: {error}", "not as it was written", expected=str(document["schema"])
        ) from error
    return 0


def _short(name: str, candidate_id: str) -> str:
    return "baseline" if name == "baseline" else candidate_id.removeprefix("h-")[:8]


def _print_diff(text: str) -> None:
    """Coloured on a terminal, plain elsewhere; nothing in it can steer the terminal."""
    from rich.console import Console
    from rich.text import Text

    from harnesspro.view.text import safe_lines

    console = Console()
    shown = safe_lines(text).encode(console.encoding, "backslashreplace").decode(console.encoding)
    for line in shown.splitlines():
        style = "bold" if line.startswith(("---", "+++")) else _DIFF_STYLES.get(line[:1], "")
        console.print(Text(line, style=style), soft_wrap=True)


_DIFF_STYLES = {"+": "green", "-": "red", "@": "cyan"}
