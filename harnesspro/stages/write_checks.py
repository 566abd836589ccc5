"""Write and freeze what judges answers, before any answer exists; from public tasks only."""

from __future__ import annotations

from collections.abc import Sequence

from harnesspro.checks import admit, checks_for, probes_for
from harnesspro.core import referee as referees
from harnesspro.core.records import AnswerSpec, Check, Referee, Task

N_PROBES = 60


def write_checks(
    spec: AnswerSpec, tasks: Sequence[Task], *, owners: Sequence[Check], seed: int
) -> Referee:
    """The frozen referee: the owner's checks, and generated ones whose false rejects were measured."""
    probes = probes_for(spec, tasks, seed=seed, n=N_PROBES)
    checks = admit((*owners, *checks_for(spec)), probes, spec, seed=seed)
    return referees.freeze(checks)
