"""Events that cannot be changed unseen: each carries the hash of the one before it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harnesspro.core.hashing import content_hash

START = "0" * 64
"""What stands as `prev` in the first event."""


def chained(event: Mapping[str, Any], *, prev: str) -> dict[str, Any]:
    """The event with `prev` and its own `hash`, which covers `prev`."""
    body = {**event, "prev": prev}
    return {**body, "hash": content_hash(body)}


def head(events: Sequence[Mapping[str, Any]]) -> str:
    """The hash that the next event carries as `prev`."""
    return str(events[-1]["hash"]) if events else START


def chain_problems(events: Sequence[Any]) -> list[str]:
    """What does not hold, in plain words; empty where the chain is whole.

    Events cut off at the end leave no trace here: compare `head` with a copy kept elsewhere.
    """
    problems, prev = [], START
    for index, event in enumerate(events):
        if not isinstance(event, Mapping) or not isinstance(event.get("hash"), str):
            problems.append(f"event {index}: not an event with a hash")
            continue
        if event.get("prev") != prev:
            problems.append(f"event {index}: does not follow the event before it")
        if not _hash_holds(event):
            problems.append(f"event {index}: changed after it was written")
        prev = event["hash"]
    return problems


def _hash_holds(event: Mapping[str, Any]) -> bool:
    try:
        body = {key: value for key, value in event.items() if key != "hash"}
        return bool(content_hash(body) == event["hash"])
    except (TypeError, ValueError):  # a NaN, or what no JSON text can hold
        return False
