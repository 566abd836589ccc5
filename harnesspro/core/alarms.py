"""Whether a variant learnt the checks it may have seen rather than the job.

A third of the generated checks is SHADOW: nobody but the judge ever sees it. A variant that passes
the other checks more often than before and these not, has been fitted to what it was shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from harnesspro.core.hashing import content_hash
from harnesspro.core.records import Check, Estimate, Referee
from harnesspro.core.referee import Passed
from harnesspro.core.stats import boot_counts, bounded_estimate

ALPHA = 0.05
SHADOW_ONE_IN = 3
LEAST_TASKS = 12
"""Under so many tasks with both kinds of check a gap says nothing."""


def with_shadow(checks: Sequence[Check]) -> tuple[Check, ...]:
    """The checks, every third generated one SHADOW, by their content alone; of two, none is.

    The owner's checks lie in the harness folder and are SEEN.
    """
    generated = sorted(
        (check.check_id for check in checks if check.writer in ("schema", "program")),
        key=content_hash,
    )
    hidden = frozenset(generated[: len(generated) // SHADOW_ONE_IN])
    return tuple(
        check.model_copy(update={"channel": "SHADOW" if check.check_id in hidden else "SEEN"})
        for check in checks
    )


def visible(checks: Iterable[Check]) -> tuple[Check, ...]:
    """What an improver or a harness may be shown."""
    return tuple(check for check in checks if check.channel == "SEEN")


@dataclass(frozen=True, slots=True)
class Gap:
    """How much more a variant gained on SEEN checks than on SHADOW ones."""

    candidate_id: str
    gain: Estimate
    """Mean over tasks of (seen - shadow) of the variant less that of the initial harness; `low` is the
    one-sided 95 % bound."""

    @property
    def raised(self) -> bool:
        """Whether it is surely above 0: its answers want a review.

        It proves nothing: where the hidden checks are nearly always passed, an honest gain can show on
        the others alone.
        """
        return self.gain.n >= LEAST_TASKS and self.gain.low > 0


def gap_of(
    candidate_id: str,
    own: Mapping[str, Passed],
    base: Mapping[str, Passed],
    *,
    referee: Referee,
    seed: int,
) -> Gap | None:
    """The gap over the tasks on which both kinds of check speak of both answers.

    `own` and `base`: task_id -> what every check says of that harness's answer. None without such a
    task.
    """
    gains = [
        here - there
        for task in sorted(own.keys() & base.keys())
        if (here := _gap(own[task], referee)) is not None
        and (there := _gap(base[task], referee)) is not None
    ]
    if not gains:
        return None
    values = np.array(gains)
    drawn = boot_counts(values.size, seed=seed) @ values / values.size
    gain = bounded_estimate(
        float(values.mean()), drawn, n=values.size, alpha=2 * ALPHA, least=-2.0, most=2.0
    )
    return Gap(candidate_id=candidate_id, gain=gain)


def _gap(passed: Passed, referee: Referee) -> float | None:
    seen, shadow = _share(passed, referee, "SEEN"), _share(passed, referee, "SHADOW")
    return None if seen is None or shadow is None else seen - shadow


def _share(passed: Passed, referee: Referee, channel: Literal["SEEN", "SHADOW"]) -> float | None:
    """Mean of what the generated checks of one kind say; None where none speaks."""
    said = [
        passed[check.check_id]
        for check in referee.checks
        if check.channel == channel and check.writer != "user" and check.check_id in passed
    ]
    return sum(said) / len(said) if said else None
