"""The frozen judge of answers: admitted checks, their weights, and what it says of a cluster.

A candidate's own answers have no vote. What the referee gives is merit, in its own units; it is not
accuracy.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harnesspro.core.answers import NO_ANSWER
from harnesspro.core.records import Calibration, Channel, Check, Estimate, Referee
from harnesspro.core.table import Answered

Passed = Mapping[str, float]
"""check_id -> how far the answer passed, in [0, 1]; a check that says nothing is absent."""

NULL_MASS = 0.05
"""The chance left for "no answer seen is right"."""
TRUSTED_HIT_RATE, TRUSTED_PAIRS = 0.75, 100
EASIER_PROBES = 0.10
"""Discount on the hit rate: probes are easier than tasks."""
LEAST_TILT = 0.10

TELLING_KILLS = 0.25
"""Share of nearly right answers that a check of more than form must stop to be worth measuring."""
_PRIOR_VALID, _PRIOR_INVALID = 7.0, 3.0
_PROBE_WORTH = 0.25
"""Probes are easier than tasks: four of them count as one."""
_OWNER_VALIDITY = 0.95
"""The owner's own checks, where nothing was measured."""


def freeze(
    checks: Sequence[Check],
    panel: tuple[str, ...] = (),
    *,
    channels: Sequence[Channel] = (),
    calibration: Calibration | None = None,
) -> Referee:
    """The referee of the admitted checks. `panel` names independent models or harnesses.

    Weight of a family: max(0, logit(validity)) x discrimination, spread evenly over its checks.
    `channels` are those measured on probes: the check of a judge or verifier (writer `model`) takes
    its validity from the channel of its name. Trusted iff the lower bound of the hit rate on at least 100
    discordant probe pairs is >= 0.75.
    """
    admitted = tuple(check for check in checks if check.admitted)
    measured = {channel.name: channel for channel in channels}
    families: dict[str, list[Check]] = {}
    for check in admitted:
        families.setdefault(check.family, []).append(check)
    weights = {
        check.check_id: _weight(members, measured) / len(members)
        for members in families.values()
        for check in members
    }
    hit_rate = calibration.hit_rate if calibration else None
    trusted = is_trusted(hit_rate)
    return Referee(
        checks=admitted,
        weights=weights,
        panel=panel,
        trusted=trusted,
        reason=_reason(admitted, panel, calibration, trusted=trusted),
        channels=tuple(channels),
        calibration=calibration,
    )


def _weight(checks: Sequence[Check], measured: Mapping[str, Channel]) -> float:
    first = checks[0]
    if first.writer == "model":
        return opinion_weight(measured[first.name])
    return family_weight(checks)


def opinion_weight(channel: Channel) -> float:
    """max(0, logit(r)) x d of a judge or verifier: r its AUC under the prior, d how often it speaks."""
    if channel.auc is None or channel.silent is None:
        return 0.0
    n = _PROBE_WORTH * channel.auc.n
    r = (_PRIOR_VALID + n * channel.auc.mean) / (_PRIOR_VALID + _PRIOR_INVALID + n)
    return max(0.0, math.log(r / (1 - r))) * (1 - channel.silent)


def may_tell(checks: Sequence[Check]) -> bool:
    """Whether checks might tell a right answer from a wrong one of the right form.

    The owner's own may; of the generated ones, families of more than form that stop a quarter of the
    mutated answers.
    """
    return any(
        check.writer == "user"
        or (
            check.family != "format"
            and max(check.family_kill_rate or 0.0, check.kill_rate or 0.0) >= TELLING_KILLS
        )
        for check in checks
        if check.admitted
    )


def is_trusted(hit_rate: Estimate | None) -> bool:
    """Whether a hit rate on discordant probe pairs is good enough to carry a claim."""
    return hit_rate is not None and hit_rate.n >= TRUSTED_PAIRS and hit_rate.low >= TRUSTED_HIT_RATE


def family_weight(checks: Sequence[Check]) -> float:
    """max(0, logit(r)) x d of one family of checks."""
    r = _validity(checks)
    return max(0.0, math.log(r / (1 - r))) * _kills(checks)


def _kills(checks: Sequence[Check]) -> float:
    """Share of wrong answers that a family stops; its best check's where it was not measured as one.

    A second check that stops little must not thin out the first.
    """
    known = [
        rate
        for check in checks
        for rate in (check.family_kill_rate, check.kill_rate)
        if rate is not None
    ]
    return max(known, default=1.0)


def _validity(checks: Sequence[Check]) -> float:
    """Posterior mean of the chance that a family's word is right, prior Beta(7, 3).

    Its checks were measured on the same probes, which count once.
    """
    measured = [check.false_reject_rate for check in checks if check.false_reject_rate is not None]
    if not measured and all(check.writer == "user" for check in checks):
        return _OWNER_VALIDITY
    worth = _PROBE_WORTH / max(1, len(measured))
    n = worth * sum(rate.n for rate in measured)
    valid = worth * sum(rate.n * (1 - rate.mean) for rate in measured)
    return (_PRIOR_VALID + valid) / (_PRIOR_VALID + _PRIOR_INVALID + n)


def _reason(
    checks: Sequence[Check],
    panel: Sequence[str],
    calibration: Calibration | None,
    *,
    trusted: bool,
) -> str:
    hit_rate = calibration.hit_rate if calibration else None
    if trusted:
        return "it was right often enough on pairs of answers whose truth is known"
    if not checks and not panel:
        return "no check was admitted and no independent model votes, so it can say nothing"
    if hit_rate is None:
        because = f": {calibration.reason}" if calibration and calibration.reason else ""
        return f"how often it is right where two answers differ is not known{because}"
    return (
        f"it was right on {100 * hit_rate.mean:.0f} % of {hit_rate.n} pairs of differing answers "
        f"(at least {100 * hit_rate.low:.0f} %); {100 * TRUSTED_HIT_RATE:.0f} % on {TRUSTED_PAIRS} are asked for"
    )


def merit(referee: Referee, passed: Passed | None) -> float:
    """Weighted share of the checks an answer passed; 0 where there is no answer (None).

    1 where no check that carries weight speaks: it is silent, not against.
    """
    if passed is None:
        return 0.0
    total = sum(weight for key, weight in referee.weights.items() if key in passed)
    if total <= 0:
        return 1.0
    won = sum(weight * passed.get(key, 0.0) for key, weight in referee.weights.items())
    return won / total


def merits(
    referee: Referee,
    passed: Mapping[str, Passed | None],
    *,
    votes: Mapping[str, float] | None = None,
) -> dict[str, float]:
    """What each cluster of one task is worth: cluster -> merit in [0, 1], summing below 1.

    s_c = m_c / (sum over clusters + null mass), log m_c = W (x_c - 1) + L (n_c - 1): x_c is the share
    of checks passed, n_c the panel's share of votes, W and L the weights of the checks that speak and
    of the panel's members. Weights are log-odds, so they add where words are independent. Where the
    checks say the same of every cluster they are silent: x_c = 1 for all. No answer is worth 0.
    """
    x = {key: merit(referee, row) for key, row in passed.items() if row is not None}
    if len(set(x.values())) == 1 and _unanimous(next(iter(x.values()))):
        x = dict.fromkeys(x, 1.0)
    spoken = {key for row in passed.values() if row is not None for key in row}
    of_checks = sum(weight for key, weight in referee.weights.items() if key in spoken)
    of_panel = 0.0 if votes is None else _panel_weight(referee)
    voted = votes or {}
    mass = {
        key: math.exp(of_checks * (share - 1) + of_panel * (voted.get(key, 0.0) - 1))
        for key, share in x.items()
    }
    total = sum(mass.values()) + NULL_MASS
    return {key: mass[key] / total if key in mass else 0.0 for key in passed}


def _panel_weight(referee: Referee) -> float:
    """The log-odds of all members together: of each as measured on probes, else of the prior."""
    measured = {channel.name: channel for channel in referee.channels}
    prior = math.log(_PRIOR_VALID / _PRIOR_INVALID)
    return sum(
        opinion_weight(measured[name]) if name in measured else prior for name in referee.panel
    )


def _unanimous(share: float) -> bool:
    return share in (0.0, 1.0)


def judge_answers(
    referee: Referee,
    answers: Mapping[str, Mapping[str, Answered]],
    passed: Mapping[tuple[str, str], Passed],
    *,
    votes: Mapping[str, Mapping[str, float]] | None = None,
) -> dict[str, dict[str, float]]:
    """task_id -> cluster -> merit over all the clusters these answers make.

    `passed` holds (task_id, cluster) for every cluster that is an answer; `votes` the panel's
    shares by task and cluster, which may name clusters no answer here is in.
    """
    clusters: dict[str, set[str]] = {}
    for by_task in answers.values():
        for task_id, found in by_task.items():
            clusters.setdefault(task_id, set()).add(found.cluster)
    voted = votes or {}
    return {
        task_id: merits(
            referee,
            {key: None if key == NO_ANSWER else passed[task_id, key] for key in sorted(keys)},
            votes=voted.get(task_id),
        )
        for task_id, keys in sorted(clusters.items())
    }


# --- what a trusted referee may claim ----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Votes:
    """Tasks, answers changed among them, and which way the referee saw the change; ties neither."""

    n: int
    changed: int
    worse: int
    better: int


def p_loss_within(referee: Referee, votes: Votes, *, eps: float) -> float:
    """P-value against "it loses more than eps"; 1 where the referee must stay silent.

    Tango's test of the surplus of worse verdicts against d0 = eps * J - t * c / n, with
    J = 2 (h_low - 0.10) - 1 and the tilt of `held_tilt`: what a loss of eps would show at least, given
    how often the referee errs and how much it leans towards change.
    """
    from scipy.special import ndtr

    if referee.discordant_hit_rate is None or not (referee.trusted and votes.n):
        return 1.0
    j = 2 * (referee.discordant_hit_rate.low - EASIER_PROBES) - 1
    share = votes.changed / votes.n
    margin = eps * j - held_tilt(referee, eps=eps, share=share) * share
    return float(ndtr(tango_z(votes, margin=margin))) if margin > 0 else 1.0


def held_tilt(referee: Referee, *, eps: float, share: float) -> float:
    """The tilt held against a pick that changed this share of the answers, at a margin of eps.

    With error rates e1 on losses and e2 on gains, a loss of eps among `share` changed answers shows a
    surplus of at least eps (1 - e1 - e2) - share (e1 - e2). Its joint lower bound (MOVER, Zou and
    Donner 2008) is less pessimistic than the bounds of hit rate and tilt together; the tilt is what
    makes the formula of `p_loss_within` equal to it, and never under 0.10. Where only the tilt itself
    was measured, its upper bound; where nothing was, all the way.
    """
    calibration, hit_rate = referee.calibration, referee.discordant_hit_rate
    if calibration is None or hit_rate is None or not share:
        return _tilt(referee)
    on_loss, on_gain = calibration.errors_on_losses, calibration.errors_on_gains
    if on_loss is None or on_gain is None:
        return _tilt(referee)
    point = eps - on_loss.mean * (eps + share) - on_gain.mean * (eps - share)
    by_loss = (eps + share) * (on_loss.high - on_loss.mean)
    away = on_gain.high - on_gain.mean if eps > share else on_gain.mean - on_gain.low
    surplus = point - math.hypot(by_loss, (eps - share) * away) - 2 * EASIER_PROBES * eps
    j = 2 * (hit_rate.low - EASIER_PROBES) - 1
    return max(LEAST_TILT, (eps * j - surplus) / share)


def p_loss_beyond(referee: Referee, votes: Votes, *, eps: float) -> float:
    """P-value against "it loses at most eps", a perfect referee leaning against change assumed."""
    from scipy.special import ndtr

    if not (referee.trusted and votes.n):
        return 1.0
    margin = eps + _tilt(referee) * votes.changed / votes.n
    return float(ndtr(-tango_z(votes, margin=margin))) if margin < 1 else 1.0


def p_better(referee: Referee, votes: Votes) -> float:
    """P-value against "no better than the referee's tilt alone makes it look".

    Exact binomial test of better among worse + better against (1 + t) / 2.
    """
    from scipy.special import bdtrc

    if not (referee.trusted and votes.better):
        return 1.0
    judged = votes.worse + votes.better
    return float(bdtrc(votes.better - 1, judged, (1 + _tilt(referee)) / 2))


def smallest_margin(referee: Referee, votes: Votes, *, alpha: float) -> float:
    """The smallest loss (to half a point) that the referee's verdicts exclude; 1 where none."""
    margins = (step / 200 for step in range(1, 201))
    within = (eps for eps in margins if p_loss_within(referee, votes, eps=eps) <= alpha)
    return next(within, 1.0)


def tango_z(votes: Votes, *, margin: float) -> float:
    """Tango's score for "the surplus of worse over better, as a share of n, is `margin`".

    Far below 0: the surplus is smaller; far above: larger. The variance is the one under the margin
    itself, so the score holds where no or few pairs differ. `margin` lies in (0, 1).
    """
    n, m, p = votes.n, votes.worse, votes.better
    a, b = 2 * n, (2 * n - m + p) * margin - m - p
    c = -p * margin * (1 - margin)
    q = (math.sqrt(b * b - 4 * a * c) - b) / (2 * a)
    return (m - p - n * margin) / math.sqrt(n * (2 * q + margin * (1 - margin)))


def _tilt(referee: Referee) -> float:
    """Never under 0.10; all the way where it was not measured."""
    return 1.0 if referee.tilt_upper is None else max(LEAST_TILT, referee.tilt_upper)
