import json
import stat
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harnesspro.core.errors import ConfigError, IntegrityError, TasksError, UsageError
from harnesspro.formats.tasks import load_tasks
from harnesspro.formats.tasksets import task_set
from harnesspro.vault.grader import check_vault
from harnesspro.vault.log import VaultLog, openings
from harnesspro.vault.records import merkle_root, vault_record, verified_records
from harnesspro.vault.seal import likely_kind, seal_file, seal_records
from tests.unit.vault.sealing import (
    GOLD,
    gold_path,
    hidden_of,
    question,
    record,
    sealed,
    split_key,
)


def public_text(tmp_path: Path) -> str:
    return "".join(path.read_text() for path in (tmp_path / "public").iterdir())


def test_every_task_comes_back_public_and_its_gold_from_the_vault(tmp_path):
    receipt = sealed(tmp_path)
    tasks = load_tasks(receipt.tasks_path)
    golds = {row["task_id"]: row["gold"] for row in hidden_of(receipt)}
    assert {(question(task), golds[task.task_id]) for task in tasks} == {
        (f"q{index}", f"{GOLD}-{index}") for index in range(5)
    }
    assert check_vault(
        tmp_path / "vault", taskset_id=receipt.taskset_id, merkle_root=receipt.merkle_root
    ) == len(tasks)


def test_public_files_hold_neither_gold_nor_canary_nor_salt_nor_unknown_field(tmp_path):
    receipt = sealed(
        tmp_path, [record(index, note=f"secret-{index}", id=index) for index in (0, 1)]
    )
    text = public_text(tmp_path)
    rows = hidden_of(receipt)
    secrets = [row[key] for row in rows for key in ("canary", "salt", "gold")]
    assert [secret for secret in [*secrets, "secret-0", "note"] if secret in text] == []
    assert sorted(row["rest"]["note"] for row in rows) == ["secret-0", "secret-1"]
    assert receipt.hidden_fields == ("gold", "id", "note")


def test_public_fields_survive_and_ids_of_the_source_do_not(tmp_path):
    source = record(7, family="easy", files={"a.txt": "hello"}, task_id="known-from-the-web")
    (task,) = load_tasks(sealed(tmp_path, [source]).tasks_path)
    assert (task.family, task.files, task.input) == ("easy", {"a.txt": "hello"}, {"question": "q7"})
    assert "known" not in task.task_id


def test_order_is_shuffled(tmp_path):
    tasks = load_tasks(sealed(tmp_path, [record(index) for index in range(40)]).tasks_path)
    assert [question(task) for task in tasks] != [f"q{index}" for index in range(40)]


def test_text_with_any_line_separator_survives(tmp_path):
    odd = "a\u2028b\x85c\x1cd\r\n"
    receipt = sealed(tmp_path, [{"input": odd, "gold": odd}])
    assert load_tasks(receipt.tasks_path)[0].input == odd
    assert hidden_of(receipt)[0]["gold"] == odd
    root = receipt.merkle_root
    assert len(verified_records(gold_path(receipt).read_bytes(), root=root, where="x")) == 1


def test_the_seal_says_what_is_inside(tmp_path):
    receipt = sealed(tmp_path, [record(0, family="b"), record(0, family="a"), {"input": "no gold"}])
    seal = task_set(str(tmp_path / "public")).seal
    assert seal is not None
    assert seal | {"split_key": "", "tasks_sha256": ""} == {
        "format": "harnesspro/seal@1",
        "name": "demo",
        "taskset_id": receipt.taskset_id,
        "merkle_root": receipt.merkle_root,
        "n": 3,
        "n_gold": 2,
        "answer_kind": "text",
        "scheme": "exact",
        "split_key": "",
        "families": ["a", "all", "b"],
        "tasks_sha256": "",
        "source": "",
    }
    assert (receipt.n_gold, receipt.n_duplicates) == (2, 1)


def test_only_the_owner_can_read_the_vault(tmp_path):
    receipt = sealed(tmp_path)
    folder = Path(receipt.vault_path)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert modes == {"gold.jsonl": 0o600, "log.jsonl": 0o600}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(folder.parent.stat().st_mode) == 0o700


def test_nothing_is_left_lying_beside(tmp_path):
    receipt = sealed(tmp_path)
    sealed(tmp_path)
    assert sorted(p.name for p in (tmp_path / "public").iterdir()) == ["seal.json", "tasks.jsonl"]
    assert len(list((tmp_path / "vault").iterdir())) == 2
    assert Path(receipt.vault_path).is_dir()


def test_a_seal_that_was_cut_short_is_noticed_and_can_be_done_again(tmp_path):
    kept = Path(sealed(tmp_path).tasks_path).read_text()
    sealed(tmp_path)
    # As if the last rename never came: the file of an earlier seal with one task fewer.
    (tmp_path / "public" / "tasks.jsonl").write_text(kept.split("\n", 1)[1])
    with pytest.raises(TasksError, match="changed after it was sealed"):
        task_set(str(tmp_path / "public"))
    sealed(tmp_path)
    assert task_set(str(tmp_path / "public")).seal is not None


def test_sealing_the_same_name_again_keeps_the_split_key_and_the_ids(tmp_path):
    first, keys = sealed(tmp_path), []
    keys.append(split_key(tmp_path))
    ids = {task.task_id for task in load_tasks(first.tasks_path)}
    second = sealed(tmp_path)
    keys.append(split_key(tmp_path))
    for path in (tmp_path / "public").iterdir():
        path.unlink()
    sealed(tmp_path)
    keys.append(split_key(tmp_path))
    assert len(set(keys)) == 1
    assert second.taskset_id != first.taskset_id
    assert ids == {task.task_id for task in load_tasks(second.tasks_path)}


def test_a_given_split_key_makes_ids_and_order_the_same_everywhere(tmp_path):
    texts = []
    for home in ("one", "two"):
        receipt = seal_records(
            [record(index) for index in range(5)],
            name="drawn",
            answer_kind="text",
            scheme="exact",
            public_dir=tmp_path / home / "public",
            vault_dir=tmp_path / home / "vault",
            split_key="k",
        )
        texts.append(Path(receipt.tasks_path).read_text())
    assert texts[0] == texts[1]


def test_another_name_has_another_split_key(tmp_path):
    sealed(tmp_path)
    sealed(tmp_path, name="other", public="other")
    assert split_key(tmp_path, "other") != split_key(tmp_path)


def test_openings_follow_the_same_tasks_through_a_second_seal(tmp_path):
    first = sealed(tmp_path)
    VaultLog(Path(first.vault_path)).append_opening(run="r1")
    again = sealed(tmp_path, name="renamed", public="renamed")
    other = sealed(tmp_path, [record(99)], name="other", public="other")
    counts = [openings(VaultLog(Path(r.vault_path)).entries()) for r in (first, again, other)]
    assert counts == [1, 1, 0]


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_one_flipped_bit_anywhere_in_the_gold_is_noticed(tmp_path_factory, data):
    receipt = sealed(tmp_path_factory.mktemp("set"), [record(0), record(1, note="n")])
    path = gold_path(receipt)
    content = bytearray(path.read_bytes())
    position = data.draw(st.integers(0, len(content) - 1))
    content[position] ^= 1 << data.draw(st.integers(0, 7))
    path.write_bytes(content)
    folder = Path(receipt.vault_path).parent
    with pytest.raises(IntegrityError, match="does not match the root"):
        check_vault(folder, taskset_id=receipt.taskset_id, merkle_root=receipt.merkle_root)


def test_a_removed_repeated_or_moved_record_is_noticed(tmp_path):
    receipt = sealed(tmp_path)
    lines = gold_path(receipt).read_bytes().splitlines(keepends=True)
    for changed in (lines[1:], [*lines, lines[-1]], lines[::-1], []):
        with pytest.raises(IntegrityError):
            verified_records(b"".join(changed), root=receipt.merkle_root, where="gold")


def test_equal_gold_has_unequal_commitments():
    roots = {merkle_root([vault_record("task-1", gold="yes", rest={})]) for _ in range(5)}
    assert len(roots) == 5


def test_the_log_notices_a_changed_line(tmp_path):
    log = VaultLog(Path(sealed(tmp_path).vault_path))
    assert [log.append_opening(run="r"), log.append_opening(run="r")] == [1, 2]
    log.path.write_text(log.path.read_text().replace('"n":2', '"n":1'))
    with pytest.raises(IntegrityError, match="changed after it was written"):
        log.append_opening(run="r")


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"gold": 1}, "no `input`"),
        ({"input": None, "gold": 1}, "no `input`"),
        ({"input": {"q": 1, "Ground_Truth": "x"}}, "`input.Ground_Truth` looks like"),
        ({"input": "q", "family": 3}, "family"),
        ({"input": "q", "files": {"a": 1}}, "files"),
        ({"input": "q", "gold": float("nan")}, "cannot be written as JSON"),
        ({"input": "\ud800", "gold": "x"}, "cannot be written as JSON"),
        ({"input": "q", "gold": ["x"]}, "not a text"),
    ],
)
def test_a_record_that_cannot_be_sealed_is_named_and_nothing_is_written(tmp_path, bad, message):
    with pytest.raises(TasksError, match=message) as caught:
        sealed(tmp_path, [record(0), bad])
    assert caught.value.where.startswith("demo: record 2")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"scheme": "vibes"}, "unknown"),
        ({"answer_kind": "poem"}, "unknown"),
        ({"answer_kind": "code"}, "cannot grade"),
        ({"scheme": "bfcl"}, "cannot grade"),
    ],
)
def test_what_cannot_be_graded_is_refused(tmp_path, changes, message):
    with pytest.raises(UsageError, match=message):
        sealed(tmp_path, **changes)


def test_code_tasks_without_gold_can_be_sealed(tmp_path):
    assert sealed(tmp_path, [{"input": "write f"}], answer_kind="code").n_gold == 0


@pytest.mark.parametrize("name", ["", "..", "a/b", ".hidden", "x" * 65])
def test_a_name_that_is_no_folder_name_is_refused(tmp_path, name):
    with pytest.raises(TasksError, match="not a name"):
        sealed(tmp_path, name=name)


def write_lines(path: Path, *lines: str) -> Path:
    path.write_text("".join(line + "\n" for line in lines))
    return path


def seal_lines(path: Path, public: Path, vault: Path):
    return seal_file(
        path, name="f", answer_kind="text", scheme="exact", public_dir=public, vault_dir=vault
    )


def test_a_file_is_sealed_and_left_as_it_is(tmp_path):
    path = write_lines(tmp_path / "mine.jsonl", json.dumps(record(0)), "", json.dumps(record(1)))
    before = path.read_text()
    receipt = seal_lines(path, tmp_path / "public", tmp_path / "vault")
    assert (receipt.n, receipt.n_gold, path.read_text()) == (2, 2, before)


@pytest.mark.parametrize("line", ["{", "[1]", "nonsense", "[" * 100_000])
def test_a_bad_line_is_named(tmp_path, line):
    path = write_lines(tmp_path / "mine.jsonl", json.dumps(record(0)), line)
    with pytest.raises(TasksError) as caught:
        seal_lines(path, tmp_path / "public", tmp_path / "vault")
    assert caught.value.where == f"{path}:2"


def test_the_original_is_never_overwritten(tmp_path):
    path = write_lines(tmp_path / "tasks.jsonl", json.dumps(record(0)))
    with pytest.raises(ConfigError, match="not sealed here"):
        seal_lines(path, tmp_path, tmp_path.parent / "vault")
    assert GOLD in path.read_text()


def test_another_task_set_is_never_overwritten(tmp_path):
    before = Path(sealed(tmp_path).tasks_path).read_text()
    with pytest.raises(ConfigError, match="holds the sealed task set demo"):
        sealed(tmp_path, name="other")
    assert (tmp_path / "public" / "tasks.jsonl").read_text() == before


@pytest.mark.parametrize(
    ("golds", "kind"),
    [
        (["a", "b"], "text"),
        ([1, 2.5], "number"),
        ([1, "b"], "json"),
        ([True], "json"),
        ([{"a": 1}], "json"),
        ([None], "text"),
    ],
)
def test_the_kind_is_read_from_the_gold(tmp_path, golds, kind):
    lines = [json.dumps({"input": "q", "gold": gold}) for gold in golds]
    assert likely_kind(write_lines(tmp_path / "mine.jsonl", *lines)) == kind


@pytest.mark.parametrize(
    ("public", "vault"), [("a", "a"), ("a", "a/vault"), ("v/public", "v"), ("p", ".harnesspro/v")]
)
def test_a_vault_within_reach_of_a_search_is_refused(tmp_path, public, vault):
    path = write_lines(tmp_path / "mine.jsonl", json.dumps(record(0)))
    with pytest.raises(ConfigError):
        seal_lines(path, tmp_path / public, tmp_path / vault)


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    path = write_lines(tmp_path / "mine.jsonl", json.dumps(record(0)))
    with pytest.raises(ConfigError, match="cannot be written"):
        seal_lines(path, tmp_path / "public", tmp_path / "file" / "vault")


@pytest.mark.parametrize("spoil", ["a link", "open to all"])
def test_a_vault_that_others_could_exchange_is_refused(tmp_path, spoil):
    vault = tmp_path / "vault"
    if spoil == "a link":
        (tmp_path / "elsewhere").mkdir()
        vault.symlink_to(tmp_path / "elsewhere")
    else:
        vault.mkdir()
        vault.chmod(0o777)
    with pytest.raises(ConfigError, match="mode 0700"):
        sealed(tmp_path, [record(0)])
    assert not list((tmp_path).rglob("gold.jsonl"))
