import pytest

from harnesspro.core.errors import TasksError
from harnesspro.formats.tasks import load_tasks


@pytest.mark.parametrize(
    "line",
    [
        '{"input": NaN}',
        '{"input": 1e999}',
        '{"input": "\\ud800"}',
        '{"input": ' + "[" * 50_000 + "]" * 50_000 + "}",
        '{"input": ' + "9" * 5_000 + "}",
        '\ufeff{"input": 1}',
        "{",
    ],
)
def test_a_line_no_record_can_hold_is_named_with_its_number(tmp_path, line):
    path = tmp_path / "tasks.jsonl"
    path.write_text('{"input": "fine"}\n' + line + "\n", encoding="utf-8")
    with pytest.raises(TasksError, match=r"tasks\.jsonl:2: not JSON"):
        load_tasks(path)
