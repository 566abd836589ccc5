"""What the judge's errors, its power and its ranking are, in toy worlds with known truth: all tables.

`python -m tests.bench.judge_tables [--full] [--write] [--only NAME]`: minutes as it is, some half an
hour with `--full`, which is what the tables kept under tests/sim/tables were made with.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.sim.coverage import coverage_sheet, trust_sheet
from tests.sim.not_worse import leaning_sheet
from tests.sim.operating import (
    adverse_sheet,
    agreement_sheet,
    consistent_sheet,
    families_sheet,
    power_sheet,
    type_one_sheet,
)
from tests.sim.ranking import ranking_sheet, trusted_sheet
from tests.sim.sheets import Sheet
from tests.sim.told import told_sheet
from tests.sim.whole import whole_sheet

TABLES = Path(__file__).resolve().parents[1] / "sim" / "tables"

PAGES: dict[str, tuple[Callable[[bool], Sheet], ...]] = {
    "operating_characteristics": (
        lambda full: agreement_sheet(),
        lambda full: power_sheet(4000 if full else 1000),
        lambda full: adverse_sheet(4000 if full else 1000),
        lambda full: consistent_sheet(400 if full else 300),
    ),
    "gates_and_intervals": (
        lambda full: type_one_sheet(4000 if full else 1000),
        lambda full: leaning_sheet(4000 if full else 1000),
        lambda full: families_sheet(300 if full else 60),
        lambda full: coverage_sheet(600 if full else 200),
        lambda full: trust_sheet(1000 if full else 200),
    ),
    "whole_runs": (lambda full: whole_sheet(250 if full else 10),),
    "ranking": (
        lambda full: ranking_sheet(120 if full else 8),
        lambda full: trusted_sheet(120 if full else 8),
    ),
    "what_you_are_told": (lambda full: told_sheet(),),
}


def page(name: str, *, full: bool) -> str:
    """All tables of one page."""
    sheets = [make(full).markdown() for make in PAGES[name]]
    how = f"`python -m tests.bench.judge_tables{' --full' if full else ''} --write --only {name}`"
    title = name.replace("_", " ").capitalize()
    return "\n".join([f"# {title}\n", f"Made by {how}.\n", *sheets])


def main() -> None:
    """Print the pages; keep them with `--write`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="as many runs as the kept tables")
    parser.add_argument("--write", action="store_true", help="keep them under tests/sim/tables")
    parser.add_argument("--only", choices=tuple(PAGES), help="one page")
    chosen = parser.parse_args()
    for name in [chosen.only] if chosen.only else PAGES:
        text = page(name, full=chosen.full)
        sys.stdout.write(text + "\n")
        if chosen.write:
            (TABLES / f"{name}.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
