"""What the archive knows of such a harness, as patches of the initial one; the warm start."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from harnesspro.core.errors import ConfigError
from harnesspro.core.ports import Archive, ArchiveEntry
from harnesspro.core.records import Harness, Manifest, Patch, ReplaceFile
from harnesspro.formats.native import MANIFEST_NAME, apply_patch, harness_from_files
from harnesspro.proposers.question import Question

MAX_SKELETONS = 3
_STAMPS = {"confirmed": 0, "observed": 1}


class SkeletonProposer:
    """At most three entries that fit: confirmed before observed, then the cheapest."""

    name = "skeleton"

    def __init__(self, archive: Archive) -> None:
        self.archive = archive

    def propose(self, question: Question) -> tuple[Patch, ...]:
        """In round 0 only: each entry's dials and texts, put on the parent."""
        if question.round_index > 0:
            return ()
        patches: dict[str, Patch] = {}
        for patch in self._patches(question.parent):
            if patch.patch_id not in question.tried_ids:
                patches.setdefault(patch.patch_id, patch)
            if len(patches) == MAX_SKELETONS:
                break
        return tuple(patches.values())

    def _patches(self, parent: Harness) -> Iterator[Patch]:
        entries = self.archive.entries()
        for entry in sorted(entries, key=lambda entry: (_STAMPS[entry.stamp], entry.cost_ratio)):
            if entry.answer_kind == parent.manifest.answer.kind:
                patch = skeleton_patch(parent, entry, self.archive.files(entry.entry_id))
                if patch is not None:
                    yield patch


def skeleton_patch(parent: Harness, entry: ArchiveEntry, files: Mapping[str, str]) -> Patch | None:
    """The patch that turns the parent's parts into the entry's; None where they do not fit.

    They fit when the harness has the same name or the same part paths and knobs, every knob
    admits the entry's value, and the result is a valid harness other than the parent.
    """
    theirs = _manifest_of(files, entry)
    if theirs is None or not _alike(parent.manifest, theirs):
        return None
    knobs = {
        name: value
        for name, value in entry.knobs.items()
        if name in parent.knob_values and parent.knob_values[name] != value
    }
    patch = Patch(
        parent_id=parent.harness_id,
        knobs=knobs,
        direction="skeleton",
        proposer=f"skeleton:{entry.entry_id}",
        summary=f"as in the archive: {entry.summary}",
        hypothesis=entry.lesson,
        expected_cost_ratio=entry.cost_ratio if entry.cost_ratio > 0 else None,
    )
    try:
        patch = patch.model_copy(update={"edits": _edits(apply_patch(parent, patch), files)})
        made = apply_patch(parent, patch)
    except ConfigError:
        return None
    return patch if made.harness_id != parent.harness_id else None


def _manifest_of(files: Mapping[str, str], entry: ArchiveEntry) -> Manifest | None:
    try:
        return harness_from_files(files, where=entry.entry_id).manifest
    except ConfigError:
        return None


def _alike(ours: Manifest, theirs: Manifest) -> bool:
    if ours.name == theirs.name:
        return True
    paths = [{part.path for part in manifest.parts.values()} for manifest in (ours, theirs)]
    return paths[0] == paths[1] and ours.knobs.keys() == theirs.knobs.keys()


def _edits(dialled: Harness, files: Mapping[str, str]) -> tuple[ReplaceFile, ...]:
    """What still differs from the entry once the dials are set."""
    return tuple(
        ReplaceFile(path=part.path, text=files[part.path])
        for part in dialled.manifest.parts.values()
        if part.path in files
        and part.path != MANIFEST_NAME
        and dialled.files[part.path] != files[part.path]
    )
