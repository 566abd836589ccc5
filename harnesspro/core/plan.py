"""How many trials a run will take, known before the first one."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Plan:
    """Trial counts. `low`: every candidate is dropped after its first block; `high`: none is."""

    n_search: int
    n_confirm: int
    n_rounds: int
    max_candidates: int
    max_picks: int
    first_block: int
    n_repeats: int

    @property
    def baseline_trials(self) -> int:
        """The initial harness on the search tasks, and once more on the first block."""
        again = min(self.first_block, self.n_search) if self.n_repeats == 1 else 0
        return self.n_search * self.n_repeats + again

    @property
    def confirm_trials(self) -> int:
        """The initial harness and the picks on the confirm tasks, at most."""
        return self.n_confirm * (1 + self.max_picks)

    @property
    def low(self) -> int:
        """Fewest trials of a full run."""
        block = min(self.first_block, self.n_search)
        return self.baseline_trials + self.max_candidates * block * self.n_repeats + self.n_confirm

    @property
    def high(self) -> int:
        """Most trials of a full run."""
        raced = self.max_candidates * self.n_search * self.n_repeats
        return self.baseline_trials + raced + self.confirm_trials
