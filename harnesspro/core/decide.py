"""What to do next, decided from facts alone: `World` in, `RunRound` or `Stop` out.

No state is kept between calls: after a crash the same facts give the same decision.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

StopName = Literal["rounds", "budget", "time", "futile", "interrupted"]


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a piece of work is expected to take."""

    usd: float
    seconds: float


@dataclass(frozen=True, slots=True)
class RoundFacts:
    """What one finished round left on record."""

    index: int
    parent_ids: tuple[str, ...]
    candidate_ids: tuple[str, ...]
    promoted_ids: tuple[str, ...]
    """The parents of the round to come."""


@dataclass(frozen=True, slots=True)
class World:
    """Everything `decide` may know."""

    baseline_id: str
    rounds: tuple[RoundFacts, ...]
    n_rounds: int
    max_candidates: int
    spent_usd: float
    """What is held against the cap so far."""
    cap_usd: float | None
    elapsed_s: float
    time_limit_s: float | None
    next_round: Forecast
    confirm: Forecast
    interrupted: StopName | None = None

    @property
    def n_candidates(self) -> int:
        """Distinct candidates raced so far."""
        return len({cid for facts in self.rounds for cid in facts.candidate_ids})


@dataclass(frozen=True, slots=True)
class RunRound:
    """Run round `index`: new patches of these parents, at most `n_new` candidates."""

    index: int
    parent_ids: tuple[str, ...]
    n_new: int


@dataclass(frozen=True, slots=True)
class Stop:
    """Explore no further, and why."""

    reason: StopName
    detail: str


def decide(world: World) -> RunRound | Stop:
    """The next command."""
    stop = _reason_to_stop(world)
    if stop is not None:
        return stop
    rounds_left = world.n_rounds - len(world.rounds)
    room = world.max_candidates - world.n_candidates
    return RunRound(
        index=len(world.rounds),
        parent_ids=_parents(world),
        n_new=max(1, -(-room // rounds_left)),
    )


def _reason_to_stop(world: World) -> Stop | None:
    if world.interrupted is not None:
        return Stop(world.interrupted, "stopped before the next round")
    if len(world.rounds) >= world.n_rounds:
        return Stop("rounds", f"all {world.n_rounds} rounds done")
    if world.n_candidates >= world.max_candidates:
        return Stop("rounds", f"all {world.max_candidates} candidates measured")
    if world.rounds and not world.rounds[-1].candidate_ids:
        return Stop("futile", "no proposer had anything new to try")
    need_usd = world.next_round.usd + world.confirm.usd
    if world.cap_usd is not None and world.spent_usd + need_usd > world.cap_usd:
        return Stop(
            "budget",
            f"${world.spent_usd:.4f} of ${world.cap_usd:.4f} spent; another round and the final "
            f"measurement would take about ${need_usd:.4f}",
        )
    need_s = world.next_round.seconds + world.confirm.seconds
    if world.time_limit_s is not None and world.elapsed_s + need_s > world.time_limit_s:
        return Stop(
            "time",
            f"{world.elapsed_s:.0f} s of {world.time_limit_s:.0f} s used; another round and the "
            f"final measurement would take about {need_s:.0f} s",
        )
    return None


def _parents(world: World) -> tuple[str, ...]:
    """Those the last round named; the baseline while nothing else lives."""
    named = world.rounds[-1].promoted_ids if world.rounds else ()
    return named or (world.baseline_id,)
