"""Votes that went on after they were decided.

A vote is decided when the leading answer's lead over the next is larger than the number of
samples still to come: no later sample can change who wins, so stopping there is exact.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from harnesspro.core.findings import finding_of, knob_place
from harnesspro.core.records import Finding, Harness, Step, Trajectory
from harnesspro.detectors.calls import is_repetition, percentile, same_requests, span
from harnesspro.detectors.replies import answer_key


@dataclass(frozen=True, slots=True)
class Vote:
    """Samples of one request in the order drawn, and what each answered (None: no answer)."""

    trajectory: Trajectory
    steps: tuple[Step, ...]
    answers: tuple[str | None, ...]

    @property
    def n_needed(self) -> int:
        """Samples after which the winner was certain; all of them where it never was before.

        A trial without an answer had no winner, nor one whose answer is not what the vote says.
        """
        if not self.gave_the_answer:
            return len(self.answers)
        counts: Counter[str] = Counter()
        for n_drawn, answer in enumerate(self.answers, 1):
            if answer is not None:
                counts[answer] += 1
            first, second = [*(count for _, count in counts.most_common(2)), 0, 0][:2]
            if first - second > len(self.answers) - n_drawn:
                return n_drawn
        return len(self.answers)

    @property
    def gave_the_answer(self) -> bool:
        """Whether the trial's answer can be this vote's; one that is no plain value may be."""
        trial = self.trajectory.trial
        if trial.outcome != "answered" or self.winner is None:
            return False
        plain = isinstance(trial.answer, str | int | float)
        said = " ".join(str(trial.answer).split())
        return not plain or said.casefold() in self.winner.casefold()

    @property
    def winner(self) -> str | None:
        """The answer most samples give, the first drawn among equals; None where none has one."""
        counts = Counter(answer for answer in self.answers if answer is not None)
        return counts.most_common(1)[0][0] if counts else None

    @property
    def unanimous(self) -> bool:
        """Whether every sample gave the same answer."""
        return None not in self.answers and len(set(self.answers)) == 1

    @property
    def first_won(self) -> bool:
        """Whether the first sample alone would have given the winning answer."""
        return self.winner is not None and self.winner == self.answers[0]


def votes_of(harness: Harness, trajectories: Sequence[Trajectory]) -> tuple[Vote, ...]:
    """Every request that was sampled more than once in a trial."""
    kind = harness.manifest.answer.kind
    return tuple(
        Vote(trajectory, tuple(group), tuple(answer_key(step.reply, kind) for step in group))
        for trajectory in trajectories
        for group in same_requests(trajectory)
        if len(group) > 1 and not is_repetition(group)
    )


def detect(harness: Harness, trajectories: Sequence[Trajectory]) -> tuple[Finding, ...]:
    """Claims the cost of the samples drawn after the vote was decided."""
    votes = votes_of(harness, trajectories)
    evidence = [
        span(vote.trajectory, step, step.cost_nanos)
        for vote in votes
        for step in vote.steps[vote.n_needed :]
    ]
    if not evidence:
        return ()
    needed = [vote.n_needed for vote in votes]
    return (
        finding_of(
            harness,
            detector="samples_agree",
            pattern="samples are drawn after their vote is decided",
            advice="Stop sampling once no later sample can change the winner, or sample less.",
            place=knob_place(harness, "samples"),
            evidence=evidence,
            detail={
                "votes": len(votes),
                "samples": percentile([len(vote.steps) for vote in votes], 50),
                "agreement_share": sum(vote.unanimous for vote in votes) / len(votes),
                "first_won_share": sum(vote.first_won for vote in votes) / len(votes),
                "needed_p50": percentile(needed, 50),
                "needed_p95": percentile(needed, 95),
                "beyond_first_nanos": sum(
                    step.cost_nanos for vote in votes for step in vote.steps[1:]
                ),
            },
        ),
    )
