"""Settings of the dials drawn by chance: what a search without any idea would try."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from harnesspro.core.hashing import seed_from
from harnesspro.core.records import Harness, Knob, KnobValue, Patch

MOST_DRAWS = 200


def random_settings(harness: Harness, *, seed: int) -> Iterator[Patch]:
    """Distinct patches that set every dial to a value drawn evenly from its range.

    Ends when the dials have no further setting, or after `MOST_DRAWS` draws; empty without dials.
    """
    knobs, tried = harness.manifest.knobs, {_key(harness.knob_values)}
    for index in range(MOST_DRAWS if knobs else 0):
        rng = np.random.default_rng(seed_from(seed, "random setting", index))
        values = {name: _drawn(knob, rng) for name, knob in knobs.items()}
        if _key(values) in tried:
            continue
        tried.add(_key(values))
        moved = {
            name: value for name, value in values.items() if value != harness.knob_values[name]
        }
        yield Patch(
            parent_id=harness.harness_id,
            knobs=moved,
            direction="knobs",
            proposer="random",
            summary="dials set by chance",
        )


def _drawn(knob: Knob, rng: np.random.Generator) -> KnobValue:
    if knob.choices is not None:
        return knob.choices[int(rng.integers(len(knob.choices)))]
    if knob.int_range is not None:
        low, high = knob.int_range
        return int(rng.integers(low, high + 1))
    assert knob.float_range is not None
    return round(float(rng.uniform(*knob.float_range)), 4)


def _key(values: dict[str, KnobValue]) -> tuple[tuple[str, KnobValue], ...]:
    return tuple(sorted(values.items()))
