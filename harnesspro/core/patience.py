"""How long a provider is waited for: pauses between tries, a budget of retries, and a breaker. Pure.

Full jitter (a pause drawn evenly up to a doubling bound) spreads callers that failed together; a budget
of retries keeps a struggling provider from being asked twice as often; a breaker stops asking a model
that answers nobody. Times are seconds of one monotonic clock.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

LONGEST_BACKOFF_S = 30.0
RETRIES_PER_CALL = 0.2
"""What every first try adds to the budget of retries."""
MOST_RETRIES = 10.0
"""The budget at the start, and the most it holds."""
FAULTS_TO_OPEN = 1
"""Calls in a row, each failed through all its tries, after which a model rests: a second, at first."""
FIRST_REST_S, LONGEST_REST_S = 1.0, 30.0


def pause_s(
    n_tried: int, *, backoff_s: float, told_s: float | None, level: float, left_s: float
) -> float | None:
    """Seconds to wait after the `n_tried`-th try; None where the deadline would pass in them.

    `told_s` is the provider's own retry-after, which is kept to the full and spread by one backoff;
    `level` is drawn evenly from [0, 1).
    """
    if told_s is None:
        pause = level * min(backoff_s * 2 ** (n_tried - 1), LONGEST_BACKOFF_S)
    else:
        pause = max(told_s, 0.0) + level * backoff_s
    return pause if pause < left_s else None


@dataclass(frozen=True, slots=True)
class RetryBudget:
    """Retries a provider may still be asked for."""

    left: float = MOST_RETRIES

    def asked(self) -> RetryBudget:
        """After a first try."""
        return RetryBudget(min(self.left + RETRIES_PER_CALL, MOST_RETRIES))

    def spent(self) -> RetryBudget | None:
        """After one retry; None where there is none left."""
        return RetryBudget(self.left - 1) if self.left >= 1 else None


@dataclass(frozen=True, slots=True)
class Breaker:
    """Whether a model is worth asking: closed; open until `until`; then one call finds out."""

    n_faults: int = 0
    """In a row."""
    since: float | None = None
    """When the first of them was."""
    until: float | None = None
    """Open before this moment; None = closed."""
    rest_s: float = FIRST_REST_S

    def is_open(self, now: float) -> bool:
        """Whether nobody should ask now."""
        return self.until is not None and now < self.until

    def failed(self, now: float) -> Breaker:
        """After a fault of the provider; the rest doubles each time whoever found out failed too."""
        n_faults, since = self.n_faults + 1, now if self.since is None else self.since
        if n_faults < FAULTS_TO_OPEN:
            return replace(self, n_faults=n_faults, since=since)
        rest_s = self.rest_s if self.until is None else min(2 * self.rest_s, LONGEST_REST_S)
        return Breaker(n_faults, since, until=now + rest_s, rest_s=rest_s)

    def finding_out(self, now: float) -> Breaker:
        """While one call finds out, the others rest on."""
        return replace(self, until=now + self.rest_s) if self.until is not None else self

    def answered(self) -> Breaker:
        """After an answer, or a refusal that shows the provider works."""
        return Breaker()
