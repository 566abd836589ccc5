"""What earlier runs kept in the same place have already confirmed on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from harnesspro.core.errors import HarnessProError
from harnesspro.core.records import Task
from harnesspro.store.ledger import LedgerReader
from harnesspro.store.runs import run_ids


def confirmed_before(out: Path, tasks: Iterable[Task]) -> dict[str, int]:
    """Content key -> how many earlier runs in `out` wrote verdicts with this task, if any did.

    A run whose ledger cannot be read is passed over: another run's trouble is not this one's.
    """
    wanted = {task.content_key for task in tasks}
    times: Counter[str] = Counter()
    for run_id in run_ids(out):
        times.update(wanted.intersection(_confirmed_in(out / "runs" / run_id)))
    return dict(sorted(times.items()))


def _confirmed_in(run_dir: Path) -> list[str]:
    try:
        with LedgerReader(run_dir) as ledger:
            split = ledger.get("split", "tasks")
            judged = ledger.get("verdicts", "final")
    except HarnessProError:
        return []
    return [str(key) for key in split["confirm"]] if split and judged else []
