"""Where a configuration of `harnesses/planted` truly stands: accuracy and cost by the law, unrun.

Expectations over the whole population of tasks (difficulty and quirk on a grid, families, traits) and
over all votes. Accuracy is exact but for the grid; cost takes mean lengths of words for lengths.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from harnesspro.core.ports import ChatRequest
from harnesspro.providers.sim import MODELS, n_tokens
from harnesspro.providers.sim_request import Features, features_of
from harnesspro.providers.sim_tasks import (
    FAMILIES,
    OPTION_WORDS,
    difficulty_at,
    draw_tasks,
)
from harnesspro.providers.sim_worker import (
    ALOUD,
    FORM_PRONE_SHARE,
    MINDS,
    MISLED_SHARE,
    NOISE_SD,
    QUIRK_SD,
    RAMBLE_SHARE,
    RAMBLING,
    STRAY_RATE,
    malformed_chance,
    ramble_factor,
    skill,
)

Floats = NDArray[np.float64]

N_LEVELS = 200
N_QUIRKS = 9
N_OPTIONS = 5
_FORM = {"type": "object", "properties": {"answer": {"enum": ["a", "b"]}}}
_RIGHT, _LURE, _NONE = 0, 1, N_OPTIONS


@dataclass(frozen=True, slots=True)
class Setup:
    """One configuration: what every call is told, and the dials."""

    instructions: str
    samples: int = 1
    temperature: float = 0.0
    retries: int = 0
    """Further tries of a sample without an answer, at temperature 0."""
    bound: bool = False
    stop_when_agreed: bool = False
    max_output_tokens: int = 1600


class TruePlace(NamedTuple):
    """Expected share of right answers, expected dollars a task."""

    accuracy: float
    cost_usd: float


@dataclass(frozen=True, slots=True)
class Trait:
    """A kind of task as far as form and length of free text replies go."""

    share: float
    malformed: float
    """Chance that a reply names no single option."""
    good_tokens: float
    bad_tokens: float


@dataclass(frozen=True, slots=True)
class Tally:
    """Expectations over the tasks of a trait."""

    accuracy: float
    calls: float
    out_tokens: float


def true_place(setup: Setup, model: str = "sim/small") -> TruePlace:
    """Accuracy and list price of a configuration of the planted harness.

    Raises:
        ValueError: the output cap cuts ordinary replies, whose answers the law cannot foresee.
    """
    features = _features(setup.instructions, setup.bound)
    skills = tuple(round(skill(features, family), 9) for family in FAMILIES)
    accuracy = calls = out = 0.0
    for trait in _traits(features, heavy=MINDS[model].heavy, cap=setup.max_output_tokens):
        tally = _tally(setup, trait, skills=skills, shortcut=features.shortcut)
        accuracy += trait.share * tally.accuracy
        calls += trait.share * tally.calls
        out += trait.share * tally.out_tokens
    dollars_in, dollars_out = MODELS[model]
    prompt = 8 + n_tokens(setup.instructions) + _mean_case_tokens()
    return TruePlace(accuracy, (calls * prompt * dollars_in + out * dollars_out) / 1e6)


@cache
def _features(instructions: str, bound: bool) -> Features:
    form = {"type": "json_schema", "json_schema": {"schema": _FORM}} if bound else None
    messages = ({"role": "system", "content": instructions},)
    request = ChatRequest(
        model="sim/small", messages=messages, max_output_tokens=1, response_format=form
    )
    return features_of(request)


@cache
def _mean_case_tokens() -> float:
    cases = [record["input"] for record in draw_tasks(0, 4000)]
    texts = [f"{case['question']}\nOptions: {', '.join(case['options'])}" for case in cases]
    return float(np.mean([n_tokens(text) for text in texts]))


# --- form and length ---------------------------------------------------------------------------


def _traits(features: Features, *, heavy: bool, cap: int) -> Iterator[Trait]:
    good, bad = _reply_tokens(features)
    if cap < _longest_tokens(features):
        raise ValueError(f"max_output_tokens: {cap} cuts ordinary replies; measure it instead")
    rambles = RAMBLE_SHARE if heavy and features.thinks else 0.0
    for prone, share in ((True, FORM_PRONE_SHARE), (False, 1 - FORM_PRONE_SHARE)):
        chance = 0.0 if features.bound else malformed_chance(features, prone=prone)
        yield Trait(share * (1 - rambles), chance, good, bad)
        if rambles:
            yield from _rambling(features, share=share * rambles, malformed=chance, cap=cap)


def _rambling(features: Features, *, share: float, malformed: float, cap: int) -> Iterator[Trait]:
    good, bad = _reply_tokens(features)
    levels = (np.arange(64) + 0.5) / 64
    for level in levels:
        n_more = round((ramble_factor(float(level)) - 1) * _n_lines(features))
        more = n_more * (len(RAMBLING) + 1) / 4
        cut = good + more > cap
        tokens = (min(good + more, cap), min(bad + more, cap))
        yield Trait(share / len(levels), 1.0 if cut else malformed, *tokens)


def _n_lines(features: Features) -> int:
    lines = N_OPTIONS * (2 if features.at_length else 1)
    return lines // 2 if features.low_effort else lines


@cache
def _reply_tokens(features: Features) -> tuple[float, float]:
    """Mean tokens of a reply that names one option, and of one that names two."""
    words = OPTION_WORDS
    if features.bound:
        tokens = float(np.mean([n_tokens(f'{{"answer": "{word}"}}') for word in words]))
        return tokens, tokens
    typical = float(np.mean([len(word) for word in words]))
    two = len("Hard to tell; it may be , or else .") + 2 * typical
    if not features.thinks:
        one = float(np.mean([n_tokens(f"The answer is {word}.") for word in words]))
        return one, two / 4 + 0.375
    line = typical + 1 + float(np.mean([len(phrase) for phrase in ALOUD])) + 1
    again = max(_n_lines(features) - N_OPTIONS, 0) * len("Again, ")
    aloud = _n_lines(features) * line + again
    one = len("Taken together, the answer is .") + typical
    # A length is as likely to leave any remainder by 4, so rounding up adds 3/8 of a token.
    return (aloud + one) / 4 + 0.375, (aloud + two) / 4 + 0.375


def _longest_tokens(features: Features) -> int:
    """Tokens of the longest reply there can be without rambling."""
    longest = max(map(len, OPTION_WORDS))
    if features.bound:
        return n_tokens('{"answer": ""}' + longest * "x")
    last = len("Hard to tell; it may be , or else .") + 2 * longest
    if not features.thinks:
        return -(-last // 4)
    line = longest + 1 + max(map(len, ALOUD)) + 1
    again = max(_n_lines(features) - N_OPTIONS, 0) * len("Again, ")
    return -(-(_n_lines(features) * line + again + last) // 4)


# --- a trial -----------------------------------------------------------------------------------


def _tally(setup: Setup, trait: Trait, *, skills: tuple[float, ...], shortcut: bool) -> Tally:
    n, bad, tries = setup.samples, trait.malformed, 1 + setup.retries

    def vote(malformed: float, *, calm: float = 0.0) -> tuple[float, float]:
        right, drawn = _vote(skills, shortcut, setup.temperature, n, malformed, calm)
        return right, drawn if setup.stop_when_agreed else float(n)

    if setup.temperature == 0:  # one reply, however often it is asked for
        right, drawn = vote(0.0)
        calls = (1 - bad) * drawn + bad * n * tries
        out = (1 - bad) * drawn * trait.good_tokens + bad * n * tries * trait.bad_tokens
        return Tally((1 - bad) * right, calls, out)
    in_vain = _sampled(trait, vote(bad), calls=1 + bad * (tries - 1), mended=False)
    if tries == 1:
        return in_vain
    mended = _sampled(trait, vote(0.0, calm=bad), calls=1 + bad, mended=True)
    return Tally(
        bad * in_vain.accuracy + (1 - bad) * mended.accuracy,
        bad * in_vain.calls + (1 - bad) * mended.calls,
        bad * in_vain.out_tokens + (1 - bad) * mended.out_tokens,
    )


def _sampled(trait: Trait, voted: tuple[float, float], *, calls: float, mended: bool) -> Tally:
    """A vote of which each sample makes `calls` calls, the last one good where it was mended."""
    right, drawn = voted
    bad = trait.malformed if mended else calls - (1 - trait.malformed)
    return Tally(
        right,
        drawn * calls,
        drawn * (bad * trait.bad_tokens + (calls - bad) * trait.good_tokens),
    )


@cache
def _vote(
    skills: tuple[float, ...],
    shortcut: bool,
    temperature: float,
    n: int,
    malformed: float,
    calm: float,
) -> tuple[float, float]:
    """Chance that the right option wins, and the samples drawn until the vote is settled.

    `calm` is the share of samples that came from a further try at temperature 0.
    """
    draws = _draws(skills, shortcut, temperature)
    steady = _draws(skills, shortcut, 0.0)
    kept, other = 1 - malformed - calm, calm
    right, lure = (kept * draws[i] + other * steady[i] for i in (0, 1))
    stray = kept * draws[2]
    table = _sequences(n)
    total = np.zeros((2, len(right)))
    for (a, b, c, d), (wins, drawn) in table.items():
        chance = right**a * lure**b * stray**c * malformed**d
        total[0] += wins * chance
        total[1] += drawn * chance
    weights = draws[3]
    return float(total[0] @ weights), float(total[1] @ weights)


@cache
def _draws(
    skills: tuple[float, ...],
    shortcut: bool,
    temperature: float,
) -> tuple[Floats, Floats, Floats, Floats]:
    """By task: chance of the right option, the lure, each stray, and the task's weight."""
    levels = (np.arange(N_LEVELS) + 0.5) / N_LEVELS
    gap = np.concatenate(
        [
            level_skill - np.array([difficulty_at(float(level), family) for level in levels])
            for level_skill, family in zip(skills, FAMILIES, strict=True)
        ]
    )
    weight = np.repeat([share for share, _ in FAMILIES.values()], N_LEVELS) / N_LEVELS
    nodes, masses = _normal_grid(N_QUIRKS)
    gap = (gap[:, None] - QUIRK_SD * nodes).ravel()
    weight = (weight[:, None] * masses).ravel()
    right = _normal_cdf(gap / (NOISE_SD * temperature)) if temperature else (gap > 0).astype(float)
    strays = STRAY_RATE * temperature
    lure, stray = (1 - right) * (1 - strays), (1 - right) * strays / (N_OPTIONS - 2)
    if not shortcut:
        return right, lure, stray, weight
    none, all_of = np.zeros_like(right), np.ones_like(right)
    return (
        np.concatenate([right, none]),
        np.concatenate([lure, all_of]),
        np.concatenate([stray, none]),
        np.concatenate([weight * (1 - MISLED_SHARE), weight * MISLED_SHARE]),
    )


@cache
def _normal_grid(n: int) -> tuple[Floats, Floats]:
    """Nodes and masses of a standard normal (Gauss-Hermite)."""
    nodes, masses = np.polynomial.hermite_e.hermegauss(n)
    return nodes, masses / masses.sum()


def _normal_cdf(z: Floats) -> Floats:
    from scipy.special import ndtr

    return np.asarray(ndtr(z), dtype=np.float64)


@cache
def _sequences(n: int) -> dict[tuple[int, int, int, int], tuple[float, float]]:
    """Of all votes of n samples, by how often each kind of draw occurs: wins and samples needed.

    Kinds: right, lure, any one stray, no option. The leader is the most frequent, the first named
    among equals; a vote is settled as soon as no continuation turns its leader.
    """
    sequences = list(product(range(N_OPTIONS + 1), repeat=n))
    futures: dict[tuple[int, ...], set[int | None]] = {}
    for sequence in sequences:
        for k in range(1, n + 1):
            futures.setdefault(sequence[:k], set()).add(_leader(sequence))
    table: dict[tuple[int, int, int, int], tuple[float, float]] = {}
    for sequence in sequences:
        counts = (sequence.count(_RIGHT), sequence.count(_LURE), sequence.count(_NONE))
        key = (counts[0], counts[1], n - sum(counts), counts[2])
        needed = next((k for k in range(1, n) if _settled(futures[sequence[:k]])), n)
        wins, drawn = table.get(key, (0.0, 0.0))
        table[key] = (wins + (_leader(sequence) == _RIGHT), drawn + needed)
    return table


def _leader(sequence: tuple[int, ...]) -> int | None:
    votes = [vote for vote in sequence if vote != _NONE]
    return max(dict.fromkeys(votes), key=votes.count) if votes else None


def _settled(leaders: set[int | None]) -> bool:
    return len(leaders) == 1 and None not in leaders
