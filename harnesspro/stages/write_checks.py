"""Write what judges answers, before any answer exists; from public tasks only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harnesspro.checks import admit, checks_for, probes_for
from harnesspro.core.records import AnswerSpec, Check, Probe, Task

N_PROBES = 60


@dataclass(frozen=True, slots=True)
class Written:
    """Checks, and the probes they were measured on; programs wait to be run on these."""

    checks: tuple[Check, ...]
    probes: tuple[Probe, ...]


def write_checks(
    spec: AnswerSpec, tasks: Sequence[Task], *, owners: Sequence[Check], seed: int
) -> Written:
    """The owner's checks, and generated ones whose false rejects were measured."""
    probes = probes_for(spec, tasks, seed=seed, n=N_PROBES)
    checks = admit((*owners, *checks_for(spec)), probes, spec, seed=seed)
    return Written(checks=checks, probes=probes)
