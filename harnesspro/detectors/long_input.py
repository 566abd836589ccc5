"""The same opening text sent with every call: what a prefix cache could serve."""

from __future__ import annotations

from collections.abc import Sequence

from harnesspro.core.findings import Place, finding_of
from harnesspro.core.records import Finding, Harness, Step, Trajectory
from harnesspro.detectors.calls import input_cost, output_rates, prompt_text, span

MIN_SHARE = 0.5
"""Below half of the prompt the opening is not what the input costs."""


def detect(harness: Harness, trajectories: Sequence[Trajectory]) -> tuple[Finding, ...]:
    """One finding a role; claims nothing, `detail.prefix_nanos` is the price beyond the first."""
    rates = output_rates(trajectories)
    roles = sorted({step.role for one in trajectories for step in one.steps})
    return tuple(
        finding
        for role in roles
        for finding in _of_role(
            harness,
            [(one, step) for one in trajectories for step in one.steps if step.role == role],
            rates=rates,
        )
    )


def _of_role(
    harness: Harness, calls: Sequence[tuple[Trajectory, Step]], *, rates: dict[str, float]
) -> tuple[Finding, ...]:
    texts = [prompt_text(step) for _, step in calls]
    n_prefix = _common_prefix(texts)
    share = n_prefix * len(texts) / max(sum(map(len, texts)), 1)
    if len(set(texts)) < 2 or share < MIN_SHARE:
        return ()
    costs = [
        input_cost(step, rates) * n_prefix / len(text)
        for (_, step), text in zip(calls, texts, strict=True)
    ]
    trajectory, first = calls[0]
    return (
        finding_of(
            harness,
            detector="long_input",
            pattern="every call opens with the same text and it dominates the prompt",
            advice="Keep the opening byte-identical so that a prefix cache serves it, or shorten it.",
            place=Place(part=_longest_prompt(harness), excerpt=first.role),
            evidence=[span(trajectory, first, 0)],
            detail={
                "prefix_share": share,
                "prefix_nanos": round(sum(costs[1:])),
                "role": first.role,
            },
        ),
    )


def _common_prefix(texts: Sequence[str]) -> int:
    """Length of what all texts begin with: what the two extremes share, all share."""
    low, high = min(texts), max(texts)
    same = (i for i, (a, b) in enumerate(zip(low, high, strict=False)) if a != b)
    return next(same, min(len(low), len(high)))


def _longest_prompt(harness: Harness) -> str | None:
    names = [name for name, part in harness.manifest.parts.items() if part.paid == "always"]
    return max(names, key=lambda name: len(harness.part_text(name)), default=None)
