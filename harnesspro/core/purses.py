"""How far each purse inside the run's may be emptied: pure sums, in dollars in and nano-dollars out."""

from __future__ import annotations

from harnesspro.core.money import nanos_from_usd
from harnesspro.core.ports import Purse

IMPROVER_SHARE = 0.4
"""Of the run's cap, the most that thinking may take: what is thought of has to be measured too."""
CANDIDATE_TIMES = 4.0
"""What a candidate may cost on the search tasks, over the initial harness on the same: beyond it no
answer is worth waiting for."""


def improver_cap_nanos(cap_nanos: int | None) -> int | None:
    """The most of a run's cap that its improver may take; None where the run has none."""
    return None if cap_nanos is None else int(cap_nanos * IMPROVER_SHARE)


def round_cap_nanos(
    cap_usd: float | None, *, spent_usd: float, confirm_usd: float, search_usd: float
) -> int | None:
    """What a round may spend: all but what the final measurement is expected to take.

    Where the rest would not cover half of what the round is expected to take (`search_usd`), both
    cannot be had: then the round may spend everything, for something observed is more than
    nothing confirmed. Never below 0; None without a cap.
    """
    if cap_usd is None:
        return None
    left = cap_usd - spent_usd
    free = left - confirm_usd
    return max(0, nanos_from_usd(free if free >= search_usd / 2 else left))


def candidate_cap_nanos(base_usd: float, *, n_trials: int) -> int | None:
    """What a candidate may spend in a race, by what a trial of the initial harness costs.

    None where that is unknown or free.
    """
    return nanos_from_usd(CANDIDATE_TIMES * base_usd * n_trials) if base_usd > 0 else None


def round_purse(index: int, cap_nanos: int | None) -> Purse:
    """The purse of a round, counted from 0 and named from 1."""
    return Purse(path=f"run/target/round {index + 1}", kind="round", cap_nanos=cap_nanos)


def candidate_purse(within: Purse, harness_id: str, cap_nanos: int | None) -> Purse:
    """A candidate's purse in a round."""
    return Purse(path=f"{within.path}/{harness_id}", kind="candidate", cap_nanos=cap_nanos)
