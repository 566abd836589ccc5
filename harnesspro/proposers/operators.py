"""The operator library as a proposer: each finding calls the operators that it justifies."""

from __future__ import annotations

from collections.abc import Mapping

from harnesspro.core.records import Patch
from harnesspro.operators import OPERATORS
from harnesspro.operators.operator import Operator
from harnesspro.proposers.question import Question


class OperatorProposer:
    """Needs no model. Patches come in the order of the findings, then of the library."""

    name = "operator"

    def __init__(self, operators: Mapping[str, Operator] = OPERATORS) -> None:
        self.operators = operators

    def propose(self, question: Question) -> tuple[Patch, ...]:
        """Every patch a finding justifies on the parent, once, those on record left out."""
        patches: dict[str, Patch] = {}
        for finding in question.findings:
            for operator in self.operators.values():
                patch = operator.propose(question.parent, finding)
                if patch is not None and patch.patch_id not in question.tried_ids:
                    patches.setdefault(patch.patch_id, patch)
        return tuple(patches.values())
