"""Whether a program may judge, by what it said of answers known to be right or wrong."""

from __future__ import annotations

from collections.abc import Sequence

from harnesspro.checks.admission import MOST_FALSE_REJECTS
from harnesspro.core.records import Check
from harnesspro.core.stats import exact_share


def measured_program(
    check: Check, right: Sequence[float | None], wrong: Sequence[float | None]
) -> Check:
    """The check with its rates; shares of right and wrong answers, None where it was silent.

    Less than 1 is a refusal. Admitted iff it refuses at most 5 % of the right answers it speaks of,
    and some wrong one.
    """
    spoken = [share for share in right if share is not None]
    refused = sum(share < 1 for share in spoken)
    killed = sum(share is not None and share < 1 for share in wrong)
    most = MOST_FALSE_REJECTS * len(spoken)
    return check.model_copy(
        update={
            "false_reject_rate": exact_share(refused, len(spoken)) if spoken else None,
            "kill_rate": killed / len(wrong) if wrong else None,
            "admitted": bool(spoken) and refused <= most and killed > 0,
            "reason": _reason(refused, len(spoken), killed=killed, n_wrong=len(wrong)),
        }
    )


def _reason(refused: int, n: int, *, killed: int, n_wrong: int) -> str:
    if n == 0:
        return "says nothing of any probe"
    if killed == 0:
        return f"stops none of {n_wrong} wrong answers"
    found = f"stops {killed} of {n_wrong} wrong answers, refuses {refused} of {n} true ones"
    too_many = refused > MOST_FALSE_REJECTS * n
    return f"{found}; more than {100 * MOST_FALSE_REJECTS:.0f} % is too many" if too_many else found
