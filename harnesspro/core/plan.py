"""How many trials a run will take, known before the first one."""

from __future__ import annotations

from dataclasses import dataclass

from harnesspro.core.power import referee_route_possible

LEAST_PROBES, PROBES_A_TASK = 240, 4
"""At most four probes for each confirm task, and 240 where there are few."""
MOST_ON_PROBES = 4
"""Candidates that answer probes beside the initial harness."""
N_IMPOSSIBLE = 12
"""Tasks that cannot be done, put to all that answer probes."""
N_MONITOR, LEAST_WATCHED_ROUNDS = 16, 3
"""Probes a round's incumbent answers; a score that rises for two rounds takes three to be seen."""


def most_probes(asked: int | None, *, n_confirm: int, eps: float, can_judge: bool) -> int:
    """How many probes the referee may be measured on.

    As many as were asked for; else none where the confirm tasks are too few for its word to decide
    at the margin `eps`, or nothing is there that could be heard.
    """
    if asked is not None:
        return asked
    if not can_judge or not referee_route_possible(n_confirm, eps):
        return 0
    return max(LEAST_PROBES, PROBES_A_TASK * n_confirm)


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
    n_sealed: int = 0
    n_probes: int = 0
    with_controls: bool = False

    @property
    def baseline_trials(self) -> int:
        """The initial harness on the search tasks, and once more on the first block."""
        again = min(self.first_block, self.n_search) if self.n_repeats == 1 else 0
        return self.n_search * self.n_repeats + again

    @property
    def confirm_trials(self) -> int:
        """The initial harness and the picks on the tasks behind the search, and the controls, at most."""
        once_more = 2 * self.n_confirm if self.with_controls else 0
        return (self.n_confirm + self.n_sealed) * (1 + self.max_picks) + once_more

    @property
    def probe_trials(self) -> int:
        """The initial harness and the candidates held against it on probes, at most."""
        tempted = N_IMPOSSIBLE if self.n_probes else 0
        return (self.n_probes + tempted) * (1 + min(self.max_candidates, MOST_ON_PROBES))

    @property
    def monitor_trials(self) -> int:
        """The incumbents of the rounds on monitor probes, at most."""
        return N_MONITOR * self.n_rounds if self.n_rounds >= LEAST_WATCHED_ROUNDS else 0

    @property
    def low(self) -> int:
        """Fewest trials of a full run."""
        block = min(self.first_block, self.n_search)
        return self.baseline_trials + self.max_candidates * block * self.n_repeats + self.n_confirm

    @property
    def expected(self) -> int:
        """Half the candidates leave after their first block, the others are measured whole, as are all
        picks; of probes, where there are any, half are needed.
        """
        block = min(self.first_block, self.n_search)
        raced = self.max_candidates * (block + self.n_search) // 2 * self.n_repeats
        raced *= 1 + self.with_controls
        probes = self.probe_trials // 2
        return self.baseline_trials + raced + self.confirm_trials + probes + self.monitor_trials

    @property
    def high(self) -> int:
        """Most trials of a full run."""
        raced = self.max_candidates * self.n_search * self.n_repeats
        raced *= 1 + self.with_controls  # as much again on settings drawn by chance
        watched = self.probe_trials + self.monitor_trials
        return self.baseline_trials + raced + self.confirm_trials + watched
