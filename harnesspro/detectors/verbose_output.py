"""Output tokens that are paid for and are no part of the answer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from harnesspro.core.findings import finding_of, knob_place
from harnesspro.core.records import Finding, Harness, Step, Trajectory
from harnesspro.detectors.calls import output_rates, percentile, span
from harnesspro.detectors.replies import answer_span

MIN_OUTSIDE_SHARE = 0.05
"""Below this share of the output a fence or a full stop is all there is to save."""


@dataclass(frozen=True, slots=True)
class Located:
    """A reply in which the answer was found; tokens are shared out by characters."""

    trajectory: Trajectory
    step: Step
    start: int
    end: int

    @property
    def n_visible(self) -> int:
        """Output tokens of the text itself, without hidden reasoning."""
        return max(self.step.usage.out_tokens - self.step.usage.reasoning_tokens, 0)

    @property
    def n_answer(self) -> int:
        """Output tokens of the answer, rounded up."""
        return math.ceil(self.n_visible * (self.end - self.start) / len(self.step.reply))

    @property
    def n_until_end(self) -> int:
        """Output tokens until the answer is complete, hidden reasoning included."""
        hidden = self.step.usage.out_tokens - self.n_visible
        return hidden + math.ceil(self.n_visible * self.end / len(self.step.reply))

    @property
    def n_outside(self) -> int:
        """Output tokens before and after the answer."""
        return self.n_visible - self.n_answer


def detect(harness: Harness, trajectories: Sequence[Trajectory]) -> tuple[Finding, ...]:
    """Claims the output price of the text around the answer, in trials that were answered."""
    located = [
        Located(trajectory, step, *where)
        for trajectory in trajectories
        if trajectory.trial.outcome == "answered"
        for step in trajectory.steps
        if (where := answer_span(step.reply, trajectory.trial.answer)) is not None
    ]
    n_visible = sum(one.n_visible for one in located)
    n_outside = sum(one.n_outside for one in located)
    if not n_outside or n_outside < MIN_OUTSIDE_SHARE * n_visible:
        return ()
    rates = output_rates(trajectories)
    evidence = [
        span(one.trajectory, one.step, one.n_outside * rates[one.step.model])
        for one in located
        if one.n_outside
    ]
    return (
        finding_of(
            harness,
            detector="verbose_output",
            pattern="replies say more than the answer",
            advice="Ask for the answer alone, or constrain the reply to the answer's form.",
            place=knob_place(harness, "constrain", "max_output_tokens"),
            evidence=evidence,
            detail={
                "outside_share": n_outside / n_visible,
                "out_tokens_p50": percentile([one.step.usage.out_tokens for one in located], 50),
                "out_tokens_p99": percentile([one.step.usage.out_tokens for one in located], 99),
                "answer_tokens_p50": percentile([one.n_answer for one in located], 50),
                "answer_tokens_p99": percentile([one.n_answer for one in located], 99),
                "answer_end_tokens_p99": percentile([one.n_until_end for one in located], 99),
            },
        ),
    )
