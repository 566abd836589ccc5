"""The run's document, drawn from what is on record: nothing is asked or measured here."""

from __future__ import annotations

from harnesspro.core.advice import advice
from harnesspro.core.documents import (
    Levels,
    Power,
    RefereeReport,
    RunDocument,
    SealedReport,
    StopReason,
)
from harnesspro.core.errors import IntegrityError
from harnesspro.core.front import JointLaw, law
from harnesspro.core.hashing import seed_from
from harnesspro.core.records import Verdict
from harnesspro.core.report import Map, front_points, named_picks, point
from harnesspro.core.sealed import sealed_report
from harnesspro.core.stats import power_of
from harnesspro.core.table import restrict
from harnesspro.core.telling import Story, words
from harnesspro.loop import scan
from harnesspro.loop.alarms import gaps
from harnesspro.loop.bench import Bench
from harnesspro.loop.controls import controls
from harnesspro.loop.finish import Graded, base_disagreement
from harnesspro.loop.live import complexity, dropped_ids, search_law
from harnesspro.loop.tempting import cheating
from harnesspro.loop.watching import divergence


def chart_of(bench: Bench, verdicts: tuple[Verdict, ...], graded: Graded | None) -> Map:
    """The map the document is drawn from."""
    search = search_law(bench, scan.table(bench, "search", asking=False))
    if search is None:
        raise IntegrityError(bench.run_id, "no trial of the initial harness on record")
    return Map(
        known=scan.candidates(bench),
        search=search,
        confirm=_confirm_law(bench, verdicts),
        verdicts=verdicts,
        accuracy=graded.accuracy if graded else {},
        isolation=bench.header.isolation,
        complexity=complexity(bench),
        base_disagreement=base_disagreement(bench),
    )


def _confirm_law(bench: Bench, verdicts: tuple[Verdict, ...]) -> JointLaw | None:
    """Over the initial harness and the judged picks; None where nothing was confirmed."""
    base = bench.base.harness_id
    part = restrict(
        scan.table(bench, "confirm", asking=False),
        candidate_ids=(base, *(verdict.candidate_id for verdict in verdicts)),
        task_ids=[task.task_id for task in bench.confirm],
    )
    if not verdicts or not part.get(base):
        return None
    seed = seed_from(bench.config.seed, "confirm")
    return law(part, base, seed=seed, trusted=bench.referee.trusted)


def document_of(
    bench: Bench, chart: Map, *, stop: StopReason, graded: Graded | None
) -> RunDocument:
    """`harnesspro/run@1`."""
    front = front_points(chart)
    found = scan.diagnosis(bench, bench.base.harness_id)
    refusals = scan.refusals(bench)
    spend = bench.ports.meter.spend()
    referee, power, sealed = bench.referee, _power(bench), _sealed(bench, graded)
    story = Story(
        findings=found.findings,
        n_diagnosed_trials=found.n_trials,
        diagnosed_usd=found.spent_usd,
        refusals=refusals,
        dropped_ids=dropped_ids(bench),
        spend=spend,
        referee_reason=referee.reason,
        referee_trusted=referee.trusted,
        channels=referee.channels,
        calibration=referee.calibration,
        power=power,
        sealed=sealed,
        answers_tried=bench.base.manifest.answer.kind == "code",
    )
    measured = [key for key in chart.search.ids if key != chart.baseline_id]
    return RunDocument(
        run_id=bench.run_id,
        harness=bench.config.harness_ref,
        harness_name=bench.header.harness_name,
        models=bench.config.models,
        baseline=point(chart, chart.baseline_id),
        front=front,
        candidates=tuple(point(chart, key) for key in measured),
        picks=named_picks(chart, front),
        verdicts=chart.verdicts,
        findings=found.findings,
        n_diagnosed_trials=found.n_trials,
        diagnosed_usd=found.spent_usd,
        refusals=refusals,
        spend=spend,
        stop=stop,
        levels=levels(bench),
        power=power,
        referee=_referee_report(bench, chart),
        certificate=bench.ports.certify(
            graded.opening if graded else None, len(chart.verdicts) + 1
        ),
        sealed=sealed,
        controls=controls(bench, chart.verdicts, graded.grades if graded else None),
        base_disagreement=chart.base_disagreement,
        prices=bench.header.prices,
        answered_as=_answered_as(bench),
        seed=bench.config.seed,
        n_rounds=len(scan.rounds(bench)),
        elapsed_s=bench.elapsed_s(),
        words=words(chart, front, story),
    )


def _answered_as(bench: Bench) -> tuple[tuple[str, str], ...]:
    values = (value for _, value in bench.ports.ledger.all("answered_as"))
    return tuple(sorted((value["asked"], value["told"]) for value in values))


def _referee_report(bench: Bench, chart: Map) -> RefereeReport:
    referee = bench.referee
    return RefereeReport(
        hash=referee.referee_hash,
        discordant_hit_rate=referee.discordant_hit_rate,
        trusted=referee.trusted,
        reason=referee.reason,
        checks=tuple(check.model_copy(update={"program": None}) for check in referee.checks),
        channels=referee.channels,
        calibration=referee.calibration,
        fitted=tuple(
            gap.candidate_id
            for gap in gaps(bench, [verdict.candidate_id for verdict in chart.verdicts])
            if gap.raised
        ),
        cheating=cheating(bench),
        diverged=_diverged(bench),
        advice=advice(
            referee,
            len(bench.confirm),
            has_user_checks=bool(bench.base.manifest.checks),
            channels=bench.config.channels,
            eps=bench.config.margin,
            verdicts=chart.verdicts,
        ),
    )


def _diverged(bench: Bench) -> str:
    found = divergence(bench)
    return found.words if found is not None and found.raised else ""


def _sealed(bench: Bench, graded: Graded | None) -> SealedReport | None:
    """How far the score agreed with the gold, over everyone that was graded."""
    if graded is None:
        return None
    table = scan.table(bench, "confirm", asking=False)
    seed = seed_from(bench.config.seed, "sealed")
    return sealed_report(table, graded.grades, bench.base.harness_id, seed=seed)


def _power(bench: Bench) -> Power:
    """What the tasks can show, and how fresh the confirm tasks are."""
    times = bench.header.confirmed_before
    used = [times[task.content_key] for task in bench.confirm if task.content_key in times]
    power = power_of(n_search=len(bench.search), n_confirm=len(bench.confirm))
    return power.model_copy(update={"n_reused": len(used), "n_earlier_runs": max(used, default=0)})


def levels(bench: Bench) -> Levels:
    """How strong the walls of this sitting really are."""
    return Levels(isolation=bench.header.isolation, firewall=bench.firewall)
