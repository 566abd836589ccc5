"""The true front of `harnesses/planted` by enumeration, and how much of it a run found.

`python tests/bench/true_front.py [--run RUN_FOLDER]`. Every configuration's accuracy and cost come from
the simulator's law; nothing is run. A run's front is put at its true places, whatever it measured.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from harnesspro.core.front import Place, hypervolume
from harnesspro.core.records import Harness, ReplaceFile
from harnesspro.formats.content import harness_path
from harnesspro.formats.native import harness_from_files, load_harness
from harnesspro.providers.sim_truth import Setup, true_place
from harnesspro.store.trees import GitTrees
from tests.unit.providers.planted_world import changed_by, setup_of

TEMPERATURES = tuple(round(0.1 * k, 1) for k in range(11))


@dataclass(frozen=True, slots=True)
class Known:
    """A configuration and where it truly stands."""

    setup: Setup
    place: Place
    told: str
    """Which texts every call is told."""


def configurations(planted: Harness) -> Iterator[tuple[str, Setup]]:
    """Every paragraph in or out, both methods, no to two examples, and every dial."""
    for told, instructions in sorted(_instructions(planted).items()):
        dials = product(range(1, 6), TEMPERATURES, range(3), (False, True), (False, True))
        for samples, temperature, retries, bound, stops in dials:
            yield (
                told,
                Setup(
                    instructions=instructions,
                    samples=samples,
                    temperature=temperature,
                    retries=retries,
                    bound=bound,
                    stop_when_agreed=stops,
                ),
            )


def _instructions(planted: Harness) -> dict[str, str]:
    """What a call may be told, in a few words -> the text."""
    paragraphs = planted.files["prompts/system.md"].strip().split("\n\n")
    found = {"shortcut": setup_of(changed_by(planted, knobs={"method": "shortcut"})).instructions}
    for kept in product((False, True), repeat=len(paragraphs)):
        text = "\n\n".join(p for p, keep in zip(paragraphs, kept, strict=True) if keep)
        edit = ReplaceFile(path="prompts/system.md", text=text + "\n")
        for n_examples in range(3):
            knobs = {"examples": n_examples} if n_examples else {}
            variant = changed_by(planted, knobs=knobs, edits=(edit,))
            name = "".join(str(int(keep)) for keep in kept) + f"+{n_examples}"
            found[name] = setup_of(variant).instructions
    return found


def places(planted: Harness, model: str) -> list[Known]:
    """Every configuration where it truly stands."""
    return [
        Known(setup, Place(*true_place(setup, model)), told)
        for told, setup in configurations(planted)
    ]


def front_of(known: Sequence[Known]) -> list[Known]:
    """Those that no other beats on accuracy or cost, cheapest first."""
    best, front = -1.0, []
    for one in sorted(known, key=lambda one: (one.place.cost_usd, -one.place.score)):
        if one.place.score > best + 1e-9:
            front.append(one)
            best = one.place.score
    return front


def of_run(run: Path, planted: Harness, model: str) -> list[Known]:
    """The members of a run's front, and the harness it began with, at their true places."""
    document = json.loads((run / "report.json").read_text(encoding="utf-8"))
    trees = GitTrees(run)
    found = [_known(setup_of(planted), "baseline", model)]
    for point in document["front"]:
        harness = harness_from_files(trees.files(point["candidate_id"]), where="candidate")
        found.append(_known(setup_of(harness), point["summary"], model))
    return found


def _known(setup: Setup, told: str, model: str) -> Known:
    """A cap that cuts replies leaves answers the law does not foresee: they count as wrong."""
    try:
        return Known(setup, Place(*true_place(setup, model)), told)
    except ValueError:
        return Known(setup, Place(0.0, 0.0), f"not foreseen: {told}")


def of_gain(known: Sequence[Known], base: Place) -> float:
    """Hypervolume from the baseline's own accuracy and cost: what is gained over it on both."""
    return hypervolume([one.place for one in known], reference=base)


def line(one: Known) -> str:
    """Accuracy, dollars for 1,000 tasks, and the configuration."""
    setup = one.setup
    return (
        f"  {one.place.score:.4f}  ${1000 * one.place.cost_usd:.4f}  {one.told:10.60} "
        f"samples {setup.samples} temperature {setup.temperature} retries {setup.retries} "
        f"bound {setup.bound} stops {setup.stop_when_agreed}"
    )


def main() -> int:
    """Print the front, its volume, and a run's share of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="sim/small")
    parser.add_argument("--run", type=Path, help="a run folder of builtin:planted")
    options = parser.parse_args()
    planted = load_harness(harness_path("builtin:planted"))
    known = places(planted, options.model)
    base = Place(*true_place(setup_of(planted), options.model))
    reference = Place(0.0, base.cost_usd)
    front = front_of(known)
    whole = hypervolume([one.place for one in front], reference=reference)
    n_places = len({one.place for one in known})
    out = [
        f"{len(known)} configurations of planted on {options.model}, {n_places} places; the true front:"
    ]
    out += [line(one) for one in front]
    out.append(f"baseline {base.score:.4f} at ${1000 * base.cost_usd:.4f} for 1,000 tasks")
    out.append(f"hypervolume (accuracy 0, the baseline's cost): {1000 * whole:.6f}")
    if options.run:
        found = of_run(options.run, planted, options.model)
        share = hypervolume([one.place for one in found], reference=reference) / whole
        above = of_gain(found, base) / of_gain(front, base)
        out += [
            f"the run's front at its true places: {share:.1%} of that volume, and {above:.1%} of what "
            "lies above the baseline's own accuracy"
        ]
        out += [line(one) for one in found]
    sys.stdout.write("\n".join(out) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
