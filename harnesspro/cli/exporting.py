"""A candidate written out as a harness folder, with where it comes from beside its manifest."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from harnesspro import __version__
from harnesspro.cli.found import FoundRun
from harnesspro.core.documents import Point, RunDocument
from harnesspro.core.errors import ConfigError, UsageError
from harnesspro.core.records import Candidate, Harness
from harnesspro.formats.native import harness_from_files, save_harness
from harnesspro.store.runs import write_json

PROVENANCE = "provenance.json"


def export(run: FoundRun, candidate: Candidate, to: Path) -> dict[str, Any]:
    """Write the folder and return its provenance.

    Raises:
        ConfigError: the folder is not empty or cannot be written, or the run has no report yet.
        IntegrityError: the kept files do not hash to the candidate's id.
    """
    doc = run.document()
    harness = harness_from_files(run.files(candidate), where=candidate.candidate_id)
    provenance = provenance_of(run, candidate, doc=doc, harness=harness)
    save_harness(harness, to)
    try:
        write_json(to / PROVENANCE, provenance)
    except OSError as error:
        raise ConfigError(str(to), f"cannot write: {error.strerror}", fix="free space") from error
    return provenance


def provenance_of(
    run: FoundRun, candidate: Candidate, *, doc: RunDocument, harness: Harness
) -> dict[str, Any]:
    """`harnesspro/provenance@1`. `files` are SHA-256 of every file; `approved` of the code among
    them: what `harnesspro.load` runs without asking.
    """
    point = _point(doc, candidate.candidate_id)
    hashes = {path: _sha256(text) for path, text in sorted(harness.files.items())}
    code = {part.path for part in harness.manifest.parts.values() if part.kind == "code"}
    return {
        "schema": "harnesspro/provenance@1",
        "harnesspro": __version__,
        "run_id": doc.run_id,
        "harness": doc.harness,
        "candidate_id": candidate.candidate_id,
        "harness_id": harness.harness_id,
        "parent_id": candidate.parent_id,
        "stamp": point.stamp,
        "verdict": point.verdict,
        "isolation": point.isolation,
        "firewall": doc.levels.firewall,
        "models": dict(doc.models),
        "changes": [_change(step) for step in run.lineage(candidate)],
        "score": point.score.model_dump(),
        "cost_usd_per_task": point.cost_usd_per_task.model_dump(),
        "answers_changed": point.answers_changed.model_dump() if point.answers_changed else None,
        "prices": [price.model_dump() for price in doc.prices],
        "files": hashes,
        "approved": {
            path: digest for path, digest in hashes.items() if path in code or path.endswith(".py")
        },
    }


def _point(doc: RunDocument, candidate_id: str) -> Point:
    for point in (doc.baseline, *doc.front, *doc.candidates):
        if point.candidate_id == candidate_id:
            return point
    raise UsageError(
        candidate_id,
        "not among the measured harnesses of the report",
        expected="one that `harnesspro show` lists",
    )


def _change(step: Candidate) -> dict[str, Any]:
    assert step.patch is not None
    return {
        "candidate_id": step.candidate_id,
        "summary": step.summary,
        "proposer": step.proposer,
        "direction": step.patch.direction,
        "hypothesis": step.patch.hypothesis,
        "knobs": dict(step.patch.knobs),
        "paths": sorted({edit.path for edit in step.patch.edits}),
    }


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
