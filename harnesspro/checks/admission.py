"""Which checks may judge: those that let true answers pass and stop some wrong ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pydantic import JsonValue

from harnesspro.checks.kinds import empty_answer, mutants, passes
from harnesspro.core.records import AnswerSpec, Check, Probe
from harnesspro.core.stats import exact_share

MOST_FALSE_REJECTS = 0.05
LEAST_TELLING = 2
"""So many times likelier it must refuse a wrong answer than a true one."""
N_RUNS = 3
_RAISED = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


def admit(
    checks: Sequence[Check], probes: Sequence[Probe], spec: AnswerSpec, *, seed: int
) -> tuple[Check, ...]:
    """Every check with what was measured of it, admitted or not, and the reason in words.

    Admitted iff it raises on none, says the same three times, and fails at most 5 % of the probes' true
    answers and at least one mutated or empty answer, these twice as often. The owner's
    own checks are taken at their word; programs are measured where they can run.
    """
    usual = [probe for probe in probes if not probe.impossible]
    wrong = wrong_answers(usual, spec, seed=seed)
    measured = [_measured(check, usual, wrong, spec=spec) for check in checks]
    families = _family_kill_rates(measured, wrong, spec=spec)
    return tuple(
        check.model_copy(update={"family_kill_rate": families[check.family]})
        if check.admitted and check.writer == "schema"
        else check
        for check in measured
    )


def wrong_answers(
    probes: Sequence[Probe], spec: AnswerSpec, *, seed: int
) -> list[tuple[Probe, JsonValue]]:
    """Every probe with its mutants, drawn by seed, and the empty answer."""
    rng = np.random.default_rng(seed)
    return [
        (probe, answer)
        for probe in probes
        for answer in [*mutants(probe, spec, seed=int(rng.integers(2**62))), empty_answer(spec)]
    ]


def _family_kill_rates(
    checks: Sequence[Check], wrong: Sequence[tuple[Probe, JsonValue]], *, spec: AnswerSpec
) -> dict[str, float]:
    """Family -> share of wrong answers that some admitted check of it, decided here, fails."""
    families: dict[str, list[Check]] = {}
    for check in checks:
        if check.admitted and check.writer == "schema":
            families.setdefault(check.family, []).append(check)
    return {
        family: sum(
            not all(passes(one, probe.task, spec, answer) for one in members)
            for probe, answer in wrong
        )
        / len(wrong)
        for family, members in families.items()
    }


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
    unfit = _unfit(check, [*((probe, probe.answer) for probe in probes), *wrong], spec)
    if unfit is not None:
        return check.model_copy(update={"admitted": False, "reason": unfit})
    rejected = sum(not passes(check, probe.task, spec, probe.answer) for probe in probes)
    killed = sum(not passes(check, probe.task, spec, answer) for probe, answer in wrong)
    few = rejected <= MOST_FALSE_REJECTS * len(probes)
    telling = killed * len(probes) >= LEAST_TELLING * rejected * len(wrong)
    return check.model_copy(
        update={
            "false_reject_rate": exact_share(rejected, len(probes)),
            "kill_rate": killed / len(wrong),
            "admitted": few and telling and killed > 0,
            "reason": _reason(rejected, len(probes), killed=killed, n_wrong=len(wrong)),
        }
    )


def _unfit(
    check: Check, answers: Sequence[tuple[Probe, JsonValue]], spec: AnswerSpec
) -> str | None:
    """Why a check cannot be measured; None where it runs, and says the same every time."""
    for probe, answer in answers:
        try:
            said = {passes(check, probe.task, spec, answer) for _ in range(N_RUNS)}
        except _RAISED as error:
            return f"raises {type(error).__name__} on an answer"
        if len(said) > 1:
            return f"does not say the same of an answer in {N_RUNS} runs"
    return None


def _reason(rejected: int, n: int, *, killed: int, n_wrong: int) -> str:
    if killed == 0:
        return f"stops none of {n_wrong} wrong answers"
    found = f"stops {killed} of {n_wrong} wrong answers, refuses {rejected} of {n} true ones"
    if rejected > MOST_FALSE_REJECTS * n:
        return f"{found}; more than {100 * MOST_FALSE_REJECTS:.0f} % is too many"
    if killed * n < LEAST_TELLING * rejected * n_wrong:
        return f"{found}; it hardly tells them apart"
    return found
