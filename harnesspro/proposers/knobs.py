"""The dials alone: an Optuna study (multi-objective TPE: score up, log cost down), rebuilt from
history for every question and kept nowhere.

With few observations a small designed step is surer than a draw: one dial at a time, those that a
finding names first.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from harnesspro.core.hashing import canonical_json, seed_from
from harnesspro.core.records import Harness, Knob, KnobValue, Patch
from harnesspro.proposers.question import Question, Tried

if TYPE_CHECKING:
    import optuna
    from optuna.distributions import BaseDistribution

MIN_OBSERVATIONS = 6
"""Measured variants, the baseline included, before TPE says more than chance."""
MAX_ASKS = 40

Vector = Mapping[str, KnobValue]


class KnobProposer:
    """One patch a question: a setting of the dials that was never tried."""

    name = "knobs"

    def propose(self, question: Question) -> tuple[Patch, ...]:
        """The patch, or nothing where there are no dials or every offer was tried."""
        parent = question.parent
        if not parent.manifest.knobs:
            return ()
        seen = {_key(tried.knob_values) for tried in question.history}
        seen |= {_key(parent.knob_values), _key(question.base.knob_values)}
        for vector, why in _offers(question):
            patch = _patch(parent, vector, why=why)
            if _key(vector) not in seen and patch.patch_id not in question.tried_ids:
                return (patch,)
        return ()


def _offers(question: Question) -> Iterator[tuple[Vector, str]]:
    """Settings with the reason to try them, best first."""
    observed = _observed(question)
    steps = [(vector, "One dial at a time shows what it is worth.") for vector in _steps(question)]
    if len(observed) < MIN_OBSERVATIONS:
        yield from steps
    for vector in _sampled(question, observed):
        yield vector, f"{len(observed)} measured settings speak for this region."
    yield from steps


# --- designed steps ----------------------------------------------------------------------------


def _steps(question: Question) -> Iterator[Vector]:
    """The parent with one dial moved: the dials of findings first, near moves before far ones."""
    parent = question.parent
    named = [finding.knob for finding in question.findings if finding.knob is not None]
    order = list(dict.fromkeys([*named, *parent.manifest.knobs]))
    for far in (False, True):
        for name in order:
            knob = parent.manifest.knobs.get(name)
            for value in _moves(knob, parent.knob_values[name], far=far) if knob else ():
                yield {**parent.knob_values, name: value}


def _moves(knob: Knob, value: KnobValue, *, far: bool) -> list[KnobValue]:
    """Halfway to the low end (near), to the ends (far); a choice moves to each other value."""
    if knob.choices is not None:
        return [] if far else [choice for choice in knob.choices if choice != value]
    assert not isinstance(value, str)
    if knob.int_range is not None:
        low, high = knob.int_range
        whole: list[KnobValue] = [low, high] if far else [low + (int(value) - low) // 2]
        return [move for move in whole if move != value]
    assert knob.float_range is not None
    bottom, top = knob.float_range
    real: list[KnobValue] = [bottom, top] if far else [round((bottom + value) / 2, 3)]
    return [move for move in real if move != value]


# --- the study ---------------------------------------------------------------------------------


def _observed(question: Question) -> list[tuple[Vector, float, float]]:
    """(dials, score, log cost ratio) of every measured variant that fits the present ranges."""
    knobs = question.parent.manifest.knobs
    return [
        (dict(tried.knob_values), tried.score, math.log(tried.cost_ratio))
        for tried in question.history
        if tried.score is not None and tried.cost_ratio is not None and tried.cost_ratio > 0
        if _fits(tried, knobs)
    ]


def _fits(tried: Tried, knobs: Mapping[str, Knob]) -> bool:
    values = tried.knob_values
    return values.keys() == knobs.keys() and all(knobs[n].admits(v) for n, v in values.items())


def _sampled(question: Question, observed: list[tuple[Vector, float, float]]) -> Iterator[Vector]:
    """What the sampler would try next; each offer is closed before the next is asked for."""
    import optuna

    space = {name: _range(knob) for name, knob in question.parent.manifest.knobs.items()}
    study = _study(question, observed, space)
    for _ in range(MAX_ASKS):
        trial = study.ask(space)
        yield {
            name: _rounded(question.parent.manifest.knobs[name], value)
            for name, value in trial.params.items()
        }
        study.tell(trial, state=optuna.trial.TrialState.FAIL)


def _rounded(knob: Knob, value: KnobValue) -> KnobValue:
    """Three digits say enough of a real-valued dial, within its range."""
    if knob.float_range is None or isinstance(value, str):
        return value
    low, high = knob.float_range
    return min(max(float(f"{value:.3g}"), low), high)


def _study(
    question: Question,
    observed: list[tuple[Vector, float, float]],
    space: Mapping[str, BaseDistribution],
) -> optuna.Study:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    seed = seed_from("knobs", question.seed, question.round_index, question.parent.harness_id)
    sampler = optuna.samplers.TPESampler(seed=seed % 2**32, n_startup_trials=MIN_OBSERVATIONS)
    study = optuna.create_study(directions=["maximize", "minimize"], sampler=sampler)
    for vector, score, log_cost in observed:
        study.add_trial(
            optuna.trial.create_trial(
                params=dict(vector), distributions=dict(space), values=[score, log_cost]
            )
        )
    return study


def _range(knob: Knob) -> BaseDistribution:
    from optuna.distributions import (
        CategoricalDistribution,
        FloatDistribution,
        IntDistribution,
    )

    if knob.choices is not None:
        return CategoricalDistribution(knob.choices)
    if knob.int_range is not None:
        return IntDistribution(*knob.int_range)
    assert knob.float_range is not None
    return FloatDistribution(*knob.float_range)


# --- the patch ---------------------------------------------------------------------------------


def _patch(parent: Harness, vector: Vector, *, why: str) -> Patch:
    moved = {name: v for name, v in vector.items() if v != parent.knob_values[name]}
    words = ", ".join(f"{name} {parent.knob_values[name]} -> {v}" for name, v in moved.items())
    return Patch(
        parent_id=parent.harness_id,
        knobs=moved,
        direction="knobs",
        proposer="knobs",
        summary=f"turn the dials: {words}",
        hypothesis=why,
    )


def _key(vector: Vector) -> str:
    """Equal settings have equal keys: 0 and 0.0 are the same setting."""
    return canonical_json({n: float(v) if not isinstance(v, str) else v for n, v in vector.items()})
