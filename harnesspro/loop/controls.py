"""Controls, where they were asked for: they decide nothing and come after the verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harnesspro.core.controls import BEST_OF_TWO, best_of_two
from harnesspro.core.documents import Control
from harnesspro.core.front import estimates, law
from harnesspro.core.hashing import seed_from
from harnesspro.core.money import format_usd
from harnesspro.core.records import Estimate, Trial, Verdict
from harnesspro.core.stats import exact_share
from harnesspro.core.table import Row, Rows
from harnesspro.core.volume import volume_gain
from harnesspro.loop import scan
from harnesspro.loop.bench import Bench
from harnesspro.stages.evaluate import jobs_for

CONTROL_DRAW = "control/0"
VOLUME_REACH = 3.0
"""The map ends at so many times the initial harness's cost on the search tasks."""
SECOND = "the original, asked again"
"""Stands for the harness id of the second draw, in tables and grades."""


def measure_controls(bench: Bench, verdicts: tuple[Verdict, ...]) -> None:
    """A second, independent draw of the initial harness on the confirm tasks.

    Raises:
        Cut: time, money or the user ended it; the verdicts stand.
    """
    if not bench.config.controls or not verdicts:
        return
    bench.ports.events.emit("phase", name="controls", round=None, n_rounds=None)
    models = bench.config.models
    bench.run(jobs_for([bench.base], bench.confirm, draws=(CONTROL_DRAW,), models=models))
    scan.judged(bench, _both(bench), asking=True)


def controls(
    bench: Bench,
    verdicts: Sequence[Verdict],
    grades: Mapping[tuple[str, str], bool] | None,
) -> tuple[Control, ...]:
    """The controls on record beside the judged picks; `grades` as the opening gave them, if it did."""
    trials = _both(bench)
    second = [trial for trial in trials if trial.harness_id == SECOND]
    if not second:
        return ()
    base = bench.base.harness_id
    table = scan.judged(bench, trials, asking=False)
    if base not in table or SECOND not in table:
        return ()
    chosen = best_of_two(table[base], table[SECOND])
    seed = seed_from(bench.config.seed, "controls")
    rows = {base: table[base], BEST_OF_TWO: chosen} | _of_picks(bench, verdicts)
    joint = law(rows, base, seed=seed, trusted=bench.referee.trusted)
    found, before = estimates(joint, BEST_OF_TWO), joint.place(base)
    lead = volume_gain(
        joint,
        [key for key in joint.ids if key != BEST_OF_TWO],
        [base, BEST_OF_TWO],
        cost_cap_usd=VOLUME_REACH * scan.per_trial(bench).usd,
    )
    accuracy = None if grades is None else _accuracy(chosen, table[base], base, grades)
    return (
        Control(
            name=BEST_OF_TWO,
            score=found.score,
            cost_usd_per_task=found.cost_usd_per_task,
            answers_changed=found.answers_changed,
            accuracy=accuracy,
            lead=lead,
            words=_words(found.cost_usd_per_task, before.cost_usd, accuracy, lead),
        ),
    )


def _both(bench: Bench) -> list[Trial]:
    """The initial harness's confirm draw, and the control's under its own name."""
    base = bench.base.harness_id
    first = [t for t in scan.trials_of(bench, "confirm") if t.harness_id == base]
    again = [t for t in scan.trials_of(bench, "control") if t.draw == CONTROL_DRAW]
    return [*first, *(trial.model_copy(update={"harness_id": SECOND}) for trial in again)]


def _of_picks(bench: Bench, verdicts: Sequence[Verdict]) -> dict[str, Rows]:
    table = scan.table(bench, "confirm", asking=False)
    ids = [verdict.candidate_id for verdict in verdicts]
    return {key: table[key] for key in ids if key in table}


def _accuracy(
    chosen: Mapping[str, Row],
    first: Rows,
    base_id: str,
    grades: Mapping[tuple[str, str], bool],
) -> Estimate | None:
    """Of the answers taken: the first draw's grade where its answer was kept, else the second's."""
    keys = (
        (base_id if row.cluster == first[t].cluster else SECOND, t) for t, row in chosen.items()
    )
    right = [grades[key] for key in keys if key in grades]
    return exact_share(sum(right), len(right)) if right else None


def _words(cost: Estimate, before_usd: float, accuracy: Estimate | None, lead: Estimate) -> str:
    times = f" ({cost.mean / before_usd:.1f} times)" if before_usd else ""
    right = (
        "" if accuracy is None else f", right on {accuracy.mean * accuracy.n:.0f} of {accuracy.n}"
    )
    return (
        f"the original asked twice, the answer the referee prefers taken, costs "
        f"{format_usd(1000 * cost.mean)} for 1,000 tasks{times}{right}; its own referee chose, which "
        f"flatters its score. Of the map of score and cost, up to {VOLUME_REACH:g} times the original's "
        f"cost, the picks cover {100 * lead.mean:+.0f} points more than it (between "
        f"{100 * lead.low:+.0f} and {100 * lead.high:+.0f})"
    )
