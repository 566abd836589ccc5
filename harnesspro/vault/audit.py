"""Whether what a run folder holds is what its certificate says. Pure: records in, problems out.

Needs no vault and no right answer, so that a third party can do it with the folder alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harnesspro.core.hashing import content_hash
from harnesspro.core.records import Task
from harnesspro.core.splits import split
from harnesspro.vault.certificate import last_event, leak_event
from harnesspro.vault.chain import START
from harnesspro.vault.evidence import differences

SEARCHING = frozenset(
    {"trial", "candidate", "proposal", "round", "finding", "referee", "picks", "verdicts", "split"}
)
"""Kinds of ledger record by which a search could have used what an opening told."""
_COUNTS = ("leaked_bits", "vault_openings", "canary_hits")


@dataclass(frozen=True, slots=True)
class Entry:
    """A record of the ledger, in the order written."""

    seq: int
    kind: str
    key: str
    value: Any


@dataclass(frozen=True, slots=True)
class Evidence:
    """A run folder as it was read."""

    certificate: Mapping[str, Any]
    """Verified in itself already."""
    header: Mapping[str, Any]
    """run.json."""
    report: Mapping[str, Any] | None
    tasks: tuple[Task, ...]
    ledger: tuple[Entry, ...] = field(default=())

    def records(self, kind: str) -> tuple[Entry, ...]:
        """The ledger's records of one kind."""
        return tuple(entry for entry in self.ledger if entry.kind == kind)


def head_of(certificate: Mapping[str, Any]) -> str:
    """The hash of the last event: whoever keeps it can tell any later edit."""
    events = certificate["events"]
    return str(events[-1]["hash"]) if events else START


def audit(evidence: Evidence) -> dict[str, list[str]]:
    """Name of each check -> what does not hold; all lists are empty where the run stands."""
    return {name: _problems(check, evidence) for name, check in CHECKS.items()}


def _problems(check: Callable[[Evidence], list[str]], evidence: Evidence) -> list[str]:
    try:
        return check(evidence)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        return [f"not of the form a run writes ({type(error).__name__})"]


def files_hold(certificate: Mapping[str, Any], found: Mapping[str, str]) -> list[str]:
    """What is not as it was when the run was closed: files changed, gone or new.

    `found` is path -> digest of the folder as it is now.
    """
    closed = last_event(certificate, "closed")
    if closed is None or closed["hash"] != head_of(certificate):
        return ["the certificate does not end with a closing event: it was cut, or the run was"]
    recorded = closed.get("files")
    if not isinstance(recorded, Mapping) or closed.get("root") != content_hash(recorded):
        return ["the closing event's root is not that of its files"]
    return differences(recorded, found)


def seal_holds(evidence: Evidence) -> list[str]:
    """The right answers were committed before the run: header and certificate name one root."""
    seal, sealed = evidence.header.get("seal"), last_event(evidence.certificate, "sealed")
    said = (sealed or {}).get("merkle_root")
    meant = (seal or {}).get("merkle_root")
    return [] if said == meant else [f"run.json commits {meant}, the certificate {said}"]


def levels_hold(evidence: Evidence) -> list[str]:
    """Isolation and firewall are those the header and the report give."""
    levels = last_event(evidence.certificate, "levels") or {}
    problems = []
    if levels.get("isolation") != evidence.header.get("isolation"):
        problems.append("isolation: run.json and the certificate differ")
    told = (evidence.report or {}).get("levels")
    if told is not None and any(levels.get(key) != told.get(key) for key in told):
        problems.append("levels: the report and the certificate differ")
    return problems


def split_holds(evidence: Evidence) -> list[str]:
    """Search tasks follow from key and content alone; the sides share no task."""
    kept = next((entry.value for entry in evidence.records("split")), None)
    if kept is None:
        return []
    sides = [kept["search"], kept["confirm"], kept.get("sealed", [])]
    keys = {task.content_key for task in evidence.tasks}
    problems = []
    if len({key for side in sides for key in side}) != sum(map(len, sides)):
        problems.append("a task stands on two sides of the split")
    if not keys.issuperset(key for side in sides for key in side):
        problems.append("the split names tasks that are not in tasks.jsonl")
    again = split(
        evidence.tasks,
        split_key=str(evidence.header["split_key"]),
        n_search=len(kept["search"]),
        n_confirm=0,
    )
    if [task.content_key for task in again.search] != kept["search"]:
        problems.append("the search tasks are not those that key and content give")
    return problems


def opening_holds(evidence: Evidence) -> list[str]:
    """The opening on record is the one certified, and it graded answers the run had stored."""
    opened = last_event(evidence.certificate, "opened")
    kept = evidence.records("opening")
    if opened is None or not kept:
        return [] if opened is None and not kept else ["ledger and certificate differ on it"]
    value = kept[-1].value
    problems = []
    if (opened["n"], opened["merkle_root"], opened["n_answers"]) != (
        value["n_openings"],
        value["merkle_root"],
        len(value["replies"]),
    ):
        problems.append("ledger and certificate differ on it")
    stored = {
        content_hash(trial.value["trial_id"], trial.value["answer"])
        for trial in evidence.records("trial")
    }
    foreign = sum(reply["digest"] not in stored for reply in value["replies"])
    if foreign:
        problems.append(f"{foreign} graded answers are not among those the run stored")
    return problems


def search_was_blind(evidence: Evidence) -> list[str]:
    """Nothing that decides was written after the first opening, so none of it came of an answer."""
    kept = evidence.records("opening")
    if not kept:
        return []
    first = kept[0].seq
    late = sorted({e.kind for e in evidence.ledger if e.seq > first and e.kind in SEARCHING})
    return [f"{kind} records were written after the vault was opened" for kind in late]


def bound_holds(evidence: Evidence) -> list[str]:
    """The bound on what earlier openings told is the one its formula gives."""
    opened = last_event(evidence.certificate, "opened")
    bound = last_event(evidence.certificate, "leak_bound")
    if opened is None or bound is None:
        return [] if opened is bound else ["an opening without its bound"]
    sizes = {name: bound[name] for name in ("n_tasks", "n_harnesses")}
    again = leak_event(opened["n"], **sizes)
    same = all(bound.get(name) == value for name, value in again.items())
    return [] if same else ["not what sqrt(b ln 2 / (2 n)) gives"]


def report_holds(evidence: Evidence) -> list[str]:
    """The report's three counts are the certificate's, and no canary was found."""
    told = (evidence.report or {}).get("certificate") or {}
    problems = [
        f"{name}: the report says {told[name]}, the certificate {evidence.certificate[name]}"
        for name in _COUNTS
        if name in told and told[name] != evidence.certificate[name]
    ]
    if evidence.certificate["canary_hits"]:
        hits = evidence.certificate["canary_hits"]
        problems.append(f"{hits} canaries of the vault were found outside it: the run is void")
    return problems


# What is said of a folder that `files_hold` found as it was.
CHECKS: Mapping[str, Callable[[Evidence], list[str]]] = {
    "seal": seal_holds,
    "levels": levels_hold,
    "split": split_holds,
    "opening": opening_holds,
    "blind search": search_was_blind,
    "leak bound": bound_holds,
    "report": report_holds,
}


def log_problems(
    entries: Sequence[Mapping[str, Any]], *, run_id: str, certificate: Mapping[str, Any]
) -> list[str]:
    """What the vault's own log says otherwise; for whoever has it, the owner."""
    opened = last_event(certificate, "opened")
    mine = [entry for entry in entries if entry.get("run") == run_id]
    numbers = [entry["n"] for entry in mine if entry["event"] == "opening"]
    heads = [entry["head"] for entry in mine if entry["event"] == "certified"]
    problems = []
    if opened is None and numbers:
        problems.append("the vault was opened for this run, the certificate does not say so")
    if opened is not None and opened["n"] not in numbers:
        problems.append("the vault knows of no such opening")
    if heads and heads[-1] != head_of(certificate):
        problems.append("the certificate is not the one the vault's log names")
    return problems
