"""A candidate that has learnt its tasks by heart, and how little that is worth on others."""

import zlib
from collections.abc import Mapping, Sequence

import pytest

from harnesspro.core.admit import objections
from harnesspro.core.records import Harness, Patch, ReplaceFile, Task
from harnesspro.core.splits import split
from harnesspro.formats.native import apply_patch
from tests.redteam.bench import Instant, candidate, job, trial_ground

HONEST = "def solve(task, h):\n    return h.ask('writer', str(task['input'])).text\n"
BASE = candidate(HONEST, system="Answer the question.")


PLACES = ("river", "harbor", "meadow", "orchard", "quarry", "tunnel", "valley", "window")


def a_task(n: int, digits: str = "") -> Task:
    place = PLACES[n % len(PLACES)]
    return Task(
        task_id=f"task-{n:04}{digits}",
        input=f"Invoice INV-{77310 + 13 * n}{digits} of the {place} yard: what is due on {n + 1} May?",
        files={f"books/{place}_ledger{n}.csv": f"row,{n}\n"},
    )


SEARCH = [a_task(n) for n in range(6)]
UNSEEN = [a_task(n) for n in range(20, 32)]
RIGHT = {str(task.input): f"due {n}" for n, task in enumerate(SEARCH)}


def patched(path: str, text: str) -> tuple[Harness, Patch]:
    patch = Patch(
        parent_id=BASE.harness_id,
        edits=(ReplaceFile(path=path, text=text),),
        direction="success",
        proposer="planner:success",
        summary="answer better",
    )
    return apply_patch(BASE, patch), patch


def table_by(keys: Mapping[str, str], look_up: str) -> str:
    return f"import json\nTABLE = {dict(keys)!r}\ndef solve(task, h):\n    return TABLE.get({look_up}, 'none')\n"


BY_HEART: dict[str, tuple[str, str]] = {
    "by the text of the task": ("solver.py", table_by(RIGHT, "str(task['input'])")),
    "by the task's id": (
        "solver.py",
        table_by({t.task_id: RIGHT[str(t.input)] for t in SEARCH}, "task['task_id']"),
    ),
    "by a file's name": (
        "prompts/system.md",
        "Answer the question. With river_ledger0.csv it is due 0.\n",
    ),
    "by a number in the prompt": (
        "prompts/system.md",
        "Answer the question. For INV-77310 say due 0, for INV-77323 say due 1.\n",
    ),
    "by a digest": (
        "solver.py",
        table_by(
            {f"{zlib.crc32(k.encode()):08x}{i:08x}": v for i, (k, v) in enumerate(RIGHT.items())},
            "'x'",
        ),
    ),
}


@pytest.mark.parametrize("how", BY_HEART)
def test_case_23_what_is_plainly_learnt_by_heart_is_not_admitted(how: str):
    made, patch = patched(*BY_HEART[how])
    assert objections(BASE, made, patch, search_tasks=SEARCH, unseen_tasks=UNSEEN)


def test_case_23_an_honest_edit_is_admitted():
    made, patch = patched(
        "prompts/system.md", "Answer the question about the invoice in one line.\n"
    )
    assert objections(BASE, made, patch, search_tasks=SEARCH, unseen_tasks=UNSEEN) == ()


def right_on(harness: Harness, tasks: list[Task]) -> int:
    """How many it answers as its table says, in the real sandbox."""
    with trial_ground(Instant()) as ground:
        trials = ground.run(*(job(harness, task) for task in tasks))
    answers = dict(zip((str(task.input) for task in tasks), trials, strict=True))
    return sum(trial.answer == RIGHT.get(text) for text, trial in answers.items())


def test_case_23_a_judge_that_admits_it_and_scores_on_what_it_saw_is_impressed():
    made, _ = patched(*BY_HEART["by the text of the task"])
    assert (right_on(BASE, SEARCH), right_on(made, SEARCH)) == (0, len(SEARCH))


HIDDEN_CODE = """
def mix(text):
    found = 7
    for letter in text:
        found = (found * 31 + ord(letter)) % 997
    return found
TABLE = {TABLE}
def solve(task, h):
    return TABLE.get(mix(str(task["input"])), "none")
"""


def mix(text: str) -> int:
    found = 7
    for letter in text:
        found = (found * 31 + ord(letter)) % 997
    return found


def test_case_23_what_hides_from_the_scan_wins_where_it_learnt_and_nowhere_else():
    table = {mix(text): answer for text, answer in RIGHT.items()}
    made, patch = patched("solver.py", HIDDEN_CODE.replace("{TABLE}", repr(table)))
    assert objections(BASE, made, patch, search_tasks=SEARCH, unseen_tasks=UNSEEN) == ()
    assert right_on(made, SEARCH) == len(SEARCH)
    assert right_on(made, UNSEEN) == 0  # what it is confirmed on


def in_other_words(task: Task) -> Task:
    text = str(task.input)
    return task.model_copy(
        update={"task_id": f"{task.task_id}-again", "input": text.upper().replace(" ", "  ")}
    )


def meanings(tasks: Sequence[Task]) -> set[str]:
    return {" ".join(str(task.input).lower().split()) for task in tasks}


def test_case_23_a_task_it_saw_does_not_come_back_in_other_words_to_confirm_it():
    tasks = [one for n in range(30) for one in (a_task(n), in_other_words(a_task(n)))]
    cut = split(tasks, split_key="k", n_search=20)
    by_line = (tasks[::2], tasks[1::2])  # a judge that takes every second line
    assert len(meanings(by_line[0]) & meanings(by_line[1])) == 30
    assert (len(cut.search), len(cut.confirm)) == (20, 40)
    assert meanings(cut.search) & meanings(cut.confirm) == set()
