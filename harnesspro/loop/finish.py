"""After the last round, once: confirm the picks, write the verdicts, open the vault, keep what won."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harnesspro.core.confirm import Pick, freeze_picks, judge
from harnesspro.core.controls import AT_RANDOM
from harnesspro.core.findings import patterns
from harnesspro.core.front import front_ids
from harnesspro.core.hashing import content_hash, content_id
from harnesspro.core.ports import ArchiveEntry, GradeRequest, Opening
from harnesspro.core.records import Estimate, Trial, Verdict
from harnesspro.core.report import Map, lineage, whole_summary
from harnesspro.core.stats import exact_share
from harnesspro.loop import scan
from harnesspro.loop.bench import Bench
from harnesspro.loop.controls import CONTROL_DRAW, SECOND
from harnesspro.loop.live import complexity, keeping, search_law
from harnesspro.loop.random_search import CONFIRM_DRAW as RANDOM_DRAW
from harnesspro.stages.behave import behaviours_on_record
from harnesspro.stages.evaluate import jobs_for
from harnesspro.stages.score import own_disagreement

CONFIRM_DRAW, SEALED_DRAW = "confirm/0", "sealed/0"
_OF_CONTROLS = {CONTROL_DRAW: SECOND, RANDOM_DRAW: AT_RANDOM}
"""Draw -> under whose name its answers are graded."""


def frozen_picks(bench: Bench) -> tuple[Pick, ...]:
    """The picks, their order and claims, frozen on record before confirm opens."""
    kept = bench.ports.ledger.get("picks", "frozen")
    if kept is None:
        joint = search_law(bench, scan.table(bench, "search"))
        if joint is None:
            return ()
        ids = front_ids(joint, complexity=complexity(bench))
        picks = freeze_picks(
            joint,
            candidate_ids=[key for key in joint.ids if key != joint.baseline_id],
            front=ids,
            max_picks=bench.config.max_picks,
            keeping=keeping(bench),
            measured=_on_probes(bench) - _lost_on_probes(bench),
            n_confirm=len(bench.confirm),
            eps=bench.config.margin,
        )
        kept = [
            {
                "candidate_id": pick.candidate_id,
                "claim": pick.claim,
                "why": pick.why,
                "route": pick.route,
            }
            for pick in picks
        ]
        if kept:
            bench.ports.ledger.put("picks", "frozen", kept)
    return tuple(Pick(**value) for value in kept)


def _on_probes(bench: Bench) -> frozenset[str]:
    calibration = bench.referee.calibration
    return frozenset(calibration.probe_accuracy) if calibration else frozenset()


def _lost_on_probes(bench: Bench) -> frozenset[str]:
    calibration = bench.referee.calibration
    return frozenset(calibration.vetoed) if calibration else frozenset()


def _vetoed(bench: Bench, picks: Sequence[Pick]) -> frozenset[str]:
    """Picks of which the referee may claim nothing: they lose on probes, or were not measured."""
    if not bench.referee.trusted:  # it claims nothing of anyone
        return frozenset()
    unmeasured = {pick.candidate_id for pick in picks} - _on_probes(bench)
    return _lost_on_probes(bench) | unmeasured


def picks_are_frozen(bench: Bench) -> bool:
    """Whether confirm has begun: nothing is searched from then on, with whatever money or time."""
    return bool(bench.ports.ledger.get("picks", "frozen"))


def confirm(bench: Bench) -> tuple[Verdict, ...]:
    """Fresh draws of the initial harness and the picks on the confirm tasks, judged once.

    Raises:
        Cut: time, money or the user ended it; no verdict is written then.
    """
    kept = bench.ports.ledger.get("verdicts", "final")
    if kept is not None:
        return tuple(Verdict.model_validate(value) for value in kept)
    picks = frozen_picks(bench) if bench.confirm else ()
    if not picks:
        return ()
    bench.ports.events.emit("phase", name="confirm", round=None, n_rounds=None)
    harnesses = [bench.base, *(bench.harness(pick.candidate_id) for pick in picks)]
    bench.run(jobs_for(harnesses, bench.confirm, draws=(CONFIRM_DRAW,), models=bench.config.models))
    verdicts = judge(
        picks,
        scan.table(bench, "confirm"),
        bench.base.harness_id,
        eps=bench.config.margin,
        referee=bench.referee,
        base_disagreement=base_disagreement(bench),
        cap_usd=bench.base.manifest.limits.usd,
        vetoed=_vetoed(bench, picks),
    )
    bench.ports.ledger.put(
        "verdicts", "final", [verdict.model_dump(mode="json") for verdict in verdicts]
    )
    for verdict in verdicts:
        bench.ports.events.emit(
            "verdict", id=verdict.candidate_id, kind=verdict.kind, reason=verdict.reason
        )
    return verdicts


def base_disagreement(bench: Bench) -> float | None:
    """Share of search tasks on which two draws of the initial harness differ."""
    own = [t for t in scan.trials_of(bench, "search") if t.harness_id == bench.base.harness_id]
    behaviours = behaviours_on_record(bench.ports.ledger)
    return own_disagreement(own, bench.base.manifest.answer, behaviours=behaviours).share


def measure_sealed(bench: Bench, verdicts: Sequence[Verdict]) -> None:
    """The initial harness and whoever was judged, on the tasks kept for the opening.

    Raises:
        Cut: time, money or the user ended it.
    """
    if not bench.sealed or not verdicts or bench.ports.grader is None:
        return
    harnesses = [bench.base, *(bench.harness(verdict.candidate_id) for verdict in verdicts)]
    bench.run(jobs_for(harnesses, bench.sealed, draws=(SEALED_DRAW,), models=bench.config.models))


@dataclass(frozen=True, slots=True)
class Graded:
    """What the one opening showed."""

    opening: Opening
    accuracy: dict[str, Estimate]
    """harness_id -> share of right answers, on the tasks kept for this where there are any."""
    grades: dict[tuple[str, str], bool]
    """(harness_id, task_id) -> whether the stored answer is right."""


def open_vault(bench: Bench, phase: str) -> Graded | None:
    """The one opening: grades of the stored answers; None where there is no gold.

    Once the grades are on record they are read from there and the vault stays shut.
    """
    kept = bench.ports.ledger.get("opening", phase)
    trials = [
        trial
        for name in (phase, "sealed", "control")
        for trial in scan.trials_of(bench, name)
        if trial.draw in {CONFIRM_DRAW, SEALED_DRAW, "search/0", *_OF_CONTROLS}
    ]
    if kept is None:
        if bench.ports.grader is None or not trials:
            return None
        bench.ports.events.emit("phase", name="open vault", round=None, n_rounds=None)
        requests = [
            GradeRequest(
                digest=content_hash(trial.trial_id, trial.answer),
                task_id=trial.task_id,
                answer=trial.answer,
            )
            for trial in trials
        ]
        opened = bench.ports.grader.open_sealed(requests)
        kept = opened.model_dump(mode="json")
        bench.ports.ledger.put("opening", phase, kept)
    return _graded(Opening.model_validate(kept), trials)


def _graded(opening: Opening, trials: Sequence[Trial]) -> Graded:
    kept_apart = any(trial.draw == SEALED_DRAW for trial in trials)
    by_digest = {reply.digest: reply.grade for reply in opening.replies}
    grades: dict[tuple[str, str], bool] = {}
    counts: dict[str, list[bool]] = {}
    for trial in trials:
        grade = by_digest.get(content_hash(trial.trial_id, trial.answer), "no_gold")
        if grade == "no_gold":
            continue
        if trial.draw in _OF_CONTROLS:
            grades[_OF_CONTROLS[trial.draw], trial.task_id] = grade == "right"
            continue
        grades[trial.harness_id, trial.task_id] = grade == "right"
        if not kept_apart or trial.draw == SEALED_DRAW:
            counts.setdefault(trial.harness_id, []).append(grade == "right")
    accuracy = {key: exact_share(sum(right), len(right)) for key, right in counts.items()}
    return Graded(opening=opening, accuracy=accuracy, grades=grades)


# --- memory ------------------------------------------------------------------------------------


def archive_front(bench: Bench, chart: Map, candidate_ids: tuple[str, ...]) -> None:
    """Front points become entries, stamped with how they were measured; S0 results never do."""
    if bench.header.isolation == "S0":
        return
    for candidate_id in candidate_ids:
        if candidate_id == bench.base.harness_id:
            continue
        harness = bench.harness(candidate_id)
        bench.ports.archive.add(_entry(bench, chart, candidate_id), harness.files)


def _entry(bench: Bench, chart: Map, candidate_id: str) -> ArchiveEntry:
    line = lineage(chart.known, candidate_id)
    joint = chart.law_of(candidate_id)
    base = joint.place(bench.base.harness_id).cost_usd
    seen = joint.counts[joint.at(candidate_id)]
    verdict = chart.verdict(candidate_id)
    summary = whole_summary(chart.known, candidate_id)
    ratio = joint.place(candidate_id).cost_usd / base if base else 1.0
    entry = ArchiveEntry(
        entry_id="",
        name=bench.base.manifest.name,
        harness_id=candidate_id,
        base_harness_id=bench.base.harness_id,
        answer_kind=bench.base.manifest.answer.kind,
        models=bench.config.models,
        stamp="confirmed" if verdict is not None and verdict.kind == "accept" else "observed",
        isolation=bench.header.isolation,
        summary=summary,
        edits_json="["
        + ",".join(candidate.patch.model_dump_json() for candidate in line if candidate.patch)
        + "]",
        knobs=bench.harness(candidate_id).knob_values,
        cost_ratio=ratio,
        answers_changed=seen.changed / seen.n if seen.n else None,
        patterns=patterns(scan.diagnosis(bench, bench.base.harness_id).findings),
        search_task_keys=tuple(task.content_key for task in bench.search),
        price_table_hash=content_hash([p.model_dump(mode="json") for p in bench.header.prices]),
        run_id=bench.run_id,
        created_at=bench.header.created_at,
        lesson=f"{summary}: cost x{ratio:.2f}, {seen.changed} of {seen.n} answers changed",
    )
    # A run that goes on may come to know more of the same harness: that is another entry.
    return entry.model_copy(update={"entry_id": content_id("a", entry.model_dump(mode="json"))})
