"""The operator library as a proposer: each finding calls the operators that it justifies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest

from harnesspro.core.records import Patch
from harnesspro.operators import OPERATORS
from harnesspro.operators.operator import Operator
from harnesspro.proposers.question import Question


class OperatorProposer:
    """Needs no model. What keeps every answer comes first, then findings take turns."""

    name = "operator"

    def __init__(self, operators: Mapping[str, Operator] = OPERATORS) -> None:
        self.operators = operators

    def propose(self, question: Question) -> tuple[Patch, ...]:
        """Every patch a finding justifies on the parent, once, those on record left out."""
        safe = [op for op in self.operators.values() if op.keeps_answers]
        other = [op for op in self.operators.values() if not op.keeps_answers]
        patches: dict[str, Patch] = {}
        for patch in (*_turns(question, safe), *_turns(question, other)):
            if patch.patch_id not in question.tried_ids:
                patches.setdefault(patch.patch_id, patch)
        return tuple(patches.values())


def _turns(question: Question, operators: Sequence[Operator]) -> list[Patch]:
    """The first patch of each finding, dearest finding first, then the second of each, and so on."""
    offers = [
        [patch for op in operators if (patch := op.propose(question.parent, finding)) is not None]
        for finding in question.findings
    ]
    rounds = zip_longest(*offers)
    return [patch for turn in rounds for patch in turn if patch is not None]
