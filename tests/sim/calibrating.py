"""Trust given the way a run gives it: probes in batches until it is settled, then the frozen referee."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.random import Generator

from harnesspro.core.calibration import (
    Enough,
    ProbeAnswer,
    ProbeRow,
    calibration_of,
    mark,
    n_admitting,
    next_probes,
    pairs_of,
)
from harnesspro.core.records import Referee
from harnesspro.core.referee import freeze
from tests.sim.worlds import Eye

DISCORDANT = 0.4
"""Share of probes that give a pair."""
Merits = dict[str, dict[str, float]]


def calibrated(rng: Generator, eye: Eye, *, seed: int, n_most: int = 600) -> Referee:
    """The referee after as many probes as the product asks for."""
    rows: list[ProbeRow] = []
    merits: Merits = {}
    while True:
        first = n_admitting(rows, seed=seed)
        step = next_probes(
            len(rows),
            n_most=n_most,
            n_pairs=len(pairs_of(rows, seed=seed)),
            formed=first is not None,
            marks=None if first is None else mark(pairs_of(rows[first:], seed=seed), merits),
        )
        if isinstance(step, Enough):
            break
        for _ in range(step.n):
            _measure(rng, eye, rows, merits)
    admitting = len(rows) if first is None else first
    marked = calibration_of(rows, merits, admitting=admitting, seed=seed, reason=step.reason)
    return freeze([], calibration=marked)


def _measure(rng: Generator, eye: Eye, rows: list[ProbeRow], merits: Merits) -> None:
    name = f"p{len(rows)}"
    differs, gains = rng.random() < DISCORDANT, bool(rng.random() < 0.5)
    answers = [("base", "b", not gains), ("v", "v", gains)] if differs else _same(rng)
    errs = rng.random() < (eye.errs_on_gain if gains else eye.errs_on_loss)
    merits[name] = {"v": 0.8, "b": 0.2} if gains != errs else {"v": 0.2, "b": 0.8}
    rows.append(ProbeRow(name, tuple(_answer(*one) for one in answers), {}))


def _same(rng: Generator) -> Sequence[tuple[str, str, bool]]:
    right = bool(rng.random() < 0.8)
    return [("base", "b", right), ("v", "b", right)]


def _answer(key: str, cluster: str, right: bool) -> ProbeAnswer:
    return ProbeAnswer(key, cluster, right, True, 1, 1.0, 1.0)


def trusted_in_runs(eye: Eye, *, n_runs: int) -> float:
    """Share of runs whose referee is trusted in the end."""
    rng = np.random.default_rng([17, round(100 * eye.hit)])
    return float(np.mean([calibrated(rng, eye, seed=run).trusted for run in range(n_runs)]))
