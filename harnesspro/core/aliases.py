"""Whether the name a reply came under is the name that was asked for. Pure."""

from __future__ import annotations

import re

_DATED = re.compile(r"(?:[-@:](?:\d{4}-?\d{2}-?\d{2}|\d{3,8}|latest|preview))+$")


def same_model(asked: str, told: str) -> bool:
    """Whether `told` is `asked`, its dated form, or without its provider's name in front.

    A provider that answers under a name of its own (a deployment's model) counts as another: that is to be
    said, not guessed.
    """
    return _plain(asked) == _plain(told)


def _plain(name: str) -> str:
    last = name.casefold().rstrip("/").rpartition("/")[2]
    return _DATED.sub("", last)
