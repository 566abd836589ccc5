"""Trials lost for the form of their replies alone: something was said, no answer could be read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from harnesspro.core.findings import finding_of, knob_place
from harnesspro.core.records import Finding, Harness, Trajectory
from harnesspro.detectors.calls import span
from harnesspro.detectors.replies import form_of, outline


def detect(harness: Harness, trajectories: Sequence[Trajectory]) -> tuple[Finding, ...]:
    """Claims all that the lost trials cost, and their share of the trials as lost success.

    Trials whose last reply was cut off are lost to a limit, not to form.
    """
    lost = [one for one in trajectories if _lost_for_form(one)]
    if not lost:
        return ()
    kind = harness.manifest.answer.kind
    forms = Counter(form_of(one.steps[-1], kind) for one in lost)
    typical = forms.most_common(1)[0][0]
    sample = next(one.steps[-1] for one in lost if form_of(one.steps[-1], kind) == typical)
    return (
        finding_of(
            harness,
            detector="form_loss",
            pattern="replies are refused for their form alone",
            advice="Constrain the reply to the answer's form, or say the form once more.",
            place=knob_place(harness, "constrain"),
            evidence=[span(one, step, step.cost_nanos) for one in lost for step in one.steps],
            lost_success=len(lost) / len(trajectories),
            detail={
                "lost_trials": len(lost),
                "forms": dict(forms.most_common()),
                "sample_outline": outline(sample.reply),
            },
        ),
    )


def _lost_for_form(trajectory: Trajectory) -> bool:
    return (
        trajectory.trial.outcome == "malformed"
        and any(step.reply.strip() for step in trajectory.steps)
        and trajectory.steps[-1].finish_reason != "length"
    )
