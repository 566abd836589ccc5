"""The facts on record, read back: trials, candidates, rounds, and the World they add up to."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from harnesspro.core.decide import Forecast, RoundFacts, StopName, World
from harnesspro.core.findings import Diagnosis
from harnesspro.core.records import Candidate, Refusal, Trial
from harnesspro.core.table import Row
from harnesspro.loop.bench import Bench
from harnesspro.loop.hearing import asked_by, hear
from harnesspro.stages.calibrate import shares
from harnesspro.stages.score import table_of

# Candidates cost less than the baseline as a rule, and most leave after the first block.
_CANDIDATE_SHARE = 0.6


def trials_of(bench: Bench, phase: str) -> tuple[Trial, ...]:
    """Every recorded target trial whose draw belongs to `search` or `confirm`.

    Sorted by id: in which order trials ended must not show in anything that follows.
    """
    ids = bench.tasks
    trials = (Trial.model_validate(value) for _, value in bench.ports.ledger.all("trial"))
    found = (t for t in trials if t.draw.startswith(f"{phase}/") and t.task_id in ids)
    return tuple(sorted(found, key=lambda trial: trial.trial_id))


def table(bench: Bench, phase: str, *, asking: bool = True) -> dict[str, dict[str, Row]]:
    """The judge's table of one phase; the search table leaves extra baseline draws out.

    `asking`: put what is new to the referee's panels and judges first; else what is on record counts.

    Raises:
        Cut: the run must stop while there is still something to ask.
    """
    trials = trials_of(bench, phase)
    if phase == "search":
        trials = tuple(trial for trial in trials if trial.draw in bench.search_draws)
    return judged(bench, trials, asking=asking)


def judged(bench: Bench, trials: Sequence[Trial], *, asking: bool) -> dict[str, dict[str, Row]]:
    """The table of any trials under the run's referee; see `table`.

    Raises:
        Cut: the run must stop while there is still something to ask.
    """
    heard = hear(bench, trials, bench.tasks, asked=asked_by(bench.referee) if asking else ())
    panel = bench.referee.panel
    votes = {task_id: shares(panel, heard.votes, task_id) for task_id in bench.tasks}
    return table_of(
        trials,
        bench.tasks,
        spec=bench.base.manifest.answer,
        referee=bench.referee,
        owner_results=heard.results,
        votes={task_id: cast for task_id, cast in votes.items() if cast is not None},
        behaviours=heard.behaviours,
    )


def candidates(bench: Bench) -> dict[str, Candidate]:
    """Candidate id -> candidate, in the order they were made; the baseline first."""
    found = (Candidate.model_validate(value) for _, value in bench.ports.ledger.all("candidate"))
    return {candidate.candidate_id: candidate for candidate in found}


def refusals(bench: Bench) -> tuple[Refusal, ...]:
    """Patches not admitted, in order."""
    return tuple(Refusal.model_validate(value) for _, value in bench.ports.ledger.all("refusal"))


def diagnosis(bench: Bench, harness_id: str) -> Diagnosis:
    """What was found on a harness; empty where it was not diagnosed."""
    value = bench.ports.ledger.get("finding", harness_id)
    return Diagnosis() if value is None else Diagnosis.model_validate(value)


def rounds(bench: Bench) -> tuple[RoundFacts, ...]:
    """Finished rounds, in order."""
    facts = []
    for _, value in bench.ports.ledger.all("round"):
        facts.append(
            RoundFacts(
                index=value["index"],
                parent_ids=tuple(value["parent_ids"]),
                candidate_ids=tuple(value["candidate_ids"]),
                promoted_ids=tuple(value["promoted_ids"]),
            )
        )
    return tuple(sorted(facts, key=lambda fact: fact.index))


def scan(bench: Bench, *, cut: StopName | None = None) -> World:
    """Everything `decide` may know, from the record alone."""
    done = rounds(bench)
    return World(
        baseline_id=bench.base.harness_id,
        rounds=done,
        n_rounds=bench.config.n_rounds,
        max_candidates=bench.config.max_candidates,
        spent_usd=bench.spent_usd(),
        cap_usd=bench.config.budget_usd,
        elapsed_s=bench.elapsed_s(),
        time_limit_s=bench.config.time_limit_s,
        next_round=_forecast_round(bench, n_done=len(done)),
        confirm=_forecast_confirm(bench),
        interrupted=cut,
    )


def per_trial(bench: Bench) -> Forecast:
    """What one baseline trial takes, by the trials so far; zero before the first."""
    base = [t for t in trials_of(bench, "search") if t.harness_id == bench.base.harness_id]
    if not base:
        return Forecast(usd=0.0, seconds=0.0)
    return Forecast(
        usd=fmean(trial.cost_usd for trial in base),
        seconds=fmean(trial.latency_s for trial in base) / bench.config.concurrency,
    )


def _forecast_round(bench: Bench, *, n_done: int) -> Forecast:
    one = per_trial(bench)
    left = max(1, bench.config.n_rounds - n_done)
    per_round = max(1, bench.config.max_candidates // left)
    n_trials = per_round * _CANDIDATE_SHARE * len(bench.search) + bench.plan.monitor_trials / left
    return Forecast(usd=one.usd * n_trials, seconds=one.seconds * n_trials)


def _forecast_confirm(bench: Bench) -> Forecast:
    one = per_trial(bench)
    n_trials = len(bench.confirm) * (1 + _CANDIDATE_SHARE * bench.config.max_picks)
    return Forecast(usd=one.usd * n_trials, seconds=one.seconds * n_trials)
