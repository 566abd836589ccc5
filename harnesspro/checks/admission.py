"""Which checks may judge: those that let true answers pass and stop some wrong ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pydantic import JsonValue

from harnesspro.checks.kinds import empty_answer, mutants, passes
from harnesspro.core.records import AnswerSpec, Check, Probe
from harnesspro.core.stats import exact_share

MOST_FALSE_REJECTS = 0.05


def admit(
    checks: Sequence[Check], probes: Sequence[Probe], spec: AnswerSpec, *, seed: int
) -> tuple[Check, ...]:
    """Every check with what was measured of it, admitted or not, and the reason in words.

    Admitted iff it fails at most 5 % of the probes' true answers and at least one mutated or empty
    answer. The owner's own checks are taken at their word; programs are measured where they can run.
    """
    rng = np.random.default_rng(seed)
    wrong = [
        (probe, answer)
        for probe in probes
        for answer in [*mutants(probe, spec, seed=int(rng.integers(2**62))), empty_answer(spec)]
    ]
    return tuple(_measured(check, probes, wrong, spec=spec) for check in checks)


def _measured(
    check: Check,
    probes: Sequence[Probe],
    wrong: Sequence[tuple[Probe, JsonValue]],
    *,
    spec: AnswerSpec,
) -> Check:
    if check.writer == "user":
        return check.model_copy(update={"admitted": True, "reason": "the owner's own check"})
    if check.writer == "program":
        return check
    if not probes:
        reason = "no probe could be made, so nothing is known of it"
        return check.model_copy(update={"admitted": False, "reason": reason})
    rejected = sum(not passes(check, probe.task, spec, probe.answer) for probe in probes)
    killed = sum(not passes(check, probe.task, spec, answer) for probe, answer in wrong)
    return check.model_copy(
        update={
            "false_reject_rate": exact_share(rejected, len(probes)),
            "kill_rate": killed / len(wrong),
            "admitted": rejected <= MOST_FALSE_REJECTS * len(probes) and killed > 0,
            "reason": _reason(rejected, len(probes), killed=killed, n_wrong=len(wrong)),
        }
    )


def _reason(rejected: int, n: int, *, killed: int, n_wrong: int) -> str:
    if killed == 0:
        return f"stops none of {n_wrong} wrong answers"
    found = f"stops {killed} of {n_wrong} wrong answers, refuses {rejected} of {n} true ones"
    too_many = rejected > MOST_FALSE_REJECTS * n
    return f"{found}; more than {MOST_FALSE_REJECTS:.0%} is too many" if too_many else found
