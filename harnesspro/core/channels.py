"""Which ways of telling right from wrong may be heard: each is measured on probes against naive rules.

A channel must put right answers above wrong ones better than the longest, cheapest, first, … answer
does, and picking by it must gain right answers. What it says of tasks is not asked here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np

from harnesspro.core.calibration import ProbeAnswer, ProbeRow
from harnesspro.core.records import Channel, ChannelKind, Estimate
from harnesspro.core.stats import Floats, boot_counts, bounded_estimate, percentile_estimate

LEAST_PROBES = 12
"""Probes on which it prefers one answer to another, under which nothing is admitted: with fewer, the
bounds over probes do not hold."""
ALPHA = 0.05
"""Of every bound, one-sided."""

_DIGITS = 9
_LAST = -np.inf
_NOISE = 1e-9
"""A bound closer to 0 than this is 0."""


@dataclass(frozen=True, slots=True)
class _Cluster:
    """Equal answers to one probe."""

    key: str
    members: tuple[ProbeAnswer, ...]
    right: bool
    answered: bool

    def mean(self, measure: Callable[[ProbeAnswer], float]) -> float:
        return sum(map(measure, self.members)) / len(self.members)


NaiveRule = Callable[[_Cluster, ProbeRow], float]

NAIVE: Mapping[str, NaiveRule] = {
    "random": lambda cluster, row: 0.0,
    "first": lambda cluster, row: float(cluster.key == row.answers[0].cluster),
    "well-formed": lambda cluster, row: float(cluster.answered),
    "longest": lambda cluster, row: cluster.mean(lambda answer: answer.n_chars),
    "shortest": lambda cluster, row: -cluster.mean(lambda answer: answer.n_chars),
    "fastest": lambda cluster, row: -cluster.mean(lambda answer: answer.latency_s),
    "slowest": lambda cluster, row: cluster.mean(lambda answer: answer.latency_s),
    "cheapest": lambda cluster, row: -cluster.mean(lambda answer: answer.cost_usd),
    "dearest": lambda cluster, row: cluster.mean(lambda answer: answer.cost_usd),
}
"""What needs no look at the answer's content. What reads a number may read it either way."""

_IN_WORDS = {
    "random": "chance",
    "first": "taking the initial harness's answer",
    "well-formed": "taking any well-formed answer",
}


def kind_of(name: str) -> ChannelKind:
    """The kind of a channel by its name: `user`, `checks`, or what stands before the colon.

    Raises:
        ValueError: no kind of channel.
    """
    kinds: dict[str, ChannelKind] = {kind: kind for kind in get_args(ChannelKind)}
    try:
        return kinds[name.partition(":")[0]]
    except KeyError:
        raise ValueError(f"{name!r} is no channel") from None


def measure_channel(
    name: str, kind: ChannelKind, rows: Sequence[ProbeRow], *, seed: int
) -> Channel:
    """The channel `name` as it did on these probes, admitted or not, with the reason in words.

    A probe counts where two answers that were given differ in rightness; it is one unit, the mean
    over its pairs of a right and a wrong cluster, a tie half. No answer is wrong, and every channel
    puts it last. A channel that does not speak of each given answer of a probe, or says the same of
    all, is silent on it; of a panel, a cluster without a vote is 0.

    `silent` is a share of the probes that count; the rest is measured where it speaks, the naive
    rules on the same probes: where it is silent it leaves the choice to others, and a rule's luck
    there says nothing of it. `auc`, `lead` and `pick_gain` stand between one-sided 95 % bounds by a
    bootstrap over probes; to `auc` and `pick_gain` one unseen probe is granted at its worst. `lead`
    is paired and, in each of its numbers, the least over the naive rules, so its bound holds against
    all of them at once. Admitted iff `lead.low` and `pick_gain.low` are above 0 and it speaks on at
    least `LEAST_PROBES` probes. The owner's checks (`kind` user) stay admitted unless they are shown
    to pass wrong answers more often than right ones (upper bound of `auc` below one half).
    """
    views = [view for row in rows if (view := _view(name, kind, row)) is not None]
    spoken = [view for view in views if not view.silent]
    channel = Channel(
        name=name,
        kind=kind,
        silent=1 - len(spoken) / len(views) if views else None,
    )
    return _judged(_measured(channel, spoken, seed=seed) if spoken else channel)


# --- measuring ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _View:
    """A probe that counts, and what the channel says of it."""

    row: ProbeRow
    clusters: tuple[_Cluster, ...]
    said: tuple[float, ...]
    """A score for each cluster; no answer is below all."""

    @property
    def silent(self) -> bool:
        return len({score for score in self.said if score > _LAST}) == 1


def _view(name: str, kind: ChannelKind, row: ProbeRow) -> _View | None:
    """None where the given answers are all right or all wrong."""
    clusters = _clusters(row)
    given = {cluster.key: cluster.right for cluster in clusters if cluster.answered}
    if len(set(given.values())) < 2:
        return None
    scores = row.scores.get(name, {})
    if kind != "panel" and not scores.keys() >= given.keys():
        scores = {}
    said = (scores.get(c.key, 0.0) if c.key in given else _LAST for c in clusters)
    return _View(row, clusters, tuple(round(score, _DIGITS) for score in said))


def _clusters(row: ProbeRow) -> tuple[_Cluster, ...]:
    grouped: dict[str, list[ProbeAnswer]] = {}
    for answer in row.answers:
        grouped.setdefault(answer.cluster, []).append(answer)
    return tuple(
        _Cluster(
            key=key,
            members=tuple(members),
            right=any(answer.right for answer in members),
            answered=any(answer.answered for answer in members),
        )
        for key, members in grouped.items()
    )


def _measured(channel: Channel, views: Sequence[_View], *, seed: int) -> Channel:
    n = len(views)
    own = np.array([_auc(view.clusters, view.said) for view in views])
    gain = np.array([_pick_gain(view) for view in views])
    naive = {
        name: np.array([_auc(view.clusters, _read(rule, view)) for view in views])
        for name, rule in NAIVE.items()
    }
    counts = boot_counts(n, seed=seed)

    def bounded(values: Floats, *, least: float) -> Estimate:
        return bounded_estimate(
            float(values.mean()), counts @ values / n, n=n, alpha=2 * ALPHA, least=least, most=1.0
        )

    leads = [_lead(own - values, counts) for values in naive.values()]
    return channel.model_copy(
        update={
            "auc": bounded(own, least=0.0),
            "baselines": {name: float(values.mean()) for name, values in naive.items()},
            "lead": Estimate(
                mean=min(lead.mean for lead in leads),
                low=min(lead.low for lead in leads),
                high=min(lead.high for lead in leads),
                n=n,
            ),
            "pick_gain": bounded(gain, least=-1.0),
        }
    )


def _lead(differences: Floats, counts: Floats) -> Estimate:
    """Over one rule. It differs from probe to probe by the rule's luck, so no probe is granted."""
    n = differences.size
    found = percentile_estimate(
        float(differences.mean()), counts @ differences / n, n=n, alpha=2 * ALPHA
    )
    return found.model_copy(update={"low": max(found.low, -1.0), "high": min(found.high, 1.0)})


def _read(rule: NaiveRule, view: _View) -> list[float]:
    return [round(rule(cluster, view.row), _DIGITS) for cluster in view.clusters]


def _auc(clusters: Sequence[_Cluster], scores: Sequence[float]) -> float:
    right = [score for cluster, score in zip(clusters, scores, strict=True) if cluster.right]
    wrong = [score for cluster, score in zip(clusters, scores, strict=True) if not cluster.right]
    won = sum((a > b) + 0.5 * (a == b) for a in right for b in wrong)
    return won / (len(right) * len(wrong))


def _pick_gain(view: _View) -> float:
    """Chance of a right answer picked by score, less that of one picked blindly; ties split evenly."""
    given = [pair for pair in zip(view.clusters, view.said, strict=True) if pair[0].answered]
    best = max(score for _, score in given)
    return _share_right(c for c, s in given if s == best) - _share_right(c for c, _ in given)


def _share_right(clusters: Iterable[_Cluster]) -> float:
    answers = [cluster.right for cluster in clusters for _ in cluster.members]
    return sum(answers) / len(answers)


# --- admitting ---------------------------------------------------------------------------------


def _judged(channel: Channel) -> Channel:
    admitted, reason = _owners(channel) if channel.kind == "user" else _others(channel)
    return channel.model_copy(update={"admitted": admitted, "reason": reason})


def _owners(channel: Channel) -> tuple[bool, str]:
    """The owner's word holds until it is shown to be wrong."""
    too_little = _too_little(channel)
    if too_little or channel.auc is None:
        return True, f"the owner's own checks; {too_little}"
    if channel.auc.high < 0.5:
        found = f"right answers pass less often than wrong ones on {_probes(channel.auc.n)}"
        return False, f"the owner's own checks, but {found}: see what they ask for"
    return True, f"the owner's own checks; {_lead_in_words(channel)}"


def _others(channel: Channel) -> tuple[bool, str]:
    too_little = _too_little(channel)
    if too_little or channel.lead is None or channel.pick_gain is None:
        return False, too_little
    words = f"{_silence(channel)}{_lead_in_words(channel)}"
    if channel.lead.low <= _NOISE:
        return False, words
    return channel.pick_gain.low > _NOISE, f"{words}; {_gain_in_words(channel.pick_gain)}"


def _too_little(channel: Channel) -> str:
    """Why there is too little to tell; empty where there is enough."""
    if channel.silent is None:
        return "no probe has both a right and a wrong answer"
    n = channel.auc.n if channel.auc else 0
    if n >= LEAST_PROBES:
        return ""
    asked = f"and {LEAST_PROBES} are asked for"
    if channel.silent == 1:
        return f"silent on every probe that has both a right and a wrong answer, {asked}"
    return f"{_silence(channel)}it tells answers apart on {_probes(n)} only, {asked}"


def _probes(n: int) -> str:
    return f"{n} probe{'' if n == 1 else 's'}"


def _silence(channel: Channel) -> str:
    return f"silent on {100 * channel.silent:.0f} % of probes; " if channel.silent else ""


def _lead_in_words(channel: Channel) -> str:
    lead = channel.lead
    assert lead is not None
    strongest = max(channel.baselines, key=channel.baselines.__getitem__)
    rule = _IN_WORDS.get(strongest, f"taking the {strongest} answer")
    if lead.low > _NOISE:
        return f"beats {rule} by {_points(lead.mean)} (at least {_bare(lead.low)}) on {_probes(lead.n)}"
    if lead.mean > _NOISE:
        return (
            f"ahead of {rule} by {_points(lead.mean)} on {_probes(lead.n)}, which may be chance "
            f"(at least {_bare(lead.low)})"
        )
    behind = "level with" if lead.mean > -_NOISE else f"{_points(-lead.mean)} behind"
    return f"{behind} {rule} on {_probes(lead.n)}"


def _gain_in_words(gain: Estimate) -> str:
    if gain.low > _NOISE:
        return (
            f"picking by it gives {_bare(gain.mean)} more right answers in 100 "
            f"(at least {_bare(gain.low)})"
        )
    return "but picking answers by it is not shown to give more right ones"


def _points(share: float) -> str:
    bare = _bare(share)
    return f"{bare} point{'' if bare == '1' else 's'}"


def _bare(share: float) -> str:
    """In points, to one decimal where it is under one."""
    points = 100 * share
    return f"{points:.1f}" if abs(points) < 1 else f"{points:.0f}"
