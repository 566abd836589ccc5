from harnesspro.core.ports import ArchiveEntry
from harnesspro.core.records import ReplaceFile, ReplaceText
from harnesspro.formats.native import apply_patch
from harnesspro.proposers.skeleton import SkeletonProposer
from tests.unit.builders import a_harness
from tests.unit.proposers.asking import PLANTED, a_question, a_tried, changed

SHORT = ReplaceFile(path="prompts/format.md", text="Give the option alone.\n")


class MemoryArchive:
    """Entries and their files, in the order added."""

    def __init__(self, *harnesses, **fields) -> None:
        self.kept: dict[str, tuple[ArchiveEntry, dict[str, str]]] = {}
        for harness in harnesses:
            self.keep(harness, **fields)

    def keep(self, harness, *, name="planted", **fields):
        entry = ArchiveEntry(
            **{
                "entry_id": f"e{len(self.kept)}",
                "name": name,
                "harness_id": harness.harness_id,
                "base_harness_id": PLANTED.harness_id,
                "answer_kind": harness.manifest.answer.kind,
                "models": {"worker": "sim/small"},
                "stamp": "observed",
                "isolation": "S3",
                "summary": "samples less",
                "edits_json": "[]",
                "knobs": harness.knob_values,
                "cost_ratio": 0.5,
                "answers_changed": 0.0,
                "patterns": (),
                "search_task_keys": (),
                "price_table_hash": "",
                "run_id": "r",
                "created_at": "2026-11-01T00:00:00Z",
                "lesson": "votes settle early",
                **fields,
            }
        )
        self.kept[entry.entry_id] = (entry, dict(harness.files))
        return self

    def add(self, entry, files):
        self.kept[entry.entry_id] = (entry, dict(files))

    def entries(self):
        return tuple(entry for entry, _ in self.kept.values())

    def files(self, entry_id):
        return self.kept[entry_id][1]


def proposed(archive, **question):
    return SkeletonProposer(archive).propose(a_question(**question))


def test_an_entry_of_other_dials_becomes_a_patch_of_dials_alone():
    (patch,) = proposed(MemoryArchive(changed(samples=1, constrain="schema")))
    assert (patch.knobs, patch.edits) == ({"samples": 1, "constrain": "schema"}, ())
    assert (patch.direction, patch.proposer) == ("skeleton", "skeleton:e0")
    assert (patch.expected_cost_ratio, patch.hypothesis) == (0.5, "votes settle early")


def test_an_entry_of_other_texts_and_dials_is_rebuilt_exactly():
    best = changed(edits=[SHORT], samples=1)
    (patch,) = proposed(MemoryArchive(best))
    assert patch.edits == (SHORT,)
    assert apply_patch(PLANTED, patch).harness_id == best.harness_id


def test_confirmed_comes_before_observed_then_the_cheaper_and_three_at_most():
    archive = MemoryArchive()
    for samples, stamp, ratio in (
        (1, "observed", 0.1),
        (2, "confirmed", 0.7),
        (4, "observed", 0.9),
        (5, "confirmed", 0.6),
    ):
        archive.keep(changed(samples=samples), stamp=stamp, cost_ratio=ratio)
    assert [patch.knobs["samples"] for patch in proposed(archive)] == [5, 2, 1]


def test_only_the_first_round_is_warm_started():
    assert proposed(MemoryArchive(changed(samples=1)), round_index=1) == ()


def test_the_parent_itself_and_what_was_tried_are_left_out():
    archive = MemoryArchive(PLANTED, changed(samples=1))
    (patch,) = proposed(archive)
    assert proposed(archive, history=(a_tried(patch_id=patch.patch_id),)) == ()


def test_two_entries_that_are_the_same_harness_make_one_patch():
    assert len(proposed(MemoryArchive(changed(samples=1), changed(samples=1)))) == 1


def test_a_harness_of_another_shape_or_answer_does_not_fit():
    assert proposed(MemoryArchive(a_harness(samples=1))) == ()
    assert proposed(MemoryArchive(a_harness(samples=1, kind="choice"))) == ()


def test_a_renamed_harness_of_the_same_parts_and_dials_fits():
    files = {**changed(samples=1).files}
    files["harness.yaml"] = files["harness.yaml"].replace("name: planted", "name: other")
    archive = MemoryArchive()
    entry, _ = archive.keep(changed(samples=1)).kept["e0"]
    archive.kept["e0"] = (entry, files)
    (patch,) = proposed(archive)
    assert patch.knobs == {"samples": 1}


def test_an_entry_whose_dials_left_the_range_is_passed_over():
    archive = MemoryArchive(changed(samples=1), knobs={"samples": 9})
    assert proposed(archive) == ()


def test_an_entry_that_is_no_valid_harness_is_passed_over():
    archive = MemoryArchive(changed(samples=1))
    entry, files = archive.kept["e0"]
    archive.kept["e0"] = (entry, {**files, "harness.yaml": "format: other\n"})
    assert proposed(archive) == ()


def test_an_empty_archive_makes_no_patch():
    assert proposed(MemoryArchive()) == ()


def test_the_edits_of_a_skeleton_are_whole_files_of_parts():
    drop = ReplaceText(path="prompts/system.md", old="Think step by step and ", new="")
    (patch,) = proposed(MemoryArchive(changed(edits=[drop])))
    assert [(edit.kind, edit.path) for edit in patch.edits] == [
        ("replace_file", "prompts/system.md")
    ]
