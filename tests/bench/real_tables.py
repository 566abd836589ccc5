"""What each channel sees of each pair of variants, held against the truth afterwards; and the verdicts."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from harnesspro.core.calibration import Marks, Pair, ProbeRow, hit_rate, mark, pairs_of, tilt
from harnesspro.core.channels import measure_channel
from harnesspro.core.confirm import Pick, judge
from harnesspro.core.front import estimates, law
from harnesspro.core.records import Estimate, Verdict
from harnesspro.core.stats import agreement_upper
from harnesspro.core.table import Table
from harnesspro.stages.score import table_of
from tests.bench.sheets import REFEREE, Sheet

_WIDE = 27


@dataclass(frozen=True, slots=True)
class Duel:
    """Two variants on the tasks both answered, the one nearer to the initial harness first."""

    base: str
    variant: str
    rows: tuple[ProbeRow, ...]
    pairs: tuple[Pair, ...]
    """Two differing given answers, exactly one of them right."""

    def marks(self, channel: str) -> Marks:
        """How a channel did on the pairs; where it does not speak it is a tie."""
        said = {row.probe_id: row.scores.get(channel, {}) for row in self.rows}
        silent = {
            pair.probe_id: dict.fromkeys((pair.cluster, pair.base_cluster), 0.0)
            for pair in self.pairs
        }
        return mark(self.pairs, {key: said[key] or silent[key] for key in silent})

    def n_right(self) -> tuple[int, int]:
        """Right answers of the first and of the second."""
        first, second = (sum(row.answers[k].right for row in self.rows) for k in (0, 1))
        return first, second

    @property
    def changed(self) -> int:
        """Tasks on which they do not say the same."""
        return sum(row.answers[0].cluster != row.answers[1].cluster for row in self.rows)


def duels(sheet: Sheet) -> Iterator[Duel]:
    """Every pair of variants."""
    for base, variant in combinations(sheet.variants, 2):
        found = (sheet.row(task_id, (base, variant)) for task_id in sheet.tasks)
        rows = tuple(row for row in found if row is not None)
        yield Duel(base, variant, rows, pairs_of(rows, seed=0))


# --- every channel in one table ----------------------------------------------------------------


def print_channels(sheet: Sheet) -> None:
    """A line a channel: on the pairs of each duel its hit rate, its ties, and whom its errors favour."""
    against = list(duels(sheet))
    for name, duel in zip("ABC", against, strict=False):
        base, variant = duel.n_right()
        gains = sum(pair.variant_is_right for pair in duel.pairs)
        say(
            f"{name}  {duel.base} ({base} of {len(duel.rows)} right) against {duel.variant} ({variant}):"
            f" {duel.changed} answers differ, {len(duel.pairs)} pairs with exactly one right, "
            f"{duel.variant}'s on {gains}"
        )
    say(
        "\nhit rate [one-sided 95 % bounds], ties counted half; ties; errors for/against the change"
    )
    head = "".join(
        f"{name} of {len(duel.pairs)}".ljust(_WIDE)
        for name, duel in zip("ABC", against, strict=False)
    )
    say(f"{'':30}{head}".rstrip())
    for channel in sheet.said:
        cells = [_cell(duel.marks(channel)) for duel in against]
        if not all(_is_silent(channel, duel) for duel in against):
            say(f"{channel:30}{''.join(cell.ljust(_WIDE) for cell in cells)}".rstrip())
    quiet = [name for name in sheet.said if all(_is_silent(name, duel) for duel in against)]
    if quiet:
        say(f"silent on every pair: {', '.join(quiet)}")


def _is_silent(channel: str, duel: Duel) -> bool:
    return duel.marks(channel).ties == len(duel.pairs)


def _cell(marks: Marks) -> str:
    rate = hit_rate(marks)
    if rate is None:
        return "-"
    errs = f"{marks.wrong_for_change}/{marks.wrong_against}"
    return f"{_share(rate)} {marks.ties:2} {errs:>5}"


def _share(rate: Estimate) -> str:
    return f"{rate.mean:.2f} [{rate.low:.2f}, {rate.high:.2f}]"


# --- checks and referee, one by one ------------------------------------------------------------


def print_checks(sheet: Sheet) -> None:
    """What was admitted on generated probes, and what that is worth on real answers."""
    say("checks, on generated probes:")
    for check in sheet.checks:
        weight = sheet.referee.weights.get(check.check_id, 0.0)
        state = f"admitted, weighs {weight:.2f}" if check.admitted else "not admitted"
        say(f"  {check.name:25} {state:24} {check.reason}")
    for duel in duels(sheet):
        base, variant = duel.n_right()
        say(
            f"\n{duel.base} ({base} of {len(duel.rows)} right) against {duel.variant} ({variant}): "
            f"{duel.changed} answers differ, {len(duel.pairs)} pairs with exactly one right"
        )
        own = [name for name in sheet.said if name == REFEREE or name.startswith("check ")]
        quiet = [name for name in own if _is_silent(name, duel)]
        for channel in own:
            if channel not in quiet:
                _print_channel(channel, duel)
        if quiet:
            say(f"  silent on every pair: {', '.join(quiet)}")


def _print_channel(channel: str, duel: Duel) -> None:
    marks = duel.marks(channel)
    rate, lean = hit_rate(marks), tilt(marks)
    if rate is None or lean is None:
        return
    measured = measure_channel(channel, "checks", duel.rows, seed=0)
    say(
        f"  {channel:31} hit rate {_share(rate)} of {rate.n}  ties {marks.ties}  errors for/against "
        f"change {marks.wrong_for_change}/{marks.wrong_against}  tilt {lean.mean:+.2f} "
        f"[{lean.low:+.2f}, {lean.high:+.2f}]  "
        f"{'would be heard' if measured.admitted else 'would not be heard'}: {measured.reason}"
    )


# --- verdicts ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Drawn:
    """What a report would say of one variant without gold."""

    verdict: Verdict
    base_score: float
    score: Estimate
    n_right: int
    base_right: int

    @property
    def drawn_as_equal(self) -> bool:
        """Whether the map excludes the loss that is really there."""
        loss = (self.base_right - self.n_right) / self.verdict.n
        return loss > 0 and self.score.low > self.base_score - loss


def verdicts(material: Any, sheet: Sheet, *, eps: float = 0.05) -> Iterator[Drawn]:
    """Each later variant against the initial harness, as confirm and the map see it."""
    table = _table(material, sheet)
    first = sheet.variants[0]
    joint = law(table, first, seed=0, trusted=sheet.referee.trusted)
    for duel in duels(sheet):
        if duel.base == first:
            pick = Pick(candidate_id=duel.variant, claim="cost", why="bench")
            (verdict,) = judge(
                [pick], table, first, eps=eps, referee=sheet.referee, base_disagreement=None
            )
            base_right, right = duel.n_right()
            yield Drawn(
                verdict=verdict,
                base_score=joint.place(first).score,
                score=estimates(joint, duel.variant).score,
                n_right=right,
                base_right=base_right,
            )


def _table(material: Any, sheet: Sheet) -> Table:
    return table_of(
        list(sheet.trials.values()),
        sheet.tasks,
        spec=material.spec,
        referee=sheet.referee,
        owner_results=sheet.results,
        behaviours=sheet.behaviours,
    )


def print_verdicts(material: Any, sheet: Sheet) -> None:
    """What is claimed, how it is drawn, and what was true."""
    say(
        f"\nreferee: {'trusted' if sheet.referee.trusted else 'not trusted'}; {sheet.referee.reason}"
    )
    for drawn in verdicts(material, sheet):
        verdict = drawn.verdict
        bound = agreement_upper(verdict.n_changed, verdict.n)
        lost = drawn.base_right - drawn.n_right
        say(
            f"{verdict.candidate_id} against {sheet.variants[0]}: {verdict.kind}; "
            f"{verdict.n_changed} of {verdict.n} answers changed, accuracy within "
            f"{100 * bound:.1f} points; score {drawn.base_score:.2f} before, {_share(drawn.score)} "
            f"after; truly {abs(lost)} right answers {'lost' if lost > 0 else 'won'}"
        )


def say(text: str) -> None:
    """A line of the table."""
    sys.stdout.write(text + "\n")
