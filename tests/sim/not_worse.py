"""Whether the referee's route keeps out a loss of just the margin, whichever way the referee leans."""

from __future__ import annotations

from itertools import product

from tests.sim.operating import Gate, better, rate
from tests.sim.sheets import Sheet, mc_error, share
from tests.sim.worlds import Change, Eye, passes_referee

TASKS = (60, 134, 300, 500)
HITS, TILTS, EASIER = (0.8, 0.9), (0.0, 0.1, 0.2, 0.3), (0.0, 0.1)
"""On probes; `EASIER` is what the hit rate loses from probes to tasks, at most the discount."""
AT_THE_MARGIN = (Change(0.05), Change(0.10, 0.05), Change(0.175, 0.125))
"""True loss 5 points by changing 5, 15 and 30 % of the answers."""
NO_GAIN = tuple(Change(changed / 2, changed / 2) for changed in (0.05, 0.15, 0.30))


def most_passed(hit: float, tilt: float, easier: float, *, n: int, n_runs: int) -> float:
    """Type I error of the referee's route: the most over what is changed."""
    return _most(passes_referee, AT_THE_MARGIN, Eye(hit, tilt), Eye(hit - easier, tilt), n, n_runs)


def most_better(hit: float, tilt: float, easier: float, *, n: int, n_runs: int) -> float:
    """Type I error of a claimed gain: the most over what is changed."""
    return _most(better, NO_GAIN, Eye(hit, tilt), Eye(hit - easier, tilt), n, n_runs)


def _most(
    gate: Gate, changes: tuple[Change, ...], probes: Eye, tasks: Eye, n: int, n_runs: int
) -> float:
    return max(
        rate(gate, change, probes=probes, tasks=tasks, n=n, n_runs=n_runs) for change in changes
    )


def leaning_sheet(n_runs: int) -> Sheet:
    """Both gates of the referee over hit rates and tilts."""
    rows = []
    for name, most in (("not worse", most_passed), ("better", most_better)):
        for easier, hit, tilt in product(EASIER, HITS, TILTS):
            cells = [most(hit, tilt, easier, n=n, n_runs=n_runs) for n in TASKS]
            label = f"{name}: probes {hit:g}, tasks {hit - easier:g}, tilt {tilt:g}"
            rows.append((label, *(share(cell, digits=3) for cell in cells)))
    return Sheet(
        "Type I error of the referee's gates by hit rate and tilt (nominal .05)",
        "Referee measured on 100 probe pairs each time, distrusted ones counted as not passing. The most "
        "over 5, 15 and 30 % changed, so slightly above any one of them. Where a tilt asks for fewer than "
        f"no errors on gains, there are none. {n_runs} runs a cell, fixed seeds; standard error at .05: "
        f"{share(mc_error(0.05, n_runs), digits=4)}.",
        ("", *(f"n {n}" for n in TASKS)),
        tuple(rows),
    )
