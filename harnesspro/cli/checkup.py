"""`harnesspro doctor`: what this machine guarantees, and whether a harness could run here now."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from harnesspro.cli.output import put
from harnesspro.core.errors import HarnessProError
from harnesspro.view.text import safe_text

if TYPE_CHECKING:
    from harnesspro.sandbox.probes import Rung


def examine(harness_ref: str | None, flags: Mapping[str, Any]) -> dict[str, Any]:
    """The `harnesspro/doctor@1` document; `ok` says whether a run could start."""
    from harnesspro.sandbox import confine
    from harnesspro.sandbox.probes import best, ladder

    rungs = ladder()
    isolation = best(iter(rungs))
    abi = confine.landlock_abi()
    git = shutil.which("git") is not None
    document: dict[str, Any] = {
        "schema": "harnesspro/doctor@1",
        "ok": isolation.level != "none" and git,
        "python": sys.version.split()[0],
        "git": git,
        "isolation": {
            "level": isolation.level,
            "guarantees": list(isolation.guarantees),
            "not_guaranteed": list(isolation.not_guaranteed),
            "reason": isolation.reason,
            "fix": isolation.fix,
        },
        "levels": [_level(rung) for rung in rungs],
        "firewall": _firewall(abi),
        "models": _local_models(),
        "harness": None,
    }
    if harness_ref is not None:
        document["harness"] = _examine_harness(harness_ref, flags)
        document["ok"] = document["ok"] and document["harness"]["ok"]
    return document


def _level(rung: Rung) -> dict[str, Any]:
    from harnesspro.sandbox.promises import MADE_OF

    return {
        "level": rung.level,
        "made_of": MADE_OF[rung.level],
        "starts": rung.starts,
        "guarantees": list(rung.guarantees),
        "not_guaranteed": list(rung.not_guaranteed),
        "reason": rung.reason,
        "how": rung.how,
    }


def _firewall(abi: int) -> dict[str, str]:
    """The strongest wall a run with gold gets here; each run says what it really had."""
    if abi < 1:
        reason = "no Landlock in this kernel: the vault is out of reach by convention only"
        return {"level": "F0", "reason": reason}
    apart = f"Landlock ABI {abi}: the search process cannot open the vault"
    if os.geteuid() == 0:
        return {"level": "F2", "reason": f"{apart}, which belongs to another user, the grader"}
    return {"level": "F1", "reason": f"{apart}, though both are the same user"}


def _local_models() -> list[dict[str, Any]]:
    from harnesspro.providers.downloads import CATALOGUE

    return [
        {"name": f"local/{name}", "pulled": model.path.is_file()}
        for name, model in CATALOGUE.items()
    ]


def _examine_harness(harness_ref: str, flags: Mapping[str, Any]) -> dict[str, Any]:
    from harnesspro.cli.documents import plan_for
    from harnesspro.cli.prepare import prepare
    from harnesspro.core.stats import power_of

    try:
        ready = prepare(harness_ref, flags, verb="improve", say=lambda _line: None)
    except HarnessProError as error:
        return {"ok": False, "name": harness_ref, "problem": str(error)}
    plan = plan_for(ready.config, len(ready.tasks), has_gold=ready.task_set.seal is not None)
    power = power_of(n_search=plan.n_search, n_confirm=plan.n_confirm)
    return {
        "ok": True,
        "name": ready.harness.manifest.name,
        "problem": None,
        "n_tasks": len(ready.tasks),
        "prices": [price.model_dump(mode="json") for price in ready.prices],
        "power": power.model_dump(mode="json"),
    }


def print_checkup(document: Mapping[str, Any]) -> None:
    """The document for a person."""
    firewall = document["firewall"]
    lines = level_lines(document["isolation"]["level"], document["levels"])
    if document["isolation"]["level"] == "none":
        lines.append(f"  to do: {document['isolation']['fix']}")
    lines.append(f"Firewall {firewall['level']}: {firewall['reason']}")
    if not document["git"]:
        lines.append("git: missing (apt install git)")
    for model in document["models"]:
        name = model["name"].removeprefix("local/")
        state = "ready" if model["pulled"] else f"not here yet (harnesspro model pull {name})"
        lines.append(f"Model {model['name']}: {state}")
    lines += _harness_lines(document["harness"])
    lines.append("Ready." if document["ok"] else "Not ready.")
    put("\n".join(safe_text(line) for line in lines))


def level_lines(used: str, levels: Sequence[Mapping[str, Any]]) -> list[str]:
    """Every level, whether it starts here, what it guarantees and what not, and how to get it."""
    made_of = {level["level"]: level["made_of"] for level in levels}
    claimed = dict.fromkeys(text for level in levels for text in level["guarantees"])
    rows = [("starts here (tried just now)", [level["starts"] for level in levels])]
    rows += [(text, [text in level["guarantees"] for level in levels]) for text in claimed]
    lines = [f"Isolation {used}: {made_of.get(used, 'no level starts here')}", ""]
    lines.append(" " * 62 + "".join(f"{level['level']:>5}" for level in levels))
    lines += [
        f"  {text:60}" + "".join(f"{'yes' if holds else '-':>5}" for holds in held)
        for text, held in rows
    ]
    for text in dict.fromkeys(text for level in levels for text in level["not_guaranteed"]):
        if text not in claimed:
            names = [level["level"] for level in levels if text in level["not_guaranteed"]]
            lines.append(f"  not at {', '.join(names)}: {text}")
    lines.append("")
    for level in levels:
        state = "" if level["starts"] else f"; not here: {level['reason']}"
        lines.append(f"  {level['level']:4}{level['made_of']}{state}")
        if level["how"]:
            lines.append(f"      to get it: {level['how']}")
    return lines


def _harness_lines(harness: Mapping[str, Any] | None) -> list[str]:
    if harness is None:
        return []
    if not harness["ok"]:
        return [f"Harness: {harness['problem']}"]
    lines = [f"Harness {harness['name']}: {harness['n_tasks']} tasks"]
    for price in harness["prices"]:
        dollars = price["in_nanos_per_mtok"] / 1e9, price["out_nanos_per_mtok"] / 1e9
        bill = "paid" if price["paid"] else "list price, no bill"
        lines.append(
            f"  {price['model']}: ${dollars[0]:g} in, ${dollars[1]:g} out per million tokens "
            f"({bill}; {price['source']})"
        )
    bound = harness["power"]["agreement_bound_at_zero"]
    if bound is not None:
        lines.append(
            f"  {harness['power']['n_confirm']} confirm tasks: if no answer changes, accuracy "
            f"cannot have moved more than {100 * bound:.1f} points"
        )
    return lines
