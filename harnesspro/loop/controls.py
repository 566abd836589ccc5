"""Controls, where they were asked for: they decide nothing and come after the verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harnesspro.core.controls import AT_RANDOM, BEST_OF_TWO, best_of_two
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
from harnesspro.loop.random_search import confirmed_at_random, n_tried, search_at_random
from harnesspro.stages.evaluate import jobs_for

CONTROL_DRAW = "control/0"
VOLUME_REACH = 3.0
"""The map ends at so many times the initial harness's cost on the search tasks."""
SECOND = "the original, asked again"
"""Stands for the harness id of the second draw, in tables and grades."""


def measure_controls(bench: Bench, verdicts: tuple[Verdict, ...]) -> None:
    """A second, independent draw of the initial harness on the confirm tasks; dials set by chance.

    Raises:
        Cut: time, money or the user ended it; the verdicts stand.
    """
    if not bench.config.controls or not verdicts:
        return
    bench.ports.events.emit("phase", name="controls", round=None, n_rounds=None)
    models = bench.config.models
    bench.run(jobs_for([bench.base], bench.confirm, draws=(CONTROL_DRAW,), models=models))
    scan.judged(bench, _both(bench), asking=True)
    search_at_random(bench)


def controls(
    bench: Bench,
    verdicts: Sequence[Verdict],
    grades: Mapping[tuple[str, str], bool] | None,
) -> tuple[Control, ...]:
    """The controls on record beside the judged picks; `grades` as the opening gave them, if it did."""
    trials = _both(bench)
    base = bench.base.harness_id
    table = scan.judged(bench, trials, asking=False)
    if base not in table or SECOND not in table:
        return ()
    chosen = best_of_two(table[base], table[SECOND])
    twice = None if grades is None else _accuracy(chosen, table[base], base, grades)
    rows = {base: table[base], **_of_picks(bench, verdicts)}
    found = [_control(bench, rows, chosen, name=BEST_OF_TWO, accuracy=twice)]
    for own in confirmed_at_random(bench).values():
        right = None if grades is None else _share_right(own, grades)
        found.append(_control(bench, rows, own, name=AT_RANDOM, accuracy=right))
    return tuple(found)


def _control(
    bench: Bench, rows: Mapping[str, Rows], own: Rows, *, name: str, accuracy: Estimate | None
) -> Control:
    """One control against the picks in `rows`, which hold the initial harness too."""
    base = bench.base.harness_id
    seed = seed_from(bench.config.seed, "controls")
    joint = law({**rows, name: own}, base, seed=seed, trusted=bench.referee.trusted)
    found, before = estimates(joint, name), joint.place(base)
    lead = volume_gain(
        joint,
        [key for key in joint.ids if key != name],
        [base, name],
        cost_cap_usd=VOLUME_REACH * scan.per_trial(bench).usd,
    )
    cost = found.cost_usd_per_task
    what = _said(bench, name, found.answers_changed)
    return Control(
        name=name,
        score=found.score,
        cost_usd_per_task=cost,
        answers_changed=found.answers_changed,
        accuracy=accuracy,
        lead=lead,
        words=f"{what}{_costs(cost, before.cost_usd, accuracy)}{_lead_words(lead)}",
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


def _share_right(own: Rows, grades: Mapping[tuple[str, str], bool]) -> Estimate | None:
    right = [grades[AT_RANDOM, task] for task in own if (AT_RANDOM, task) in grades]
    return exact_share(sum(right), len(right)) if right else None


# --- in words ------------------------------------------------------------------------------------


def _said(bench: Bench, name: str, changed: Estimate | None) -> str:
    if name == BEST_OF_TWO:
        return (
            "the original asked twice, the answer the referee prefers taken (its own referee chose, "
            "which flatters its score)"
        )
    n = n_tried(bench)
    settings = f"{n} setting{'' if n == 1 else 's'} of the dials drawn by chance"
    differs = ""
    if changed is not None:
        differs = f" ({round(changed.mean * changed.n)} of {changed.n} answers changed)"
    return (
        f"of {settings} for the same money as the candidates, the one the rule would pick{differs}"
    )


def _costs(cost: Estimate, before_usd: float, accuracy: Estimate | None) -> str:
    times = f" ({cost.mean / before_usd:.2f} times)" if before_usd else ""
    right = (
        "" if accuracy is None else f", right on {accuracy.mean * accuracy.n:.0f} of {accuracy.n}"
    )
    return f", costs {format_usd(1000 * cost.mean)} for 1,000 tasks{times}{right}"


def _lead_words(lead: Estimate) -> str:
    return (
        f". Of the map of score and cost, up to {VOLUME_REACH:g} times the original's cost, the picks "
        f"cover {100 * lead.mean:+.0f} points more than it (between {100 * lead.low:+.0f} and "
        f"{100 * lead.high:+.0f})"
    )
