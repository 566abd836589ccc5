"""Documents made from what is on disk, without running anything: a run's diagnosis, a run's plan."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from statistics import fmean
from typing import Any

from harnesspro.cli.prepare import Prepared
from harnesspro.cli.starting import read_header
from harnesspro.config import RunConfig
from harnesspro.core.errors import ConfigError, IntegrityError
from harnesspro.core.findings import Diagnosis
from harnesspro.core.plan import Plan, most_probes
from harnesspro.core.power import what_n_can_show
from harnesspro.core.records import Trial
from harnesspro.core.splits import default_n_sealed, default_n_search
from harnesspro.core.stats import power_of
from harnesspro.store.ledger import LedgerReader
from harnesspro.store.runs import run_ids


def diagnosis_of(run_dir: Path) -> dict[str, Any]:
    """`harnesspro/diagnosis@1` of a run's initial harness, from its ledger.

    Raises:
        ConfigError: the run ended before anything was diagnosed.
    """
    header = read_header(run_dir)
    with LedgerReader(run_dir) as ledger:
        kept = ledger.get("finding", header.base_harness_id)
    if kept is None:
        raise ConfigError(
            f"run {header.run_id}",
            "nothing diagnosed yet",
            fix=f"harnesspro improve --resume {header.run_id}",
        )
    return Diagnosis.model_validate(kept).document(
        {
            "run_id": header.run_id,
            "harness": header.config.harness_ref,
            "harness_name": header.harness_name,
            "models": dict(header.config.models),
        },
        levels={"isolation": header.isolation},
    )


def plan_for(config: RunConfig, n_tasks: int, *, has_gold: bool) -> Plan:
    """The sizes a run on so many tasks would have, the most a referee could be measured on included."""
    n_search = min(n_tasks, config.n_search or default_n_search(n_tasks))
    opens = has_gold and config.open_gold and config.n_confirm is None
    n_sealed = min(n_tasks - n_search, default_n_sealed(n_tasks)) if opens else 0
    left = n_tasks - n_search - n_sealed
    n_confirm = left if config.n_confirm is None else min(left, config.n_confirm)
    return Plan(
        n_search=n_search,
        n_confirm=n_confirm,
        n_rounds=config.n_rounds,
        max_candidates=config.max_candidates,
        max_picks=config.max_picks,
        first_block=config.first_block,
        n_repeats=config.n_repeats,
        n_sealed=n_sealed,
        with_controls=config.controls,
        n_probes=most_probes(
            config.n_probes, n_confirm=n_confirm, eps=config.margin, can_judge=True
        ),
    )


def plan_of(prepared: Prepared, out: Path) -> dict[str, Any]:
    """`harnesspro/plan@1`: trials × seconds × dollars, nothing run."""
    has_gold = prepared.task_set.seal is not None
    plan = plan_for(prepared.config, len(prepared.tasks), has_gold=has_gold)
    limits = prepared.harness.manifest.limits
    return {
        "schema": "harnesspro/plan@1",
        "harness": prepared.config.harness_ref,
        "harness_name": prepared.harness.manifest.name,
        "models": dict(prepared.config.models),
        "channels": list(prepared.config.channels),
        "n_probes": plan.n_probes,
        "n_sealed": plan.n_sealed,
        "n_search": plan.n_search,
        "n_confirm": plan.n_confirm,
        "n_rounds": plan.n_rounds,
        "max_candidates": plan.max_candidates,
        "max_picks": plan.max_picks,
        "trials": {"low": plan.low, "expected": plan.expected, "high": plan.high},
        "most_usd": plan.high * limits.usd,
        "most_s": plan.high * limits.wall_s / prepared.config.concurrency,
        "measured": _measured(prepared, plan, out),
        "prices": [price.model_dump(mode="json") for price in prepared.prices],
        "power": power_of(n_search=plan.n_search, n_confirm=plan.n_confirm).model_dump(mode="json"),
        "reach": asdict(what_n_can_show(plan.n_confirm, eps=prepared.config.margin)),
    }


def _measured(prepared: Prepared, plan: Plan, out: Path) -> dict[str, Any] | None:
    """What a trial took in the newest run of this very harness here; None where there is none."""
    harness_id = prepared.harness.harness_id
    for run_id in reversed(run_ids(out)):
        run_dir = out / "runs" / run_id
        if not (run_dir / "ledger.db").is_file():
            continue
        try:
            header = read_header(run_dir)
        except IntegrityError:  # another run's trouble is not this plan's
            continue
        if header.base_harness_id != harness_id:
            continue
        with LedgerReader(run_dir) as ledger:
            trials = [Trial.model_validate(value) for _, value in ledger.all("trial")]
        own = [trial for trial in trials if trial.harness_id == harness_id]
        if own:
            usd, seconds = (fmean(t.cost_usd for t in own), fmean(t.latency_s for t in own))
            at_once = prepared.config.concurrency
            return {
                "run_id": run_id,
                "usd_per_trial": usd,
                "s_per_trial": seconds,
                "usd_low": usd * plan.low,
                "usd_expected": usd * plan.expected,
                "usd_high": usd * plan.high,
                "s_low": seconds * plan.low / at_once,
                "s_expected": seconds * plan.expected / at_once,
                "s_high": seconds * plan.high / at_once,
            }
    return None
