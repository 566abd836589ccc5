"""channels: which ways of telling right from wrong a run measured, and how good its referee is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from harnesspro.cli.looking import JSON, LATEST, OUT, run_folder
from harnesspro.cli.output import put_json

if TYPE_CHECKING:
    from harnesspro.core.documents import RunDocument


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("channels")(channels)


def channels(run: str = LATEST, as_json: bool = JSON, out: str | None = OUT) -> int:
    """How well each check, panel, judge and verifier told right answers from wrong ones."""
    from harnesspro.store.runs import read_document

    doc = read_document(run_folder(run, out))
    if as_json:
        put_json(channels_document(doc))
    else:
        from rich.console import Console

        from harnesspro.view.channels import print_channels

        print_channels(doc, Console())
    return 0


def channels_document(doc: RunDocument) -> dict[str, Any]:
    """`harnesspro/channels@1`: the run's referee as it stands in its report."""
    referee = doc.referee.model_dump(mode="json")
    return {
        "schema": "harnesspro/channels@1",
        "run_id": doc.run_id,
        "harness_name": doc.harness_name,
        **{key: referee[key] for key in ("hash", "trusted", "reason", "channels")},
        "hit_rate": referee["discordant_hit_rate"],
        "tilt": referee["calibration"]["tilt"] if doc.referee.calibration else None,
        "calibration": referee["calibration"],
        "checks": referee["checks"],
        "advice": referee["advice"],
        "sealed": doc.sealed.model_dump(mode="json") if doc.sealed else None,
    }
