"""Run folders: named so that they sort, found by what people type, read with clear errors."""

from __future__ import annotations

import json
import os
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from harnesspro.core.errors import ConfigError, IntegrityError, UsageError
from harnesspro.store.runs import find_run, new_run_id, read_document, run_ids, write_json
from tests.unit.view.documents import document

OLD, MID, NEW = "20260101-000000-aaaa", "20260202-101010-bbbb", "20260202-101011-cccc"


def out_with(tmp_path: Path, *names: str) -> Path:
    for name in names:
        (tmp_path / "runs" / name).mkdir(parents=True)
        (tmp_path / "runs" / name / "run.json").write_text("{}")
    return tmp_path


def test_run_ids_sort_by_time_in_utc_and_do_not_clash() -> None:
    noon = datetime(2026, 5, 28, 12, 0, 0, tzinfo=timezone(timedelta(hours=2)))
    first, second = new_run_id(noon), new_run_id(noon + timedelta(seconds=1))
    assert first < second
    assert first[:16] == "20260528-100000-"
    assert len({new_run_id(noon) for _ in range(20)}) > 15


@pytest.mark.parametrize(
    ("ref", "name"), [(MID, MID), ("20260101", OLD), ("20260202-101011", NEW), ("latest", NEW)]
)
def test_a_run_is_found_by_id_prefix_or_latest(tmp_path: Path, ref: str, name: str) -> None:
    out = out_with(tmp_path, NEW, OLD, MID)
    assert find_run(out, ref) == out / "runs" / name


def test_a_run_is_found_by_its_folder(tmp_path: Path) -> None:
    folder = out_with(tmp_path, OLD) / "runs" / OLD
    assert find_run(tmp_path / "elsewhere", str(folder)) == folder


def test_a_prefix_of_several_runs_lists_them(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        find_run(out_with(tmp_path, OLD, MID, NEW), "20260202")
    assert str(caught.value) == f"20260202: begins 2 runs; expected {MID}, {NEW}"


def test_no_run_yet_says_how_to_start_one(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        find_run(tmp_path, "latest")
    assert str(caught.value) == (
        f"{tmp_path}: no runs yet; expected a run folder, or --out naming where runs are kept; "
        "start one with: harnesspro improve HARNESS"
    )


def test_an_unknown_run_lists_what_there_is(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        find_run(out_with(tmp_path, OLD), "2027")
    assert str(caught.value) == f"2027: no such run; expected latest, or one of {OLD}"


def test_folders_that_are_no_runs_are_not_listed(tmp_path: Path) -> None:
    (out_with(tmp_path, OLD) / "runs" / "20270101-000000-ffff").mkdir()
    assert run_ids(tmp_path) == [OLD]


def test_a_document_survives_the_way_to_disk_and_back(tmp_path: Path) -> None:
    write_json(tmp_path / "report.json", document().model_dump(mode="json", by_alias=True))
    assert json.loads((tmp_path / "report.json").read_text())["schema"] == "harnesspro/run@1"
    assert read_document(tmp_path) == document()
    assert os.listdir(tmp_path) == ["report.json"]


def test_a_run_without_report_names_the_resume_command(tmp_path: Path) -> None:
    folder = out_with(tmp_path, OLD) / "runs" / OLD
    with pytest.raises(ConfigError, match=f"harnesspro improve --resume {OLD}"):
        read_document(folder)


def test_a_garbled_report_names_file_and_key(tmp_path: Path) -> None:
    value = document().model_dump(mode="json", by_alias=True)
    (tmp_path / "report.json").write_text(json.dumps({**value, "seed": "many"}))
    with pytest.raises(
        IntegrityError, match=r"report\.json: seed: Input should be a valid integer"
    ):
        read_document(tmp_path)


def test_a_failed_write_leaves_the_old_file_and_nothing_beside(tmp_path: Path) -> None:
    write_json(tmp_path / "x.json", {"a": 1})
    with pytest.raises(ValueError, match="Out of range"):
        write_json(tmp_path / "x.json", {"a": float("nan")})
    with pytest.raises(UnicodeEncodeError):
        write_json(tmp_path / "x.json", {"a": "\ud800"})
    assert json.loads((tmp_path / "x.json").read_text()) == {"a": 1}
    assert os.listdir(tmp_path) == ["x.json"]
