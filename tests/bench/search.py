"""How fast each way of searching covers the planted harness's true front, by trials and by dollars.

`python -m tests.bench.search [--seeds N] [--trials N] [--picture FILE] [--without NAME]`. The improver sees
no right answer; its rivals see all of their search tasks' (so a tie with them is a win). At each
point a method names its front by its own measurements; what is printed is the hypervolume of that front
at its true places, as a share of the true front's (from accuracy 0 and the initial harness's cost).
`--drift` runs 33 rounds unattended instead and prints score and truth of the incumbent, round by round.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from harnesspro.core.decide import RunRound, decide
from harnesspro.core.front import Place, estimates, hypervolume
from harnesspro.core.ports import Proposer
from harnesspro.core.records import Harness
from harnesspro.formats.content import harness_path
from harnesspro.formats.native import load_harness
from harnesspro.loop import scan
from harnesspro.loop.bench import Bench
from harnesspro.loop.live import live_ids, search_law
from harnesspro.loop.round import run_round
from harnesspro.loop.watching import divergence
from harnesspro.proposers.compose import ComposeProposer
from harnesspro.proposers.knobs import KnobProposer
from harnesspro.proposers.operators import OperatorProposer
from harnesspro.providers.sim_truth import true_place
from tests.bench.at_hand import a_search, sim_tasks
from tests.bench.search_rivals import RIVALS, Marker, observed_front
from tests.bench.true_front import front_of, places
from tests.unit.providers.planted_world import setup_of

MODEL, N_SEARCH, A_ROUND = "sim/small", 24, 4
OURS: dict[str, Callable[[], tuple[Proposer, ...]]] = {
    "improver": lambda: (OperatorProposer(), KnobProposer(), ComposeProposer()),
    "no compose": lambda: (OperatorProposer(), KnobProposer()),
    "operators only": lambda: (OperatorProposer(),),
    "knobs only": lambda: (KnobProposer(),),
}


@dataclass(frozen=True, slots=True)
class Mark:
    """How far a search is after so many trials and dollars."""

    n_trials: int
    usd: float
    share: float
    """Of the true front's hypervolume."""


class Truth:
    """The true front, and what share of its volume a set of harnesses covers."""

    def __init__(self, base: Harness) -> None:
        self._reference = Place(0.0, true_place(setup_of(base), MODEL).cost_usd)
        front = [one.place for one in front_of(places(base, MODEL))]
        self._whole = hypervolume(front, reference=self._reference)

    def share(self, harnesses: Sequence[Harness]) -> float:
        """Of the whole volume; a harness the law cannot place covers nothing."""
        found = [place for one in harnesses if (place := place_of(one)) is not None]
        return hypervolume(found, reference=self._reference) / self._whole


def place_of(harness: Harness) -> Place | None:
    """Where a harness truly stands; None where a cap cuts its replies."""
    try:
        return Place(*true_place(setup_of(harness), MODEL))
    except ValueError:
        return None


# --- our own -----------------------------------------------------------------------------------


def rounds_of(name: str, base: Harness, *, seed: int, n_rounds: int) -> Iterator[Bench]:
    """The bench after each round of an improvement run."""
    settings = {
        "n_search": N_SEARCH,
        "n_confirm": 0,
        "n_rounds": n_rounds,
        "max_candidates": A_ROUND * n_rounds,
        "n_probes": 0,
        "seed": seed,
    }
    with (
        tempfile.TemporaryDirectory() as folder,
        a_search(
            Path(folder) / name,
            base,
            tasks=sim_tasks(seed, N_SEARCH),
            proposers=OURS[name](),
            model=MODEL,
            **settings,
        ) as bench,
    ):
        while isinstance(command := decide(scan.scan(bench)), RunRound):
            run_round(bench, command)
            yield bench


def marks_of_ours(name: str, base: Harness, truth: Truth, *, seed: int, most: int) -> list[Mark]:
    """One mark a round, until `most` trials are spent or nothing new is proposed."""
    marks = [Mark(0, 0.0, truth.share([base]))]
    for bench in rounds_of(name, base, seed=seed, n_rounds=max(2, most // (A_ROUND * 12))):
        n = len(bench.ports.ledger.all("trial"))
        front = [bench.harness(key) for key in live_ids(bench)]
        marks.append(Mark(n, bench.spent_usd(), truth.share(front)))
        if n >= most:
            break
    return marks


def marks_of_rival(name: str, base: Harness, truth: Truth, *, seed: int, most: int) -> list[Mark]:
    """One mark a configuration measured."""
    marks, found = [Mark(0, 0.0, truth.share([base]))], []
    for one in RIVALS[name](base, Marker(seed=seed, n=N_SEARCH, model=MODEL), most, seed):
        found.append(one)
        marks.append(Mark(one.n_trials, one.spent_usd, truth.share(observed_front(found))))
    return marks


# --- tables ------------------------------------------------------------------------------------


def at(
    marks: Sequence[Mark], *, n_trials: float = float("inf"), usd: float = float("inf")
) -> float:
    """The share the last mark within these bounds had reached."""
    return [mark.share for mark in marks if mark.n_trials <= n_trials and mark.usd <= usd][-1]


def first_to(marks: Sequence[Mark], share: float) -> Mark | None:
    """The first mark from which on the share is never below."""
    kept = None
    for mark in reversed(marks):
        if mark.share < share:
            break
        kept = mark
    return kept


def table(runs: dict[str, list[list[Mark]]], *, most: int, base_usd: float) -> list[str]:
    """Mean share by trials and by dollars, a line a method."""
    steps = [most // 8, most // 4, most // 2, most]
    dollars = [round(base_usd * step, 4) for step in (most // 16, most // 8, most // 4)]
    heads = [*(f"{step} trials" for step in steps), *(f"${usd:g}" for usd in dollars), "95 % after"]
    lines = [f"{'':16}" + "".join(f"{head:>14}" for head in heads)]
    for name, marks in runs.items():
        cells = [fmean(at(one, n_trials=step) for one in marks) for step in steps]
        cells += [fmean(at(one, usd=usd) for one in marks) for usd in dollars]
        reached = [mark for one in marks if (mark := first_to(one, 0.95)) is not None]
        after = f"{len(reached)} of {len(marks)}"
        if reached:
            after += f", {fmean(mark.n_trials for mark in reached):.0f}"
        lines.append(f"{name:16}" + "".join(f"{cell:14.1%}" for cell in cells) + f"{after:>14}")
    return lines


def draw(runs: dict[str, list[list[Mark]]], target: Path, *, most: int) -> None:
    """The curves as a picture: share of the true front's volume by trials, mean over seeds."""
    import altair

    rows = [
        {"method": name, "trials": step, "share": fmean(at(one, n_trials=step) for one in marks)}
        for name, marks in runs.items()
        for step in range(0, most + 1, max(1, most // 100))
    ]
    chart = (
        altair.Chart(altair.Data(values=rows), width=640, height=360)
        .mark_line(interpolate="step-after")
        .encode(
            x=altair.X("trials:Q", title="trials"),
            y=altair.Y("share:Q", title="share of the true front's volume", scale={"zero": False}),
            color=altair.Color("method:N", sort=list(runs)),
        )
    )
    chart.save(str(target))


# --- drift -------------------------------------------------------------------------------------


def drift(base: Harness, *, seed: int, n_rounds: int) -> Iterator[str]:
    """A line a round: the incumbent's score, its true accuracy and cost, and whether an alarm is up."""
    for bench in rounds_of("improver", base, seed=seed, n_rounds=n_rounds):
        joint = search_law(bench, scan.table(bench, "search"))
        assert joint is not None
        n = len(scan.rounds(bench))
        members = live_ids(bench)
        alarm = divergence(bench)
        cells = []
        for key in members:
            place, found = place_of(bench.harness(key)), estimates(joint, key)
            truth = "cut" if place is None else f"{place.score:.3f} ${1000 * place.cost_usd:.4f}"
            cells.append(f"{key[:6]} score {found.score.mean:.3f} true {truth}")
        raised = "  ALARM" if alarm and alarm.raised else ""
        yield f"round {n:2}  {len(bench.ports.ledger.all('trial')):5} trials  {'; '.join(cells)}{raised}"


def main() -> int:
    """Print the table, or the rounds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--trials", type=int, default=800)
    parser.add_argument("--picture", type=Path, help="a .png or .svg to draw the curves into")
    parser.add_argument("--without", action="append", default=[], help="leave a method out")
    parser.add_argument("--drift", action="store_true")
    options = parser.parse_args()
    base = load_harness(harness_path("builtin:planted"))
    if options.drift:
        for words in drift(base, seed=1, n_rounds=33):
            sys.stdout.write(words + "\n")
        return 0
    truth, runs = Truth(base), dict[str, list[list[Mark]]]()
    for name in [name for name in (*OURS, *RIVALS) if name not in options.without]:
        marks_of = marks_of_ours if name in OURS else marks_of_rival
        runs[name] = [
            marks_of(name, base, truth, seed=seed, most=options.trials)
            for seed in range(1, options.seeds + 1)
        ]
        sys.stderr.write(f"{name} done\n")
    place = place_of(base)
    assert place is not None
    lines = table(runs, most=options.trials, base_usd=place.cost_usd)
    sys.stdout.write("\n".join(lines) + "\n")
    if options.picture:
        draw(runs, options.picture, most=options.trials)
    return 0


if __name__ == "__main__":
    sys.exit(main())
