from harnesspro.cli.earlier import confirmed_before
from harnesspro.core.records import Task
from harnesspro.store.ledger import LedgerWriter

TASKS = [Task(task_id=f"t{i}", input=f"question {i}") for i in range(4)]


def a_run(out, name, confirm, *, judged=True):
    folder = out / "runs" / name
    folder.mkdir(parents=True)
    with LedgerWriter(folder) as ledger:
        keys = [task.content_key for task in confirm]
        ledger.put("split", "tasks", {"search": [], "confirm": keys})
        if judged:
            ledger.put("verdicts", "final", [{"kind": "accept"}])


def test_tasks_are_counted_by_how_many_runs_judged_on_them(tmp_path):
    a_run(tmp_path, "20260101-000000-aaaa", TASKS[:2])
    a_run(tmp_path, "20260102-000000-bbbb", TASKS[1:3])

    first, second, third = (task.content_key for task in TASKS[:3])
    assert confirmed_before(tmp_path, TASKS) == {first: 1, second: 2, third: 1}


def test_a_run_without_verdicts_used_nothing_up(tmp_path):
    a_run(tmp_path, "20260101-000000-aaaa", TASKS, judged=False)

    assert confirmed_before(tmp_path, TASKS) == {}


def test_a_damaged_ledger_is_passed_over(tmp_path):
    a_run(tmp_path, "20260101-000000-aaaa", TASKS[:1])
    broken = tmp_path / "runs" / "20260102-000000-bbbb"
    broken.mkdir()
    (broken / "ledger.db").write_bytes(b"no ledger at all")

    assert confirmed_before(tmp_path, TASKS) == {TASKS[0].content_key: 1}
