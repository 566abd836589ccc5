"""How good the referee is: pairs of differing answers to probes, one of them right by construction.

Each probe gives at most one pair, so pairs are independent. The first probes admit the channels; the
later ones, which had no say in that, measure hit rate and tilt.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from harnesspro.core.hashing import seed_from
from harnesspro.core.records import Calibration, Estimate
from harnesspro.core.referee import TRUSTED_HIT_RATE, TRUSTED_PAIRS
from harnesspro.core.stats import exact_share, lower_bound, upper_bound

LEAST_ADMITTING, ADMITTING_PAIRS = 60, 40
"""The first so many probes, and on until so many gave a pair, admit channels and do nothing else.

On 40 pairs a channel right on 85 % of them is admitted in five runs of six, on 30 in three of five."""
VETO_PROBES, VETO_ALPHA = 100, 0.10
"""A harness that loses to the initial one on so many probes has no referee claim."""
ALPHA = 0.05
"""One-sided, of every bound here."""

Merits = Mapping[str, Mapping[str, float]]
"""probe_id -> cluster -> the referee's merit."""


@dataclass(frozen=True, slots=True)
class ProbeAnswer:
    """One harness's answer to a probe; whether it is right is known by construction."""

    candidate_id: str
    cluster: str
    right: bool
    answered: bool
    n_chars: int
    """Length of the answer as canonical JSON; 0 where there is none."""
    latency_s: float
    cost_usd: float


@dataclass(frozen=True, slots=True)
class ProbeRow:
    """A probe and every answer to it, the initial harness's first."""

    probe_id: str
    answers: tuple[ProbeAnswer, ...]
    scores: Mapping[str, Mapping[str, float]]
    """Channel name -> cluster -> how right it finds that answer; a channel that is silent is absent."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two differing answers to one probe, both given, exactly one of them right."""

    probe_id: str
    cluster: str
    """The answer of the harness that is further from the initial one: the change."""
    base_cluster: str
    variant_is_right: bool


def pair_of(row: ProbeRow, *, seed: int) -> Pair | None:
    """The pair a probe gives, drawn by seed: one with the initial harness in it where there is one.

    `row.answers` stand in the order of how far their harnesses are from the initial one. None where
    no two given answers differ with exactly one right; that no answer is wrong needs no referee.
    """
    given = [answer for answer in row.answers if answer.answered]
    usable = [
        (before, after)
        for before, after in combinations(given, 2)
        if before.cluster != after.cluster and before.right != after.right
    ]
    first = row.answers[0].candidate_id
    with_initial = [pair for pair in usable if pair[0].candidate_id == first]
    drawn = with_initial or usable
    if not drawn:
        return None
    before, after = drawn[seed_from(seed, row.probe_id) % len(drawn)]
    return Pair(
        probe_id=row.probe_id,
        cluster=after.cluster,
        base_cluster=before.cluster,
        variant_is_right=after.right,
    )


def pairs_of(rows: Sequence[ProbeRow], *, seed: int) -> tuple[Pair, ...]:
    """At most one pair a probe, in the order of the rows."""
    found = (pair_of(row, seed=seed) for row in rows)
    return tuple(pair for pair in found if pair is not None)


def n_admitting(rows: Sequence[ProbeRow], *, seed: int) -> int | None:
    """How many of the first rows admit channels; None while there are too few of them.

    Which answers were given decides it, not what any channel says of them.
    """
    n_pairs = 0
    for index, row in enumerate(rows, start=1):
        n_pairs += pair_of(row, seed=seed) is not None
        if index >= LEAST_ADMITTING and n_pairs >= ADMITTING_PAIRS:
            return index
    return None


# --- the referee against the truth -------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Marks:
    """How the referee did on pairs whose truth is known."""

    n: int
    right: int
    ties: int
    wrong_for_change: int
    """It preferred the variant's wrong answer."""
    wrong_against: int
    """It preferred the initial harness's wrong answer."""
    losses: int
    """Pairs in which the variant is the wrong one; in the others it is the right one."""
    ties_on_losses: int = 0

    @property
    def half_hits(self) -> int:
        """Twice the hits, a tie being half of one."""
        return 2 * self.right + self.ties


def mark(pairs: Sequence[Pair], merits: Merits) -> Marks:
    """Compare what the referee prefers with what is right."""
    right = ties = ties_on_losses = for_change = against = 0
    for pair in pairs:
        of = merits[pair.probe_id]
        lead = of[pair.cluster] - of[pair.base_cluster]
        if lead == 0:
            ties += 1
            ties_on_losses += not pair.variant_is_right
        elif (lead > 0) == pair.variant_is_right:
            right += 1
        elif lead > 0:
            for_change += 1
        else:
            against += 1
    return Marks(
        n=len(pairs),
        right=right,
        ties=ties,
        wrong_for_change=for_change,
        wrong_against=against,
        losses=sum(not pair.variant_is_right for pair in pairs),
        ties_on_losses=ties_on_losses,
    )


def hit_rate(marks: Marks) -> Estimate | None:
    """Share of hits between exact one-sided 95 % bounds; half a hit too few is rounded down."""
    if not marks.n:
        return None
    bounds = exact_share(marks.half_hits // 2, marks.n, alpha=2 * ALPHA)
    return bounds.model_copy(update={"mean": marks.half_hits / (2 * marks.n)})


def tilt(marks: Marks) -> Estimate | None:
    """How much more often it errs on a variant's wrong answer than on a variant's right one.

    The difference of the two error rates, each over its own pairs: a tilt of t takes t from the surplus
    of worse over better verdicts for every changed answer, whatever share of the changes are losses.
    One-sided 95 % bounds by Newcombe's hybrid score (1998, method 10), which holds for few errors too.
    """
    if not marks.n:
        return None
    on_loss, on_gain = errors_on_losses(marks), errors_on_gains(marks)
    mean = on_loss.mean - on_gain.mean
    down = math.hypot(on_loss.mean - on_loss.low, on_gain.high - on_gain.mean)
    up = math.hypot(on_loss.high - on_loss.mean, on_gain.mean - on_gain.low)
    return Estimate(mean=mean, low=max(-1.0, mean - down), high=min(1.0, mean + up), n=marks.n)


def errors_on_losses(marks: Marks) -> Estimate:
    """Share of errors, ties half, on pairs whose change is the wrong answer."""
    return _wilson(marks.wrong_for_change + marks.ties_on_losses / 2, marks.losses)


def errors_on_gains(marks: Marks) -> Estimate:
    """Share of errors, ties half, on pairs whose change is the right answer."""
    ties = marks.ties - marks.ties_on_losses
    return _wilson(marks.wrong_against + ties / 2, marks.n - marks.losses)


def _wilson(k: float, n: int) -> Estimate:
    """A share between Wilson's one-sided 95 % bounds; [0, 1] where nothing was seen."""
    from scipy.special import ndtri

    if not n:
        return Estimate(mean=0.0, low=0.0, high=1.0, n=0)
    z2, p = float(ndtri(1 - ALPHA)) ** 2, k / n
    middle = (p + z2 / (2 * n)) / (1 + z2 / n)
    half = math.sqrt(z2 * (p * (1 - p) / n + z2 / (4 * n * n))) / (1 + z2 / n)
    return Estimate(mean=p, low=min(p, middle - half), high=max(p, middle + half), n=n)


def loses_on_probes(rows: Sequence[ProbeRow], candidate_id: str) -> bool:
    """Whether a harness does worse than the initial one on at least 100 probes (sign test, 0.10)."""
    from scipy.special import bdtr

    pairs = [(row.answers[0].right, _of(row, candidate_id)) for row in rows]
    both = [(base, own) for base, own in pairs if own is not None]
    won = sum(own and not base for base, own in both)
    lost = sum(base and not own for base, own in both)
    if len(both) < VETO_PROBES or not lost:
        return False
    return float(bdtr(won, won + lost, 0.5)) <= VETO_ALPHA


def _of(row: ProbeRow, candidate_id: str) -> bool | None:
    return next((a.right for a in row.answers if a.candidate_id == candidate_id), None)


def calibration_of(
    rows: Sequence[ProbeRow], merits: Merits, *, admitting: int, seed: int, reason: str
) -> Calibration:
    """What the probes behind the admitting ones say of the referee whose merits these are.

    `rows` are all probes measured, in order, the first `admitting` of which admitted the channels;
    the veto and the accuracy on probes count them all, since neither depends on what a channel says.
    """
    monitor = rows[admitting:]
    marks = mark(pairs_of(monitor, seed=seed), merits)
    ids = sorted({answer.candidate_id for row in rows for answer in row.answers})
    return Calibration(
        n_probes=len(monitor),
        n_admitting=admitting,
        n_discordant=sum(len({a.cluster for a in row.answers}) > 1 for row in monitor),
        hit_rate=hit_rate(marks),
        tilt=tilt(marks),
        errors_on_losses=errors_on_losses(marks) if marks.n else None,
        errors_on_gains=errors_on_gains(marks) if marks.n else None,
        n_ties=marks.ties,
        probe_accuracy={key: _probe_accuracy(rows, key) for key in ids},
        vetoed=tuple(key for key in ids if loses_on_probes(rows, key)),
        reason=reason,
    )


def _probe_accuracy(rows: Sequence[ProbeRow], candidate_id: str) -> Estimate:
    right = [own for row in rows if (own := _of(row, candidate_id)) is not None]
    return exact_share(sum(right), len(right))


# --- how many probes ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class More:
    """Measure so many further probes."""

    n: int


@dataclass(frozen=True, slots=True)
class Enough:
    """Measure no further, and why."""

    reason: str


def next_probes(
    n_measured: int,
    *,
    n_most: int,
    n_pairs: int,
    formed: bool,
    marks: Marks | None,
    batch: int = 40,
) -> More | Enough:
    """How many probes to measure next, given how many gave a pair so far.

    `formed`: the first probes have admitted the channels; `marks` are the referee's on the later
    ones, None where no channel was admitted. Stops at 100 marked pairs, where trust has become
    impossible, and where even the upper bound of the rate of pairs does not lead there. None of this
    depends on the hits in a way that could make a bad referee trusted.
    """
    left = n_most - n_measured
    if n_most < LEAST_ADMITTING:
        return Enough(f"{n_most} probes are fewer than the {LEAST_ADMITTING} that admit channels")
    if n_measured < LEAST_ADMITTING:
        return More(LEAST_ADMITTING - n_measured)
    if formed and marks is None:
        return Enough("no channel tells right answers from wrong ones on probes")
    if marks is not None and marks.n >= TRUSTED_PAIRS:
        return Enough(f"{marks.n} pairs of differing answers")
    if marks is not None and _hopeless(marks):
        return Enough(
            f"right on {marks.half_hits / 2:g} of {marks.n} pairs: it cannot reach "
            f"{100 * TRUSTED_HIT_RATE:.0f} % any more"
        )
    short = TRUSTED_PAIRS - marks.n if marks else ADMITTING_PAIRS + TRUSTED_PAIRS - n_pairs
    wanted = n_pairs + short
    if left <= 0:
        return Enough(
            f"{n_measured} probes gave {n_pairs} pairs of differing answers; {wanted} are asked for"
        )
    if upper_bound(n_pairs, n_measured, alpha=ALPHA) * left < short:
        return Enough(
            f"only {n_pairs} of {n_measured} probes gave a pair of differing answers, so "
            f"{n_most} will not give the {wanted} asked for{_would_do(n_pairs, n_measured, wanted)}"
        )
    return More(min(batch, left))


def _would_do(n_pairs: int, n_measured: int, wanted: int) -> str:
    """How many probes would, to the next hundred; nothing where that would be a guess."""
    if n_pairs < 3:
        return ""
    return f" (about {-(-wanted * n_measured // n_pairs // 100) * 100:,} would)"


def _hopeless(marks: Marks) -> bool:
    """Whether not even a hit on every pair still to come would make it trusted."""
    missed = marks.n - marks.half_hits // 2
    return lower_bound(TRUSTED_PAIRS - missed, TRUSTED_PAIRS, alpha=ALPHA) < TRUSTED_HIT_RATE
