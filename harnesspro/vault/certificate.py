"""The certificate of a run: what touched right answers, as a hash chain anyone can recompute. Pure.

It shows that what was done cannot be edited afterwards unseen, by whoever kept its head. It does
not show that nothing else was done: that rests on the firewall level it names.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from harnesspro.core.errors import IntegrityError
from harnesspro.core.ports import Opening
from harnesspro.vault.chain import chain_problems, chained, head

SCHEMA = "harnesspro/certificate@1"
_COUNTS = ("leaked_bits", "vault_openings", "canary_hits")


def certificate(events: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The document over the events in order; its counts are read from the events."""
    chain: list[dict[str, Any]] = []
    for event in events:
        chain.append(chained(event, prev=head(chain)))
    return {"schema": SCHEMA, "events": chain, **_counts(chain)}


def verify(document: Mapping[str, Any]) -> list[str]:
    """What does not hold, in plain words; empty where all of it does."""
    if document.get("schema") != SCHEMA:
        return [f"schema: {document.get('schema')!r} instead of {SCHEMA!r}"]
    events = document.get("events")
    if not isinstance(events, list):
        return ["events: not a list"]
    problems = chain_problems(events)
    if problems:
        return problems
    try:
        counted = _counts(events)
    except (LookupError, TypeError, ValueError):
        return ["events: a count is not a number"]
    return [
        f"{name}: {document.get(name)!r} is written, the events say {counted[name]}"
        for name in _COUNTS
        if document.get(name) != counted[name]
    ]


def extended(document: Mapping[str, Any], event: Mapping[str, Any]) -> dict[str, Any]:
    """The certificate with one more event at the end of its chain."""
    chain = list(document["events"])
    chain.append(chained(event, prev=head(chain)))
    return {"schema": SCHEMA, "events": chain, **_counts(chain)}


def last_event(document: Mapping[str, Any], name: str) -> dict[str, Any] | None:
    """The latest event of this name; None where there is none."""
    found = [event for event in document["events"] if event.get("event") == name]
    return dict(found[-1]) if found else None


def certificate_text(document: Mapping[str, Any]) -> str:
    """The one text of a certificate, so that no byte of the file is free to change."""
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def read_certificate(content: bytes, *, where: str) -> dict[str, Any]:
    """The document that these bytes are, its chain and counts verified.

    Raises:
        IntegrityError: not a certificate, or a byte of it was changed.
    """
    try:
        document = json.loads(content)
        problems = verify(document) if isinstance(document, dict) else ["not a certificate"]
        if not problems and certificate_text(document).encode() != content:
            problems = ["written otherwise than it was"]
    except (ValueError, RecursionError) as error:
        raise IntegrityError(where, "not JSON", expected="a certificate") from error
    if problems:
        raise IntegrityError(where, "; ".join(problems), expected="a whole hash chain")
    return dict(document)


def _counts(events: Sequence[Mapping[str, Any]]) -> dict[str, int | float]:
    """Bits told during search; openings of the task set so far; canaries found."""
    return {
        "leaked_bits": sum(e["bits"] for e in events if e.get("event") == "search_ended"),
        "vault_openings": max((e["n"] for e in events if e.get("event") == "opened"), default=0),
        "canary_hits": sum(e["hits"] for e in events if e.get("event") == "canaries_scanned"),
    }


# --- events --------------------------------------------------------------------------------------


def run_events(
    *,
    seal: Mapping[str, Any] | None,
    isolation: str,
    firewall: str,
    search_bits: float,
    opening: Opening | None,
    n_harnesses: int,
) -> list[dict[str, Any]]:
    """The events of one run, in order.

    `seal` holds the fields of `seal.json`, None where the tasks were never sealed. `search_bits` is
    what the grader told before the verdicts were written: 0 unless it was asked by then
    (`told_bits`). `n_harnesses` is how many harnesses' answers the opening graded.
    """
    events: list[dict[str, Any]] = []
    if seal is not None:
        events.append(
            {
                "event": "sealed",
                "taskset_id": seal["taskset_id"],
                "merkle_root": seal["merkle_root"],
                "n": seal["n"],
            }
        )
    events.append({"event": "levels", "isolation": isolation, "firewall": firewall})
    events.append({"event": "search_ended", "bits": search_bits})
    if opening is not None:
        events.extend(_opening_events(opening, n_harnesses=n_harnesses))
    return events


def _opening_events(opening: Opening, *, n_harnesses: int) -> list[dict[str, Any]]:
    n_answers = len(opening.replies)
    n_tasks = max(1, n_answers // max(1, n_harnesses))
    return [
        {
            "event": "opened",
            "n": opening.n_openings,
            "merkle_root": opening.merkle_root,
            "n_answers": n_answers,
        },
        {"event": "canaries_scanned", "hits": opening.canary_hits},
        leak_event(opening.n_openings, n_tasks=n_tasks, n_harnesses=n_harnesses),
    ]


def leak_event(n_openings: int, *, n_tasks: int, n_harnesses: int) -> dict[str, Any]:
    """How far what earlier openings told may flatter the accuracy of the `n_openings`-th."""
    bits = told_bits(n_openings - 1, n_tasks=n_tasks, n_harnesses=n_harnesses)
    return {
        "event": "leak_bound",
        "n_tasks": n_tasks,
        "n_harnesses": n_harnesses,
        "bits_told_by_earlier_openings": round(bits, 3),
        "accuracy_points": round(leak_bound(bits, n=n_tasks), 6),
    }


def told_bits(n_openings: int, *, n_tasks: int, n_harnesses: int) -> float:
    """Bits that openings told whoever read the reports: one accuracy of n_tasks + 1 a harness."""
    return n_openings * n_harnesses * math.log2(n_tasks + 1)


def leak_bound(bits: float, *, n: int) -> float:
    """Most that `bits` learned of n tasks can flatter an accuracy, as a fraction of at most 1.

    sqrt(b ln 2 / (2 n)), the mutual-information bound of Russo and Zou (2016).
    """
    return min(1.0, math.sqrt(bits * math.log(2) / (2 * n)))
