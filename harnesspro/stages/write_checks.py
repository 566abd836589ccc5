"""Write and freeze what judges answers, before any answer exists; from public tasks only."""

from __future__ import annotations

from collections.abc import Sequence

from harnesspro.checks import admit, checks_for, probes_for
from harnesspro.core import referee as referees
from harnesspro.core.records import AnswerSpec, Referee, Task

N_PROBES = 60


def write_checks(spec: AnswerSpec, tasks: Sequence[Task], *, seed: int) -> Referee:
    """The frozen referee: checks with their measured false-reject rate, admitted or not."""
    probes = probes_for(spec, tasks, seed=seed, n=N_PROBES)
    checks = admit(checks_for(spec), probes, spec, seed=seed)
    return referees.freeze(checks)
