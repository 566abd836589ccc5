"""What the owner could add so that a run may claim more, and what each would buy, in numbers.

At most three lines, and none that would change nothing in this very case.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from harnesspro.core.channels import kind_of
from harnesspro.core.margins import p_within
from harnesspro.core.phrases import counted, percent
from harnesspro.core.power import GOOD_REFEREE, Reach, what_n_can_show
from harnesspro.core.records import Referee, Verdict
from harnesspro.core.referee import (
    EASIER_PROBES,
    LEAST_TILT,
    TRUSTED_HIT_RATE,
    TRUSTED_PAIRS,
    Votes,
)
from harnesspro.core.stats import lower_bound

MOST_LINES = 3
MOST_ASKS = 2
"""Things to add that one line names."""
ALPHA = 0.05
EXAMPLE_CHANGE = 0.2
"""Share of answers the example change alters where the run has no pick of its own to speak of."""


@dataclass(frozen=True, slots=True)
class Bought:
    """What a trusted referee would let pass on so many tasks."""

    n: int
    changed: int
    better: int
    """Of the changed answers, the fewest it must find better, the others worse."""


def advice(
    referee: Referee,
    n_confirm: int,
    *,
    has_user_checks: bool,
    channels: Sequence[str],
    eps: float = 0.05,
    verdicts: Sequence[Verdict] = (),
) -> tuple[str, ...]:
    """The lines, most useful first; none where nothing is open.

    `channels` are those configured, as `panel:MODEL`; `eps` is the run's margin; of `verdicts` the
    first that is inconclusive is what the numbers speak of.
    """
    if verdicts and all(verdict.kind != "inconclusive" for verdict in verdicts):
        return ()
    if referee.trusted:
        return _more_inputs(n_confirm, eps=eps)[:MOST_LINES]
    bought = what_a_referee_buys(n_confirm, changed=_changed(verdicts, n_confirm), eps=eps)
    asked: tuple[str, ...] = ()
    if not _unmarked(referee) or not (has_user_checks or channels):
        asked = _better_referee(has_user_checks=has_user_checks, channels=channels)
    buys = _buys(bought, n_confirm, eps=eps)
    lines = (*_more_probes(referee), *(f"{each} {buys}".strip() for each in asked))
    inputs = _more_inputs(n_confirm, eps=eps)
    return ((*lines, *inputs) if bought else (*inputs, *lines))[:MOST_LINES]


def _unmarked(referee: Referee) -> bool:
    """Whether probes were wanted and could not mark it: a further channel would not be marked either."""
    return referee.calibration is not None and not referee.calibration.n_probes


def what_a_referee_buys(n: int, *, changed: int, eps: float) -> Bought | None:
    """The weakest evidence with which a referee right on 90 of 100 pairs lets `changed` answers pass.

    None where no evidence would do.
    """
    right = round(GOOD_REFEREE * TRUSTED_PAIRS)
    rate = lower_bound(right, TRUSTED_PAIRS, alpha=ALPHA) - EASIER_PROBES
    for better in range(changed // 2, changed + 1):
        votes = Votes(n=n, changed=changed, worse=changed - better, better=better)
        if p_within(votes, hit_rate=rate, tilt=LEAST_TILT, eps=eps) <= ALPHA:
            return Bought(n=n, changed=changed, better=better)
    return None


def _changed(verdicts: Sequence[Verdict], n_confirm: int) -> int:
    """The changed answers that are in question: the open pick's, or a fifth of all."""
    still = next((one for one in verdicts if one.kind == "inconclusive" and one.n_changed), None)
    return still.n_changed if still else round(EXAMPLE_CHANGE * n_confirm)


def _buys(bought: Bought | None, n_confirm: int, *, eps: float) -> str:
    if bought is None:
        return ""
    return (
        f"Right on {percent(GOOD_REFEREE)} of {TRUSTED_PAIRS} probe pairs, the referee could let "
        f"{bought.changed} changed answers of {bought.n} pass where it finds {bought.better} better "
        f"and {bought.changed - bought.better} worse; without it "
        f"{_most_by_agreement(what_n_can_show(n_confirm, eps=eps))}."
    )


def _most_by_agreement(reach: Reach) -> str:
    if reach.most_changed is None:
        return "nothing can be accepted"
    return f"at most {reach.most_changed} may change" if reach.most_changed else "none may change"


# --- what to add -------------------------------------------------------------------------------


def _more_probes(referee: Referee) -> tuple[str, ...]:
    """Where a good referee was only marked on too few pairs."""
    calibration = referee.calibration
    rate = calibration.hit_rate if calibration else None
    if calibration is None or rate is None or not rate.n < TRUSTED_PAIRS:
        return ()
    expected = lower_bound(round(rate.mean * TRUSTED_PAIRS), TRUSTED_PAIRS, alpha=ALPHA)
    if expected < TRUSTED_HIT_RATE:
        return ()
    n = calibration.n_admitting + math.ceil(TRUSTED_PAIRS * calibration.n_probes / rate.n)
    return (
        f"More probes: --probes {n} would give about {TRUSTED_PAIRS} pairs instead of {rate.n}; at "
        f"{percent(rate.mean)} right the referee would be trusted.",
    )


def _better_referee(*, has_user_checks: bool, channels: Sequence[str]) -> tuple[str, ...]:
    """Own checks, an independent model, a verifier: what is not there yet, in one line at most."""
    kinds = set(map(kind_of, channels))
    asks = []
    if not has_user_checks:
        asks.append("your own checks (`checks:` in harness.yaml), which are heard first")
    if not kinds & {"panel", "judge"}:
        asks.append(
            "a model of another family (`--channel panel=MODEL`), which sees errors that the "
            "harness and its checks share"
        )
    if "verifier" not in kinds and len(asks) < MOST_ASKS:
        asks.append("a verifier of yours (`--channel verifier=URL`)")
    if not asks:
        return ()
    return (f"For a referee that can vouch for changed answers, add {', or '.join(asks)}.",)


def _more_inputs(n_confirm: int, *, eps: float) -> tuple[str, ...]:
    """What more tasks would let pass by agreement alone; inputs are enough, no right answers."""
    reach = what_n_can_show(n_confirm, eps=eps)
    if reach.most_changed is None:
        n = reach.fewest_by_agreement
        return (
            f"More inputs (no right answers needed): {counted(n - n_confirm, 'more confirm task')} "
            f"make {n}, the fewest on which a change that alters no answer can be accepted at "
            f"{100 * eps:g} points.",
        )
    twice = what_n_can_show(2 * n_confirm, eps=eps).most_changed
    now = reach.most_changed or "none"
    return (
        f"More inputs (no right answers needed): on {2 * n_confirm} confirm tasks {twice} changed "
        f"answers pass without a judge, on these {n_confirm} {now}.",
    )
