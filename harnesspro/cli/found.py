"""A run looked up for reading: its candidates by id, prefix or name, their files, their trials."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from harnesspro.config import out_folder
from harnesspro.core.documents import Picks, RunDocument
from harnesspro.core.errors import ConfigError, UsageError
from harnesspro.core.records import Candidate, Trajectory, Trial
from harnesspro.core.report import lineage
from harnesspro.store.ledger import LedgerReader
from harnesspro.store.runs import find_run, read_document
from harnesspro.store.trees import GitTrees

BASELINE = "baseline"
PICKS = ("knee", "cheapest_safe", "best")
_N_SHOWN = 8


@dataclass(frozen=True, slots=True)
class FoundRun:
    """A run folder with its ledger open for reading."""

    run_dir: Path
    ledger: LedgerReader
    candidates: Mapping[str, Candidate]
    """In the order they were made; the initial harness first."""

    @property
    def run_id(self) -> str:
        """The folder's name."""
        return self.run_dir.name

    def document(self) -> RunDocument:
        """The run's report.

        Raises:
            ConfigError: the run has written none yet.
        """
        return read_document(self.run_dir)

    def candidate(self, name: str) -> Candidate:
        """The candidate `name` stands for: an id, a unique prefix of one (with or without `h-`),
        `baseline`, or a named point of the front.

        Raises:
            UsageError: there is none, or several.
        """
        if name == BASELINE:
            return next(iter(self.candidates.values()))
        pick = name.replace("-", "_")
        if pick in PICKS:
            return self._picked(pick)
        wanted = name if name.startswith("h-") else f"h-{name}"
        matches = [each for each in self.candidates if each.startswith(wanted)]
        if name and len(matches) == 1:
            return self.candidates[matches[0]]
        if name and matches:
            raise UsageError(name, f"begins {len(matches)} candidates", expected=_some(matches))
        raise UsageError(
            name or "CANDIDATE",
            f"no such candidate in run {self.run_id}",
            expected=f"{BASELINE}, {', '.join(PICKS)}, or one of {_some(list(self.candidates))}",
        )

    def _picked(self, pick: str) -> Candidate:
        picks: Picks = self.document().picks
        candidate_id = getattr(picks, pick)
        if candidate_id not in self.candidates:
            raise UsageError(pick, f"no such point on the front of run {self.run_id}")
        return self.candidates[candidate_id]

    def files(self, candidate: Candidate) -> dict[str, str]:
        """The candidate's harness folder."""
        return GitTrees(self.run_dir).files(candidate.candidate_id)

    def trajectories(self, candidate: Candidate, task: str) -> tuple[Trajectory, ...]:
        """Every trial of the candidate on the one task that `task` names, by draw.

        Raises:
            UsageError: it has run no such task, or the prefix fits several.
        """
        values = (Trial.model_validate(value) for _, value in self.ledger.all("trial"))
        trials = [trial for trial in values if trial.harness_id == candidate.candidate_id]
        ids = sorted({trial.task_id for trial in trials})
        exact = [each for each in ids if each == task]
        prefixed = [each for each in ids if each.startswith((task, f"task-{task}"))]
        matches = exact or (prefixed if task else [])
        if len(matches) > 1:
            raise UsageError(task, f"begins {len(matches)} tasks", expected=_some(matches))
        if not matches:
            raise UsageError(
                task or "TASK",
                f"no trial of {candidate.candidate_id} on such a task",
                expected=f"one of {_some(ids)}" if ids else "a candidate that was run",
            )
        chosen = sorted((t for t in trials if t.task_id == matches[0]), key=lambda t: t.draw)
        return tuple(Trajectory(trial=t, steps=self.ledger.steps(t.trial_id)) for t in chosen)

    def lineage(self, candidate: Candidate) -> tuple[Candidate, ...]:
        """From the first change to this one; the initial harness left out."""
        return lineage(self.candidates, candidate.candidate_id)

    def harness_name(self) -> str:
        """The manifest's name, from the run's header."""
        try:
            header = json.loads((self.run_dir / "run.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return "harness"
        return str(header.get("harness_name", "harness")) if isinstance(header, dict) else "harness"


@contextmanager
def found_run(ref: str, *, out: str | None) -> Iterator[FoundRun]:
    """The run that `ref` names, open while the block lasts.

    Raises:
        UsageError: no such run.
        ConfigError: it has no ledger, or no harness on record yet.
    """
    run_dir = find_run(out_folder(out), ref).resolve()
    ledger = LedgerReader(run_dir)
    try:
        made = (Candidate.model_validate(value) for _, value in ledger.all("candidate"))
        candidates = {candidate.candidate_id: candidate for candidate in made}
        if not candidates:
            raise ConfigError(str(run_dir), "no harness on record yet", fix="wait a moment")
        yield FoundRun(run_dir, ledger, candidates)
    finally:
        ledger.close()


def _some(names: list[str]) -> str:
    shown = ", ".join(names[:_N_SHOWN])
    return shown if len(names) <= _N_SHOWN else f"{shown}, ..."
