"""How good the referee is: pairs of differing answers to probes, one of them right by construction.

Each probe gives at most one pair, so pairs are independent. The first probes admit the channels; the
later ones, which had no say in that, measure hit rate and tilt.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from harnesspro.core.hashing import seed_from


@dataclass(frozen=True, slots=True)
class ProbeAnswer:
    """One harness's answer to a probe; whether it is right is known by construction."""

    candidate_id: str
    cluster: str
    right: bool
    answered: bool
    n_chars: int
    """Length of the answer as canonical JSON; 0 where there is none."""
    latency_s: float
    cost_usd: float


@dataclass(frozen=True, slots=True)
class ProbeRow:
    """A probe and every answer to it, the initial harness's first."""

    probe_id: str
    answers: tuple[ProbeAnswer, ...]
    scores: Mapping[str, Mapping[str, float]]
    """Channel name -> cluster -> how right it finds that answer; a channel that is silent is absent."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two differing answers to one probe, exactly one of them right."""

    probe_id: str
    cluster: str
    """The variant's answer."""
    base_cluster: str
    variant_is_right: bool


def pair_of(row: ProbeRow, *, seed: int) -> Pair | None:
    """The pair a probe gives: the initial harness against one differing variant, drawn by seed.

    None where no variant differs with exactly one of the two right.
    """
    base, *others = row.answers
    usable = [a for a in others if a.cluster != base.cluster and a.right != base.right]
    if not usable:
        return None
    variant = usable[seed_from(seed, row.probe_id) % len(usable)]
    return Pair(
        probe_id=row.probe_id,
        cluster=variant.cluster,
        base_cluster=base.cluster,
        variant_is_right=variant.right,
    )
