"""Which model call is the same call again: the replay key and the seed that follows from it.

Paid once, a call is handed out again under its key; so variants of a harness are compared on the
same luck where they ask the same thing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from harnesspro.core.hashing import content_hash, seed_from

if TYPE_CHECKING:
    from harnesspro.core.ports import ChatRequest

_LARGEST_SEED = 0x7FFF_FFFF


def request_hash(request: ChatRequest) -> str:
    """Content hash of everything the model is asked, its name included, the seed left out."""
    return content_hash(request.model_dump(mode="json", exclude={"seed"}))


def replay_key(request: ChatRequest, draw: str, occurrence: int) -> str:
    """The key of the `occurrence`-th time (from 0) a trial of this draw makes this request."""
    return content_hash(request_hash(request), draw, occurrence)


def seed_for(key: str) -> int:
    """The seed sent with the call of this key: 31 bits, so that every provider takes it whole."""
    return seed_from(key) & _LARGEST_SEED
