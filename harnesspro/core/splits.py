"""Which tasks a search may see, which are kept for the one confirmation, and which for the seal.

The place of a task depends on the split key and its public content alone: neither the order of the
file, nor fresh task ids, nor a second run moves it.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from harnesspro.core.hashing import canonical_json
from harnesspro.core.records import Task

FEWEST_SEARCH, MOST_SEARCH = 20, 100
SEALED_ABOVE, SEALED_ONE_IN = 200, 5
"""Where gold exists and there are more tasks than this, one in five is kept for the seal alone."""
_SPACE = re.compile(r"(\s|\\[nrt])+")
_DIGITS = re.compile(r"\d+")
_TEMPLATE_SHARE = 10
"""More than one task in ten alike but for digits is a template, not a duplicate."""


@dataclass(frozen=True, slots=True)
class Split:
    """Disjoint sets of tasks, each in its keyed order."""

    search: tuple[Task, ...]
    confirm: tuple[Task, ...]
    sealed: tuple[Task, ...] = ()
    """Kept out of confirm for the one opening; where there are none, it grades confirm answers."""


def default_n_search(n_tasks: int) -> int:
    """A third of the tasks, at least 20 and at most 100 (and never more than there are)."""
    return min(n_tasks, max(FEWEST_SEARCH, min(MOST_SEARCH, n_tasks // 3)))


def default_n_sealed(n_tasks: int) -> int:
    """A fifth of the tasks that have gold, where there are more than 200; else none."""
    return n_tasks // SEALED_ONE_IN if n_tasks > SEALED_ABOVE else 0


def split(
    tasks: Sequence[Task],
    *,
    split_key: str,
    n_search: int | None = None,
    n_confirm: int | None = None,
    n_sealed: int = 0,
    exclude: frozenset[str] = frozenset(),
) -> Split:
    """Search tasks from the front of the keyed order; from its end sealed tasks, then confirm tasks.

    Tasks with the same public content count once; near-duplicates (alike but for case, digits and
    whitespace) stand on one side. A task whose content key is in `exclude`, or that is a
    near-duplicate of one, never enters confirm or the seal. Without sizes: `default_n_search`, then
    the rest; where there is gold `default_n_sealed` says how many to seal.
    """
    groups = _groups(_distinct(tasks), split_key)
    total = sum(map(len, groups))
    search, used = _take(groups, default_n_search(total) if n_search is None else n_search)
    left = [
        group
        for group in reversed(groups[used:])
        if not any(task.content_key in exclude for task in group)
    ]
    sealed, n_used = _take(left, n_sealed)
    confirm, _ = _take(left[n_used:], total if n_confirm is None else n_confirm)
    return Split(search=search, confirm=confirm, sealed=sealed)


def _take(groups: Sequence[tuple[Task, ...]], n: int) -> tuple[tuple[Task, ...], int]:
    """The first n tasks and the number of groups they touch; the last group's rest is left out."""
    taken: list[Task] = []
    for index, group in enumerate(groups):
        if len(taken) >= n:
            return tuple(taken), index
        taken.extend(group[: n - len(taken)])
    return tuple(taken), len(groups)


def _distinct(tasks: Sequence[Task]) -> list[Task]:
    """One task a content, whatever its id; the smallest id stands for all."""
    by_content: dict[str, Task] = {}
    for task in sorted(tasks, key=lambda task: task.task_id):
        by_content.setdefault(task.content_key, task)
    return list(by_content.values())


def _groups(tasks: Sequence[Task], split_key: str) -> list[tuple[Task, ...]]:
    """Near-duplicates together, members and groups in keyed order."""
    place = {task.task_id: _place(split_key, task.content_key) for task in tasks}
    ordered = sorted(tasks, key=lambda task: place[task.task_id])
    most = max(3, len(ordered) // _TEMPLATE_SHARE)
    groups: list[tuple[Task, ...]] = []
    for alike in _by(ordered, _without_digits):
        groups.extend(_by(alike, _normal) if len(alike) > most else [alike])
    return sorted(groups, key=lambda group: place[group[0].task_id])


def _by(tasks: Sequence[Task], key: Callable[[Task], str]) -> list[tuple[Task, ...]]:
    found: dict[str, list[Task]] = {}
    for task in tasks:
        found.setdefault(key(task), []).append(task)
    return [tuple(group) for group in found.values()]


def _normal(task: Task) -> str:
    return _SPACE.sub(" ", canonical_json([task.input, task.files]).casefold())


def _without_digits(task: Task) -> str:
    return _DIGITS.sub("0", _normal(task))


def _place(split_key: str, content_key: str) -> str:
    return hmac.new(split_key.encode(), content_key.encode(), hashlib.sha256).hexdigest()
