"""What every proposer is asked: a harness to change, what was found on it, what was tried before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from harnesspro.core.records import Finding, Harness, KnobValue, Patch


@dataclass(frozen=True, slots=True)
class Tried:
    """A variant on record with its measured effect.

    The initial harness is among them with `patch_id` "" and `status` "baseline". A number that was
    not measured is None.
    """

    knob_values: Mapping[str, KnobValue]
    """Every knob of the variant, not only those its patch set."""
    patch_id: str
    summary: str
    proposer: str
    score: float | None
    """Label-free score; more is better."""
    cost_ratio: float | None
    """Mean cost over the initial harness's; less is better."""
    changed: float | None
    """Share of tasks whose answer differs from the initial harness's."""
    status: str
    """`baseline`, `promoted`, `dropped`, `open`, or `refused`."""
    harness_id: str = ""
    """Empty where it was refused."""
    lineage: tuple[Patch, ...] = ()
    """The patches from the initial harness to it, oldest first."""


@dataclass(frozen=True, slots=True)
class CheckShown:
    """A check an improver may be shown, and how the parent's answers did by it."""

    name: str
    family: str
    failed: float | None
    """Share of the parent's answers that fail it; None where it spoke of none."""


@dataclass(frozen=True, slots=True)
class Question:
    """One parent to improve in one round."""

    parent: Harness
    """Patches are made for this harness."""
    base: Harness
    """The initial harness of the run."""
    findings: tuple[Finding, ...]
    """On the parent's trials, dearest first."""
    history: tuple[Tried, ...]
    round_index: int
    n_rounds: int
    seed: int
    models: Mapping[str, str]
    """Role -> model of the run."""
    checks: tuple[CheckShown, ...] = ()
    """What answers are held to, as far as an improver may know it."""

    @property
    def tried_ids(self) -> frozenset[str]:
        """Patch ids on record."""
        return frozenset(tried.patch_id for tried in self.history)
