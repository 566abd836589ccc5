"""One sitting of a run, from wherever it stands to its document and exit code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from pydantic import JsonValue

from harnesspro.core.decide import RunRound, Stop, decide
from harnesspro.core.documents import RunDocument, StopReason
from harnesspro.core.errors import EXIT_INTERRUPTED, IntegrityError
from harnesspro.core.front import estimates
from harnesspro.core.records import Verdict
from harnesspro.core.report import Map, beats
from harnesspro.loop import finish, scan
from harnesspro.loop.bench import Bench
from harnesspro.loop.calibrating import calibrated
from harnesspro.loop.controls import measure_controls
from harnesspro.loop.document import chart_of, document_of, levels
from harnesspro.loop.finish import Graded
from harnesspro.loop.live import search_law
from harnesspro.loop.round import run_round
from harnesspro.stages.behave import behaviours_on_record
from harnesspro.stages.diagnose import diagnose, trajectories_of
from harnesspro.stages.evaluate import Cut, RoundSpent, jobs_for
from harnesspro.stages.score import own_disagreement

EXIT_BETTER, EXIT_BUDGET, EXIT_NOTHING = 0, 4, 5


def sit(bench: Bench) -> int:
    """Run to the end or to a Cut; write the document either way; the exit code."""
    bench.ports.events.emit(
        "run.started",
        harness=bench.header.harness_name,
        tasks=bench.config.tasks_ref,
        n_search=len(bench.search),
        n_confirm=len(bench.confirm),
        cap_usd=bench.config.budget_usd,
        plan_trials=planned_trials(bench),
    )
    work = {"improve": _improve, "eval": _evaluate, "diagnose": _diagnose}[bench.config.verb]
    try:
        return work(bench)
    finally:
        n = len(bench.ports.ledger.all("sitting"))
        elapsed = bench.ports.clock.now() - bench.started_at
        # The ledger's writer may be what ended the sitting.
        with suppress(OSError):
            bench.ports.ledger.put("sitting", f"{n:03d}", {"elapsed_s": elapsed})


def planned_trials(bench: Bench) -> int:
    """Trials still expected, by the run's own plan."""
    if bench.config.verb != "improve":
        return len(bench.search) * bench.config.n_repeats
    return bench.plan.high


# --- improve -----------------------------------------------------------------------------------


def _improve(bench: Bench) -> int:
    ended = _search(bench)
    bench, stop, verdicts = ended.bench, ended.stop, ended.verdicts
    if not scan.table(bench, "search", asking=False).get(bench.base.harness_id):
        bench.ports.events.emit("run.stopped", reason=stop.reason)
        return EXIT_INTERRUPTED if stop.reason == "interrupted" else EXIT_BUDGET
    graded: Graded | None = None
    if ended.whole and bench.config.open_gold:
        graded = finish.open_vault(bench, "confirm")
    chart = chart_of(bench, verdicts, graded)
    document = document_of(bench, chart, stop=stop, graded=graded)
    _keep_trajectories(bench)
    bench.ports.write_report(document.model_dump(mode="json", by_alias=True))
    finish.archive_front(bench, chart, tuple(one.candidate_id for one in document.front))
    bench.ports.events.emit("run.stopped", reason=stop.reason)
    return _exit_code(chart, document, stop)


@dataclass(frozen=True, slots=True)
class _Ended:
    """How the search and what follows it came out."""

    bench: Bench
    """With the referee that judged."""
    stop: StopReason
    verdicts: tuple[Verdict, ...]
    whole: bool
    """Whether all was measured that the one opening grades; a Cut leaves that to a resumed run."""


def _search(bench: Bench) -> _Ended:
    """Rounds until Stop, then the referee held against probes, then confirm and what comes after it."""
    verdicts: tuple[Verdict, ...] = ()
    try:
        while True:
            command = _next(bench)
            if isinstance(command, Stop):
                break
            spent = _one_round(bench, command)
            if spent is not None:
                command = spent
                break
        bench = calibrated(bench)
        verdicts = finish.confirm(bench)
        finish.measure_sealed(bench, verdicts)
        measure_controls(bench, verdicts)
    except Cut as cut:
        return _Ended(
            bench, StopReason(reason=cut.reason, detail=cut.detail), verdicts, whole=False
        )
    stop = StopReason(reason=command.reason, detail=command.detail)
    return _Ended(bench, stop, verdicts, whole=True)


def _next(bench: Bench) -> RunRound | Stop:
    """What to do next; no round follows the freezing of the picks, which are confirmed once."""
    command = decide(scan.scan(bench))
    if isinstance(command, RunRound) and finish.picks_are_frozen(bench):
        return Stop("rounds", "its picks are frozen; a further search is a run of its own")
    return command


def _one_round(bench: Bench, command: RunRound) -> Stop | None:
    """Run one round; why the search ends with it, where its purse ran out."""
    stop = None
    try:
        run_round(bench, command)
    except RoundSpent as spent:
        bench.ports.round_empty.clear()
        stop = Stop("budget", f"{spent.detail}; the rest is kept for the final measurement")
    spend = bench.ports.meter.spend()
    bench.ports.events.emit(
        "spend",
        attributed_usd=spend.improver_usd + spend.target_usd,
        paid_usd=spend.paid_usd,
    )
    return stop


def _exit_code(chart: Map, document: RunDocument, stop: StopReason) -> int:
    if stop.reason == "interrupted":
        return EXIT_INTERRUPTED
    if any(beats(chart, one.candidate_id) for one in document.front):
        return EXIT_BETTER
    return EXIT_BUDGET if stop.reason == "budget" else EXIT_NOTHING


def _keep_trajectories(bench: Bench) -> None:
    """Every trial's steps as files, for whoever reads without the ledger."""
    for phase in ("search", "confirm"):
        for trajectory in trajectories_of(scan.trials_of(bench, phase), bench.ports.ledger):
            bench.ports.keep_trajectory(trajectory)


# --- eval and diagnose -------------------------------------------------------------------------


def _measure(bench: Bench, finished: Callable[[Cut | None], dict[str, JsonValue]]) -> int:
    """Run the initial harness on all search tasks, then write the document `finished` makes.

    `finished` is told what cut the run short; what is done once waits for a run that is whole.
    """
    code, short = EXIT_BETTER, None
    bench.ports.events.emit("phase", name="measure", round=None, n_rounds=None)
    try:
        bench.run(
            jobs_for(
                [bench.base], bench.search, draws=bench.search_draws, models=bench.config.models
            )
        )
    except Cut as cut:
        code, short = EXIT_INTERRUPTED if cut.reason == "interrupted" else EXIT_BUDGET, cut
    if not scan.trials_of(bench, "search"):
        return code
    document = finished(short)
    _keep_trajectories(bench)
    bench.ports.write_report(document)
    bench.ports.events.emit("run.stopped", reason="rounds" if code == EXIT_BETTER else "cut")
    return code


def _evaluate(bench: Bench) -> int:
    return _measure(bench, lambda cut: _eval_document(bench, cut))


def _eval_document(bench: Bench, cut: Cut | None) -> dict[str, JsonValue]:
    trials = scan.trials_of(bench, "search")
    joint = search_law(bench, scan.table(bench, "search"))
    if joint is None:
        raise IntegrityError(bench.run_id, "no trial of the initial harness on record")
    found = estimates(joint, bench.base.harness_id)
    graded = None
    if bench.config.open_gold and cut is None:
        graded = finish.open_vault(bench, "search")
    accuracy = graded.accuracy.get(bench.base.harness_id) if graded else None
    behaviours = behaviours_on_record(bench.ports.ledger)
    own = own_disagreement(trials, bench.base.manifest.answer, behaviours=behaviours)
    return {
        "schema": "harnesspro/eval@1",
        **_head(bench),
        "n_tasks": len(bench.search),
        "n_trials": len(trials),
        "score": found.score.model_dump(mode="json"),
        "cost_usd_per_task": found.cost_usd_per_task.model_dump(mode="json"),
        "latency_s": found.latency_s.model_dump(mode="json"),
        "accuracy": accuracy.model_dump(mode="json") if accuracy else None,
        "outcomes": dict(sorted(Counter(trial.outcome for trial in trials).items())),
        "own_disagreement": own.share,
        "levels": levels(bench).model_dump(mode="json"),
        "spend": bench.ports.meter.spend().model_dump(mode="json"),
        "certificate": bench.ports.certify(graded.opening if graded else None, 1).model_dump(
            mode="json"
        ),
    }


def _diagnose(bench: Bench) -> int:
    return _measure(bench, lambda cut: _diagnosis_document(bench, cut))


def _diagnosis_document(bench: Bench, cut: Cut | None) -> dict[str, JsonValue]:
    trials = scan.trials_of(bench, "search")
    found = diagnose(bench.base, trials, bench.ports.ledger)
    if cut is None:
        bench.ports.ledger.put("finding", bench.base.harness_id, found.model_dump(mode="json"))
    return found.document(_head(bench), levels=levels(bench).model_dump(mode="json"))


def _head(bench: Bench) -> dict[str, JsonValue]:
    return {
        "run_id": bench.run_id,
        "harness": bench.config.harness_ref,
        "harness_name": bench.header.harness_name,
        "models": dict(bench.config.models),
    }
