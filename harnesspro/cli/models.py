"""The verbs for models on this machine: model list, model pull, model serve."""

from __future__ import annotations

import os
from typing import Any

import typer

from harnesspro.cli.output import put, put_json, say
from harnesspro.view.text import safe_lines

JSON = typer.Option(False, "--json", help="One JSON document on stdout.")
NAME = typer.Argument(..., help="A name from `harnesspro model list`.")
MODEL = typer.Argument(..., help="A name from `harnesspro model list`, or a path to a .gguf file.")
PORT = typer.Option(0, "--port", min=0, max=65535, help="Port on loopback; 0 takes a free one.")
THREADS = typer.Option(None, "--threads", min=1, help="Threads (default: all cores).")


def register(app: typer.Typer) -> None:
    """Add the verbs."""
    model = typer.Typer(no_args_is_help=True, help="Models that run on this machine.")
    model.command("list")(list_models)
    model.command("pull")(pull)
    model.command("serve")(serve)
    app.add_typer(model, name="model")


def list_models(as_json: bool = JSON) -> int:
    """Models that can be fetched, and those that are here."""
    from harnesspro.core.money import usd_from_nanos
    from harnesspro.providers.downloads import CATALOGUE

    rows: list[dict[str, Any]] = [
        {
            "name": f"local/{model.name}",
            "n_bytes": model.n_bytes,
            "path": str(model.path) if model.path.is_file() else None,
            "sha256": model.sha256,
            "repository": model.repository,
            "revision": model.revision,
            "chunks": list(model.chunks),
            "usd_per_mtok": usd_from_nanos(model.price.in_nanos_per_mtok),
            "price_source": model.price.source,
        }
        for model in CATALOGUE.values()
    ]
    if as_json:
        put_json({"schema": "harnesspro/models@1", "models": rows})
    else:
        put(safe_lines("\n".join(_row_text(row) for row in rows)))
    return 0


def pull(name: str = NAME, as_json: bool = JSON) -> int:
    """Fetch a model; its hash is checked before it gets its name."""
    from harnesspro.providers.downloads import local_model, pull_model

    path = pull_model(name, say=say)
    if as_json:
        document = {"schema": "harnesspro/model-pulled@1", "name": name, "path": str(path)}
        put_json(document | {"sha256": local_model(name).sha256})
    else:
        put(safe_lines(str(path)))
    return 0


def serve(model: str = MODEL, port: int = PORT, threads: int | None = THREADS) -> int:
    """Serve a model on loopback until Ctrl-C; the address is what this prints."""
    from harnesspro.core.errors import ProviderError
    from harnesspro.providers.model_server import start_server

    server = start_server(model, threads=threads or len(os.sched_getaffinity(0)), port=port)
    try:
        put(f"{server.url}/v1")
        say("Serving; Ctrl-C ends it.")
        code = server.wait()
        raise ProviderError(model, f"the server ended by itself (exit code {code})")
    except KeyboardInterrupt:
        return 0
    finally:
        server.stop()


def _row_text(row: dict[str, Any]) -> str:
    here = row["path"] or f"not here; run: harnesspro model pull {row['name']}"
    size = f"{row['n_bytes'] / 1e6:,.0f} MB"
    return f"{row['name']}: {size}, ${row['usd_per_mtok']:.2f} per million tokens (list); {here}"
