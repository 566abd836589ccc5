"""The red-team table from a run of the suite: `python -m tests.redteam.table [PYTEST ARGUMENTS]`.

Prints Markdown; leaves with 1 where a claimed case failed or did not run.
"""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.redteam.cases import CASES, Case, case_of

HEAD = "| # | attack | fails at | tests | result |\n|---|---|---|---|---|"


class Results:
    """A pytest plugin that keeps what became of every case's tests."""

    def __init__(self) -> None:
        self.outcomes: dict[int, list[str]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """One outcome a test: its call's, or its set-up's where that did not pass."""
        number = case_of(report.nodeid.rpartition("::")[2])
        if number is not None and (report.when == "call" or report.outcome != "passed"):
            self.outcomes.setdefault(number, []).append(report.outcome)


def row(case: Case, outcomes: Sequence[str]) -> str:
    """One line of the table."""
    if case.not_claimed:
        return f"| {case.number} | {case.attack} | - | - | not claimed: {case.not_claimed} |"
    result = result_of(outcomes) + (f" ({case.only})" if case.only else "")
    return f"| {case.number} | {case.attack} | {case.level} | {len(outcomes)} | {result} |"


def result_of(outcomes: Sequence[str]) -> str:
    """`held` where every test of the case ran and passed."""
    if not outcomes:
        return "NOT RUN"
    return "held" if set(outcomes) == {"passed"} else "FAILED"


def table(outcomes: Mapping[int, Sequence[str]]) -> str:
    """The whole table, and a line that counts."""
    claimed = [case for case in CASES if not case.not_claimed]
    held = sum(result_of(outcomes.get(case.number, ())) == "held" for case in claimed)
    lines = [row(case, outcomes.get(case.number, ())) for case in CASES]
    return "\n".join([HEAD, *lines, "", f"{held} of {len(claimed)} claimed cases held."])


def main(arguments: Sequence[str]) -> int:
    """Run the suite and print the table; pytest's own words go to standard error."""
    results, said = Results(), io.StringIO()
    with contextlib.redirect_stdout(said):
        code = pytest.main(["-q", str(Path(__file__).parent), *arguments], plugins=[results])
    sys.stderr.write(said.getvalue())
    sys.stdout.write(table(results.outcomes) + "\n")
    claimed = [case.number for case in CASES if not case.not_claimed]
    return int(code != 0 or any(result_of(results.outcomes.get(n, ())) != "held" for n in claimed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
