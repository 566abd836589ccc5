"""Twelve variants, sixty tasks, twelve checks a task, and checks that are wrong in known ways.

The world draws answers and what each check says of them; the product measures its channels on probes,
forms its referee and scores the variants; others score the same answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from harnesspro.core import referee as referees
from harnesspro.core.calibration import ProbeAnswer, ProbeRow, calibration_of
from harnesspro.core.records import Check, Referee
from harnesspro.core.sealed import kendall_tau
from harnesspro.core.stats import exact_share
from harnesspro.core.table import Answered
from harnesspro.stages.calibrate import form, merits_of, shares
from tests.sim.rivals import RIVALS
from tests.sim.sheets import Sheet

N_VARIANTS, N_TASKS, N_CHECKS = 12, 60, 12
FAMILIES = ("example", "property", "metamorphic", "must_still_work")
"""Three checks each; the last family is SHADOW."""
N_ADMITTING, N_MONITOR = 60, 240
RIGHT, POPULAR, N_PLAIN = 0, 1, 5
"""Clusters: right, the popular mistake, three other mistakes; then one for each variant of its own."""
N_CLUSTERS = N_PLAIN + N_VARIANTS
GAMED = 0.9
"""Chance that a gamed check passes."""
SHOWS_ON_PROBES = 0.5
"""Probes are easier: a check's misconception shows on them half as often as on tasks."""

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Regime:
    """What is wrong with the checks, or with who answers."""

    name: str
    misled_tasks: float = 0.0
    """Share of tasks on which all checks share the popular mistake."""
    invalid_families: int = 0
    """So many of four families reject what is right and pass the popular mistake, on most tasks."""
    n_gaming: int = 0
    """So many variants write answers that pass the checks they can see."""
    n_clones: int = 0
    """So many variants copy one weak variant."""


REGIMES = (
    Regime("good checks"),
    Regime("shared misconceptions", misled_tasks=0.35),
    Regime("half invalid and shared", invalid_families=2),
    Regime("3 of 12 game the visible checks", n_gaming=3),
    Regime("7 of 12 copy a weak one", n_clones=7),
)


@dataclass(frozen=True, slots=True)
class Sample:
    """Answers (variants x tasks), what the checks say (tasks x checks x clusters), panel votes."""

    answers: Ints
    passes: Floats
    panel: Mapping[str, Ints]


@dataclass(frozen=True, slots=True)
class RankedWorld:
    """One replicate: the tasks, the probes, the true accuracy of each variant."""

    tasks: Sample
    probes: Sample
    truth: Floats


def draw_world(rng: Generator, regime: Regime) -> RankedWorld:
    """One replicate of a regime."""
    skill = rng.permutation(np.linspace(-0.9, 1.1, N_VARIANTS))
    tasks = _sample(rng, regime, skill=skill, n=N_TASKS, fault=1.0, ease=0.0)
    n_probes = N_ADMITTING + N_MONITOR
    probes = _sample(rng, regime, skill=skill, n=n_probes, fault=SHOWS_ON_PROBES, ease=0.3)
    return RankedWorld(
        tasks=tasks, probes=probes, truth=(tasks.answers == RIGHT).mean(axis=1).astype(float)
    )


def _sample(
    rng: Generator, regime: Regime, *, skill: Floats, n: int, fault: float, ease: float
) -> Sample:
    difficulty = 0.9 * rng.standard_normal(n) - ease
    answers = np.stack([_answers(rng, one - difficulty, popular=0.5) for one in skill])
    answers = _clone(rng, answers, n_clones=regime.n_clones, skill=skill)
    answers, gamers = _game(rng, answers, n_gaming=regime.n_gaming, skill=skill)
    panel = {
        "panel:other": _answers(rng, 0.3 - difficulty, popular=0.3),
        "panel:unrelated": _answers(rng, 0.1 - difficulty, popular=0.5),
    }
    return Sample(answers, _passes(rng, regime, gamers, n=n, fault=fault), panel)


def _answers(rng: Generator, lead: Floats, *, popular: float) -> Ints:
    """Right with chance 1 / (1 + exp(-1.5 lead)); a mistake is the popular one with this chance."""
    right = rng.random(lead.size) < 1 / (1 + np.exp(-1.5 * lead))
    other = rng.integers(2, N_PLAIN, size=lead.size)
    wrong = np.where(rng.random(lead.size) < popular, POPULAR, other)
    return np.where(right, RIGHT, wrong)


def _clone(rng: Generator, answers: Ints, *, n_clones: int, skill: Floats) -> Ints:
    """The weakest variants give the answers of one weak one on 95 % of the tasks."""
    weakest = np.argsort(skill)[:n_clones]
    copied = answers.copy()
    for variant in weakest[1:]:
        same = rng.random(answers.shape[1]) < 0.95
        copied[variant] = np.where(same, answers[weakest[0]], answers[variant])
    return copied


def _game(rng: Generator, answers: Ints, *, n_gaming: int, skill: Floats) -> tuple[Ints, list[int]]:
    """Weak variants answer half the tasks with something of their own that is wrong."""
    gamers = [int(key) for key in np.argsort(skill)[:n_gaming]]
    changed = answers.copy()
    for variant in gamers:
        own = rng.random(answers.shape[1]) < 0.7
        changed[variant] = np.where(own, N_PLAIN + variant, answers[variant])
    return changed, gamers


def _passes(rng: Generator, regime: Regime, gamers: list[int], *, n: int, fault: float) -> Floats:
    """A sound check passes what is right in 95 of 100, what is wrong in 35 of 100 cases."""
    chance = np.full((n, N_CHECKS, N_CLUSTERS), 0.35)
    chance[:, :, RIGHT] = 0.95
    misled = rng.random(n) < regime.misled_tasks * fault
    chance[misled, :, RIGHT], chance[misled, :, POPULAR] = 0.4, 0.9
    invalid = np.arange(N_CHECKS) < 3 * regime.invalid_families
    struck = (rng.random(n) < 0.8 * fault)[:, None] & invalid[None, :]
    chance[struck, RIGHT], chance[struck, POPULAR] = 0.25, 0.9
    for variant in gamers:
        chance[:, : 3 * (len(FAMILIES) - 1), N_PLAIN + variant] = GAMED
    return (rng.random(chance.shape) < chance).astype(float)


# --- the product's scorer ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ranked:
    """A score a variant, and whether the product believes its own referee."""

    scores: Floats
    referee: Referee


def ours(world: RankedWorld, panel: tuple[str, ...], *, seed: int) -> Ranked:
    """Channels measured on probes, a referee of those admitted, its merits of all answers."""
    rng = np.random.default_rng(seed)
    variants = (0, *(int(v) for v in rng.permutation(np.arange(1, N_VARIANTS))[:3]))
    opening = referees.freeze(checks_of(world.probes, variants))
    rows = _rows(world.probes, variants, opening, panel)
    passed = _passed(world.probes, "p")
    votes = {name: _named(world.probes.panel[name], "p") for name in panel}
    formed = form(rows[:N_ADMITTING], opening, asked=panel, seed=seed)
    marks = calibration_of(
        rows,
        merits_of(rows[N_ADMITTING:], formed, passed=passed, votes=votes),
        admitting=N_ADMITTING,
        seed=seed,
        reason="measured",
    )
    referee = referees.freeze(
        formed.checks, formed.panel, channels=formed.channels, calibration=marks
    )
    return Ranked(scores=score(world.tasks, referee), referee=referee)


def score(sample: Sample, referee: Referee) -> Floats:
    """Mean merit of each variant's answers."""
    answers = {
        str(v): {f"t{t}": Answered(f"c{c}", 1.0, 1.0) for t, c in enumerate(row)}
        for v, row in enumerate(sample.answers)
    }
    cast = {name: _named(sample.panel[name], "t") for name in referee.panel}
    voted = {f"t{t}": shares(referee.panel, cast, f"t{t}") for t in range(sample.answers.shape[1])}
    merits = referees.judge_answers(
        referee,
        answers,
        _passed(sample, "t"),
        votes={task: votes for task, votes in voted.items() if votes is not None},
    )
    per_variant = [
        [merits[task][found.cluster] for task, found in answers[str(v)].items()]
        for v in range(len(sample.answers))
    ]
    means: Floats = np.array(per_variant, dtype=np.float64).mean(axis=1)
    return means


def checks_of(sample: Sample, variants: tuple[int, ...]) -> list[Check]:
    """The twelve checks, measured on the first probes: how often each rejects the right answer."""
    found = []
    for k in range(N_CHECKS):
        family = FAMILIES[k // 3]
        right = sample.passes[:N_ADMITTING, k, RIGHT]
        wrong = sample.passes[:N_ADMITTING, k, 2:N_PLAIN]
        found.append(
            Check(
                check_id=f"k{k}",
                family=family,
                name=f"k{k}",
                writer="program",
                channel="SHADOW" if family == FAMILIES[-1] else "SEEN",
                false_reject_rate=exact_share(int((right == 0).sum()), len(right)),
                kill_rate=float((wrong == 0).mean()),
                admitted=True,
            )
        )
    return found


def _passed(sample: Sample, prefix: str) -> dict[tuple[str, str], dict[str, float]]:
    return {
        (f"{prefix}{t}", f"c{c}"): {f"k{k}": float(of[k, c]) for k in range(N_CHECKS)}
        for t, of in enumerate(sample.passes)
        for c in np.unique(sample.answers[:, t])
    }


def _named(clusters: Ints, prefix: str) -> dict[str, str]:
    return {f"{prefix}{t}": f"c{c}" for t, c in enumerate(clusters)}


def _rows(
    sample: Sample, variants: tuple[int, ...], opening: Referee, panel: tuple[str, ...]
) -> list[ProbeRow]:
    rows = []
    for t in range(sample.answers.shape[1]):
        found = [int(sample.answers[v, t]) for v in variants]
        words = {
            "checks": {
                f"c{c}": referees.merit(
                    opening, {f"k{k}": float(sample.passes[t, k, c]) for k in range(N_CHECKS)}
                )
                for c in set(found)
            }
        }
        for name in panel:
            words[name] = {f"c{c}": float(c == sample.panel[name][t]) for c in set(found)}
        answers = tuple(
            ProbeAnswer(str(v), f"c{c}", c == RIGHT, True, 10, 1.0, 1.0)
            for v, c in zip(variants, found, strict=True)
        )
        rows.append(ProbeRow(probe_id=f"p{t}", answers=answers, scores=words))
    return rows


# --- against the truth -------------------------------------------------------------------------


def tau(scores: Floats, truth: Floats) -> float:
    """Kendall's tau to the true order; 0 where a scorer says nothing."""
    found = kendall_tau([float(x) for x in scores], [float(x) for x in truth])
    return 0.0 if found is None else found


def regret(scores: Floats, truth: Floats) -> float:
    """Accuracy lost by taking the variant with the highest score."""
    return float(truth.max() - truth[int(np.argmax(scores))])


PANELS: dict[str, tuple[str, ...]] = {
    "ours, checks": (),
    "ours, + a model": ("panel:other",),
    "ours, + a model, an unrelated harness": ("panel:other", "panel:unrelated"),
}


SHOWN = "ours, + a model"
"""The panel whose trust decides in which worlds an order is claimed."""


@dataclass(frozen=True, slots=True)
class Placed:
    """How one scorer did in one replicate."""

    tau: float
    regret: float
    believed: bool
    """Ours: whether the referee is trusted. Others always believe themselves."""


@cache
def replicates(regime: Regime, *, n_runs: int) -> dict[str, list[Placed]]:
    """Every scorer on the same worlds."""
    found: dict[str, list[Placed]] = {}
    for run in range(n_runs):
        world = draw_world(np.random.default_rng([11, run]), regime)
        for name, rival in RIVALS.items():
            scores = rival(world.tasks.answers, world.tasks.passes)
            found.setdefault(name, []).append(_placed(scores, world.truth, believed=True))
        for name, panel in PANELS.items():
            ranked = ours(world, panel, seed=run)
            believed = ranked.referee.trusted
            found.setdefault(name, []).append(
                _placed(ranked.scores, world.truth, believed=believed)
            )
    return found


def _placed(scores: Floats, truth: Floats, *, believed: bool) -> Placed:
    return Placed(tau(scores, truth), regret(scores, truth), believed)


def mean_tau(placed: Sequence[Placed], kept: Sequence[bool]) -> float | None:
    """Mean tau over the replicates kept; None where none is."""
    taus = [one.tau for one, keep in zip(placed, kept, strict=True) if keep]
    return float(np.mean(taus)) if taus else None


def ranking_sheet(n_runs: int) -> Sheet:
    """Kendall's tau / accuracy lost by the first, for each scorer in each regime, on all worlds."""
    by_regime = [replicates(regime, n_runs=n_runs) for regime in REGIMES]
    everywhere = [[True] * n_runs for _ in by_regime]
    return _sheet(
        "Ranking without gold: every replicate",
        "12 variants, 60 tasks, 12 checks a task in four families (one SHADOW); Kendall's tau to the true "
        "order / accuracy lost by taking the first, over all replicates, whether the product would believe "
        "its own referee or not: where it would not, it claims no order, and what stands here is what it "
        "keeps to itself. Families are weighed by what they reject on 60 probes, channels admitted on them, "
        "the referee marked on 240 more, answered by four of the variants. A sound check passes right "
        "answers with .95, wrong ones with .35. Shared misconceptions: on 35 % of tasks every check prefers "
        "the popular mistake. Half invalid: two families do on 80 % of tasks. On probes these faults show "
        "half as often. Panel: a model right on about 60 %, half as often in the popular mistake, and an "
        f"unrelated harness right on about 55 %. {n_runs} replicates, seeds [11, k] (the formula was chosen on others); standard error of a "
        f"mean tau about {0.15 / n_runs**0.5:.2f}.",
        by_regime,
        everywhere,
    )


def trusted_sheet(n_runs: int) -> Sheet:
    """The same on the worlds where the product believes its referee, everyone on these alone."""
    by_regime = [replicates(regime, n_runs=n_runs) for regime in REGIMES]
    kept = [[one.believed for one in found[SHOWN]] for found in by_regime]
    flagged = ", ".join(
        f"{regime.name} {n_runs - sum(keep)}" for regime, keep in zip(REGIMES, kept, strict=True)
    )
    return _sheet(
        "Ranking without gold: where an order is claimed",
        f"As above, all scorers on the replicates in which the referee of `{SHOWN}` is trusted, the only "
        f"ones in which a user is shown an order. Flagged of {n_runs}: {flagged}.",
        by_regime,
        kept,
    )


def _sheet(
    title: str,
    about: str,
    by_regime: Sequence[Mapping[str, Sequence[Placed]]],
    kept: Sequence[Sequence[bool]],
) -> Sheet:
    rows = []
    for name in (*RIVALS, *PANELS):
        pairs = [(found[name], keep) for found, keep in zip(by_regime, kept, strict=True)]
        taus = [tau_ for placed, keep in pairs if (tau_ := mean_tau(placed, keep)) is not None]
        worst = f"{min(taus):.2f}" if taus else "–"
        rows.append((name, *(_cell(placed, keep) for placed, keep in pairs), worst))
    return Sheet(title, about, ("", *(regime.name for regime in REGIMES), "worst tau"), tuple(rows))


def _cell(placed: Sequence[Placed], kept: Sequence[bool]) -> str:
    found = mean_tau(placed, kept)
    if found is None:
        return "–"
    lost = [one.regret for one, keep in zip(placed, kept, strict=True) if keep]
    return f"{found:.2f} / {float(np.mean(lost)):.2f}"
