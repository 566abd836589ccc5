"""Ask the proposers for patches of one parent and admit the ones that hold up."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from harnesspro.core.admit import objections
from harnesspro.core.errors import ConfigError
from harnesspro.core.ports import Proposer
from harnesspro.core.records import Candidate, Direction, Harness, Patch, Refusal, Task
from harnesspro.proposers.question import Question

ApplyPatch = Callable[[Harness, Patch], Harness]

WANTED: Mapping[str, frozenset[Direction]] = {
    "cost": frozenset({"cost", "knobs", "skeleton", "compose"}),
    "success": frozenset({"success", "skeleton", "compose"}),
}
"""What a run is asked to go for -> the directions of the patches it may try."""


@dataclass(frozen=True, slots=True)
class Admitted:
    """A candidate with the harness it is."""

    candidate: Candidate
    harness: Harness


@dataclass(frozen=True, slots=True)
class Admission:
    """What a patch is held against."""

    apply_patch: ApplyPatch
    search_tasks: Sequence[Task]
    unseen_tasks: Sequence[Task]
    known_ids: frozenset[str]
    """Harness ids already on record: the same content is not tried twice."""


def propose(
    question: Question, proposers: Sequence[Proposer], *, directions: Sequence[str]
) -> tuple[Patch, ...]:
    """Distinct patches in the wanted directions (keys of `WANTED`).

    The proposers take turns, so that none crowds out the others.
    """
    wanted = frozenset[Direction]().union(*(WANTED[name] for name in directions))
    offers = [
        [patch for patch in proposer.propose(question) if patch.direction in wanted]
        for proposer in proposers
    ]
    patches: dict[str, Patch] = {}
    for turn in range(max((len(offer) for offer in offers), default=0)):
        for offer in offers:
            if turn < len(offer):
                patches.setdefault(offer[turn].patch_id, offer[turn])
    return tuple(patches.values())


def admit(
    patches: Iterable[Patch],
    parent: Harness,
    admission: Admission,
    *,
    generation: int,
    round_index: int,
    n_new: int,
) -> tuple[tuple[Admitted, ...], tuple[Refusal, ...]]:
    """The first `n_new` patches that hold up, as candidates, and why the others did not."""
    admitted: dict[str, Admitted] = {}
    refusals: list[Refusal] = []
    for patch in patches:
        if len(admitted) >= n_new:
            break
        made = _made(patch, parent, admission)
        if isinstance(made, Refusal):
            refusals.append(made)
        elif made.harness_id not in admission.known_ids and made.harness_id not in admitted:
            admitted[made.harness_id] = Admitted(
                _candidate(made, patch, generation=generation, round_index=round_index), made
            )
    return tuple(admitted.values()), tuple(refusals)


def _made(patch: Patch, parent: Harness, admission: Admission) -> Harness | Refusal:
    try:
        made = admission.apply_patch(parent, patch)
    except ConfigError as error:
        return Refusal(patch=patch, reason=str(error))
    problems = objections(
        parent,
        made,
        patch,
        search_tasks=admission.search_tasks,
        unseen_tasks=admission.unseen_tasks,
    )
    return Refusal(patch=patch, reason="; ".join(problems)) if problems else made


def _candidate(made: Harness, patch: Patch, *, generation: int, round_index: int) -> Candidate:
    return Candidate(
        candidate_id=made.harness_id,
        parent_id=patch.parent_id,
        generation=generation,
        round_index=round_index,
        patch=patch,
        summary=patch.summary,
        proposer=patch.proposer,
    )
