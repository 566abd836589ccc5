"""Answers to probes to a referee: what each channel says of them, which ones are heard, and the
merits that follow. Pure: the answers, opinions and votes are on record already.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from harnesspro.core import referee as referees
from harnesspro.core.answers import NO_ANSWER
from harnesspro.core.calibration import Merits, ProbeAnswer, ProbeRow
from harnesspro.core.channels import kind_of, measure_channel
from harnesspro.core.hashing import canonical_json, seed_from
from harnesspro.core.records import Check, Probe, Referee, Trial
from harnesspro.core.referee import Passed

PassedBy = Mapping[tuple[str, str], Passed]
"""(task_id, cluster) -> what every check says of that answer."""
VotesBy = Mapping[str, Mapping[str, str]]
"""Panel channel -> task_id -> the cluster of its own answer."""


@dataclass(frozen=True, slots=True)
class Seen:
    """Everything on record about the answers to probes."""

    trials: Sequence[Trial]
    clusters: Mapping[str, str]
    """trial_id -> cluster."""
    passed: PassedBy
    votes: VotesBy
    is_right: Callable[[Probe, str], bool]
    """Whether a cluster is that of the probe's right answer."""


def rows_of(
    probes: Sequence[Probe],
    harness_ids: Sequence[str],
    seen: Seen,
    *,
    opening: Referee,
    asked: Sequence[str],
) -> tuple[ProbeRow, ...]:
    """One row a probe that the initial harness (the first id) and at least one other answered.

    `opening` holds the checks, `asked` names the panels, judges and verifiers.
    """
    alone = _alone(opening)
    by_place = {(trial.task_id, trial.harness_id): trial for trial in seen.trials}
    complete = frozenset(complete_ids(probes, harness_ids, seen.trials))
    rows = []
    for probe in probes:
        if probe.probe_id not in complete:
            continue
        trials = [by_place.get((probe.probe_id, key)) for key in harness_ids]
        answers = tuple(_answer(probe, trial, seen) for trial in trials if trial is not None)
        clusters = sorted({answer.cluster for answer in answers} - {NO_ANSWER})
        scores = _scores(probe.probe_id, clusters, seen, alone=alone, asked=asked)
        rows.append(ProbeRow(probe_id=probe.probe_id, answers=answers, scores=scores))
    return tuple(rows)


def complete_ids(
    probes: Sequence[Probe], harness_ids: Sequence[str], trials: Sequence[Trial]
) -> tuple[str, ...]:
    """The probes that make a row: answered by the initial harness (the first id) and another."""
    who: dict[str, set[str]] = {}
    for trial in trials:
        who.setdefault(trial.task_id, set()).add(trial.harness_id)
    return tuple(
        probe.probe_id
        for probe in probes
        if len(here := who.get(probe.probe_id, set())) > 1 and harness_ids[0] in here
    )


def _answer(probe: Probe, trial: Trial, seen: Seen) -> ProbeAnswer:
    cluster = seen.clusters[trial.trial_id]
    answered = cluster != NO_ANSWER
    return ProbeAnswer(
        candidate_id=trial.harness_id,
        cluster=cluster,
        right=answered and seen.is_right(probe, cluster),
        answered=answered,
        n_chars=len(canonical_json(trial.answer)) if answered else 0,
        latency_s=trial.latency_s,
        cost_usd=trial.cost_usd,
    )


def _scores(
    probe_id: str,
    clusters: Sequence[str],
    seen: Seen,
    *,
    alone: Mapping[str, Referee],
    asked: Sequence[str],
) -> dict[str, dict[str, float]]:
    """Channel -> cluster -> its word; a channel that says nothing of this probe is left out."""
    passed = {key: seen.passed[probe_id, key] for key in clusters}
    found: dict[str, dict[str, float]] = {}
    for name, checks in alone.items():
        if all(checks.weights.keys() & row.keys() for row in passed.values()):
            found[name] = {key: referees.merit(checks, row) for key, row in passed.items()}
    for name in asked:
        if probe_id in seen.votes.get(name, {}):
            found[name] = {key: float(key == seen.votes[name][probe_id]) for key in clusters}
        elif clusters and all(name in row for row in passed.values()):
            found[name] = {key: row[name] for key, row in passed.items()}
    return {name: {**said, NO_ANSWER: 0.0} for name, said in found.items()}


def _alone(opening: Referee) -> dict[str, Referee]:
    """`user` and `checks`, each as a referee of its own, weighing as they do together."""
    groups: dict[str, list[Check]] = {}
    for check in opening.checks:
        groups.setdefault(channel_of(check), []).append(check)
    return {
        name: Referee(
            checks=tuple(checks),
            weights={check.check_id: opening.weights[check.check_id] for check in checks},
        )
        for name, checks in groups.items()
    }


def channel_of(check: Check) -> str:
    """The channel a check speaks through."""
    if check.writer == "model":
        return check.name
    return "user" if check.writer == "user" else "checks"


def opinion_check(channel: str) -> Check:
    """A judge or verifier as the referee holds it; admitted by what its channel measures."""
    return Check(
        check_id=channel,
        family=channel,
        name=channel,
        writer="model",
        admitted=True,
        reason="admitted as a channel",
    )


def form(rows: Sequence[ProbeRow], opening: Referee, *, asked: Sequence[str], seed: int) -> Referee:
    """The referee of the channels that these probes admit, among the opening's and those asked."""
    own = dict.fromkeys(map(channel_of, opening.checks))
    measured = [
        measure_channel(name, kind_of(name), rows, seed=seed_from(seed, name))
        for name in (*own, *asked)
    ]
    heard = {channel.name for channel in measured if channel.admitted}
    checks = [check for check in opening.checks if channel_of(check) in heard]
    checks += [opinion_check(n) for n in asked if n in heard and kind_of(n) != "panel"]
    panel = tuple(name for name in asked if name in heard and kind_of(name) == "panel")
    return referees.freeze(checks, panel, channels=measured)


def merits_of(
    rows: Sequence[ProbeRow], referee: Referee, *, passed: PassedBy, votes: VotesBy
) -> Merits:
    """What the referee finds each answer of each probe worth."""
    found: dict[str, dict[str, float]] = {}
    for row in rows:
        clusters = sorted({answer.cluster for answer in row.answers})
        said = {key: None if key == NO_ANSWER else passed[row.probe_id, key] for key in clusters}
        found[row.probe_id] = referees.merits(
            referee, said, votes=shares(referee.panel, votes, row.probe_id)
        )
    return found


def shares(panel: Sequence[str], votes: VotesBy, task_id: str) -> dict[str, float] | None:
    """Cluster -> share of the panel's votes on a task, one a member; None where none voted."""
    cast = [votes[name][task_id] for name in panel if task_id in votes.get(name, {})]
    if not cast:
        return None
    return {cluster: cast.count(cluster) / len(cast) for cluster in cast}
