"""Other ways to search the planted harness, each shown the right answers of its tasks: chance over the
dials, NSGA-II over dials and texts, and GEPA over the texts.

They read what a run never sees, so a tie with them is a win.
"""

from __future__ import annotations

import math
import random
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import islice
from typing import Any

from harnesspro.core.records import Harness, ReplaceFile, Task
from harnesspro.formats.native import apply_patch
from harnesspro.operators.add_format_reminder import LINES as FORM_LINES
from harnesspro.operators.answer_only import LINES as ANSWER_LINES
from harnesspro.proposers.random_settings import random_settings
from harnesspro.providers.sim_tasks import draw_tasks
from tests.unit.providers.planted_world import changed_by, trajectory

SYSTEM, FORMAT = "prompts/system.md", "prompts/format.md"


@dataclass(frozen=True, slots=True)
class Measured:
    """A configuration on the search tasks, by right answers, and what had been spent by then."""

    harness: Harness
    accuracy: float
    cost_usd: float
    n_trials: int
    """Trials so far, these included."""
    spent_usd: float


class Marker:
    """Runs a configuration on tasks and marks it with their right answers; counts what that takes."""

    def __init__(self, *, seed: int, n: int, model: str = "sim/small") -> None:
        records = draw_tasks(seed, n)
        self.model, self.n_trials, self.spent_usd = model, 0, 0.0
        self.gold = {f"s{seed}-{index}": record["gold"] for index, record in enumerate(records)}
        self.tasks = [
            Task(task_id=f"s{seed}-{index}", family=record["family"], input=record["input"])
            for index, record in enumerate(records)
        ]

    def mark(
        self, harness: Harness, tasks: Sequence[Task] | None = None
    ) -> list[tuple[bool, float]]:
        """For each task whether it was right, and its dollars."""
        marks = []
        for task in self.tasks if tasks is None else tasks:
            trial = trajectory(harness, task, model=self.model).trial
            marks.append((trial.answer == self.gold[task.task_id], trial.cost_usd))
        self.n_trials += len(marks)
        self.spent_usd += sum(usd for _, usd in marks)
        return marks

    def measure(self, harness: Harness) -> Measured:
        """The configuration on all tasks."""
        marks = self.mark(harness)
        n = len(marks)
        return Measured(
            harness,
            sum(right for right, _ in marks) / n,
            sum(usd for _, usd in marks) / n,
            self.n_trials,
            self.spent_usd,
        )


Search = Callable[[Harness, Marker, int, int], Iterator[Measured]]
"""(the harness as it came, the marker, most trials, seed) -> what was measured, in order."""


def by_chance(base: Harness, marker: Marker, most: int, seed: int) -> Iterator[Measured]:
    """Dials drawn evenly, one setting after another."""
    yield marker.measure(base)
    for patch in random_settings(base, seed=seed):
        if marker.n_trials >= most:
            return
        yield marker.measure(apply_patch(base, patch))


# --- NSGA-II -----------------------------------------------------------------------------------


def nsga2(base: Harness, marker: Marker, most: int, seed: int) -> Iterator[Measured]:
    """Optuna's NSGA-II (12 a generation) over every dial, every paragraph and the two added lines."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = optuna.samplers.NSGAIISampler(population_size=12, seed=seed)
    study = optuna.create_study(directions=["maximize", "minimize"], sampler=sampler)
    yield marker.measure(base)
    while marker.n_trials < most:
        trial = study.ask()
        found = marker.measure(_suggested(base, trial))
        study.tell(trial, [found.accuracy, math.log(found.cost_usd)])
        yield found


def _suggested(base: Harness, trial: Any) -> Harness:
    knobs: dict[str, Any] = {}
    for name, knob in base.manifest.knobs.items():
        if knob.choices is not None:
            knobs[name] = trial.suggest_categorical(name, list(knob.choices))
        elif knob.int_range is not None:
            knobs[name] = trial.suggest_int(name, *knob.int_range)
        else:
            assert knob.float_range is not None
            knobs[name] = trial.suggest_float(name, *knob.float_range)
    paragraphs = _paragraphs(base.files[SYSTEM])
    kept = [
        p for i, p in enumerate(paragraphs) if trial.suggest_categorical(f"keep {i}", [True, False])
    ]
    added = [line for line in ADDED if trial.suggest_categorical(line, [False, True])]
    return _with(base, knobs=knobs, texts={SYSTEM: "\n\n".join([*kept, *added])})


ADDED = (FORM_LINES["choice"], ANSWER_LINES["choice"])


def _paragraphs(text: str) -> list[str]:
    return text.strip().split("\n\n")


def _with(base: Harness, *, knobs: dict[str, Any] | None = None, texts: dict[str, str]) -> Harness:
    moved = {k: v for k, v in (knobs or {}).items() if v != base.knob_values[k]}
    edits = tuple(
        ReplaceFile(path=path, text=text.strip() + "\n")
        for path, text in texts.items()
        if text.strip() + "\n" != base.files[path]
    )
    return changed_by(base, knobs=moved, edits=edits) if moved or edits else base


# --- GEPA --------------------------------------------------------------------------------------


def gepa(base: Harness, marker: Marker, most: int, seed: int) -> Iterator[Measured]:
    """GEPA 0.1.4 over the two texts, its reflecting model a writer by chance who knows what helps here:
    it drops a paragraph or adds one of the two lines that our own operators add.
    """
    package = _gepa("gepa")
    seen: list[Measured] = []
    adapter = _Adapter(base, marker, seen)
    seen.append(marker.measure(base))
    package.optimize(
        seed_candidate={"system": base.files[SYSTEM], "format": base.files[FORMAT]},
        trainset=marker.tasks,
        valset=marker.tasks,
        adapter=adapter,
        reflection_lm=_Writer(seed),
        max_metric_calls=most - len(marker.tasks),
        logger=_Silent(),
        seed=seed,
        skip_perfect_score=False,
    )
    yield from seen


def _gepa(module: str) -> Any:
    """A module of GEPA, which is no dependency of ours."""
    try:
        return import_module(module)
    except ImportError:
        sys.exit(
            "gepa is not installed; pip install gepa==0.1.4, or leave it out with --without gepa"
        )


class _Silent:
    def log(self, message: str) -> None:
        """GEPA's own words go nowhere."""


class _Writer:
    """Plays the reflecting model: one change by chance to the text in the first fence."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)

    def __call__(self, prompt: object) -> str:
        found = re.search(r"```\n(.*?)\n```", str(prompt), re.DOTALL)
        paragraphs = _paragraphs(found[1] if found else "")
        moves = [*range(len(paragraphs)), *(line for line in ADDED if line not in paragraphs)]
        move = self._chance.choice(moves)
        if isinstance(move, int):
            del paragraphs[move]
        else:
            paragraphs.append(move)
        return "```\n" + "\n\n".join(paragraphs or ["Answer."]) + "\n```"


class _Adapter:
    """GEPA's view of the harness."""

    propose_new_texts = None

    def __init__(self, base: Harness, marker: Marker, seen: list[Measured]) -> None:
        self._base, self._marker, self._seen = base, marker, seen

    def evaluate(
        self, batch: list[Task], candidate: dict[str, str], capture_traces: bool = False
    ) -> Any:
        texts = {SYSTEM: candidate["system"], FORMAT: candidate["format"]}
        harness = _with(self._base, texts=texts)
        marks = self._marker.mark(harness, batch)
        scores = [float(right) for right, _ in marks]
        if len(batch) == len(self._marker.tasks):
            usd = sum(usd for _, usd in marks) / len(marks)
            mean, marker = sum(scores) / len(scores), self._marker
            self._seen.append(Measured(harness, mean, usd, marker.n_trials, marker.spent_usd))
        evaluation = _gepa("gepa.core.adapter").EvaluationBatch
        return evaluation(outputs=marks, scores=scores, trajectories=marks)

    def make_reflective_dataset(
        self, candidate: dict[str, str], batch: Any, names: list[str]
    ) -> dict[str, list[dict[str, Any]]]:
        rows = [
            {"Feedback": "right" if right else "wrong", "Dollars": usd}
            for right, usd in islice(batch.trajectories, 3)
        ]
        return dict.fromkeys(names, rows)


RIVALS: dict[str, Search] = {"random dials": by_chance, "NSGA-II": nsga2, "gepa": gepa}


def observed_front(found: Sequence[Measured]) -> list[Harness]:
    """Those that none beats on accuracy and cost as measured."""

    def beaten(one: Measured) -> bool:
        return any(
            other.accuracy >= one.accuracy
            and other.cost_usd <= one.cost_usd
            and (other.accuracy, -other.cost_usd) != (one.accuracy, -one.cost_usd)
            for other in found
        )

    return [one.harness for one in found if not beaten(one)]
