"""YAML parts of a harness as text: read plainly, and one key set with comments and order kept."""

from __future__ import annotations

import io
from typing import Any

import yaml
from pydantic import JsonValue

from harnesspro.core.errors import ConfigError, PatchError

MAX_YAML_BYTES = 1_000_000


class _NoAliasLoader(yaml.SafeLoader):
    """Safe YAML without aliases: a few bytes of them can expand to millions of nodes."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.events.AliasEvent):
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise yaml.constructor.ConstructorError(None, None, "aliases are not allowed", mark)
        return super().compose_node(parent, index)


def parse_yaml(text: str, *, where: str) -> Any:
    """Plain values of a YAML text.

    Raises:
        ConfigError: not YAML, over 1 MB, or it uses aliases.
    """
    if len(text) > MAX_YAML_BYTES:
        raise ConfigError(where, f"{len(text)} bytes", expected=f"at most {MAX_YAML_BYTES}")
    try:
        return yaml.load(text, Loader=_NoAliasLoader)  # noqa: S506 - a SafeLoader
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # 2026-13-01 is a ValueError
        problem = " ".join(str(error).split())
        raise ConfigError(where, f"not valid YAML: {problem}", fix="mend the file") from error


def set_yaml_key(text: str, key: str, value: JsonValue) -> str:
    """The YAML text with one dotted key set, comments and order kept.

    Raises:
        PatchError: a parent of the key is not a mapping, or the text is no YAML.
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    round_trip = YAML(typ="rt")
    round_trip.preserve_quotes = True
    round_trip.width = 4096
    try:
        document = round_trip.load(text) or {}
    except (YAMLError, ValueError, RecursionError) as error:
        raise PatchError(key, "a text that is no YAML", expected="a key set in YAML") from error
    *parents, last = key.split(".")
    place = document
    for parent in parents:
        place = place.setdefault(parent, {}) if isinstance(place, dict) else None
    if not isinstance(place, dict):
        raise PatchError(key, "a parent that is no mapping", expected="a key path of mappings")
    place[last] = _unmistakable(value)
    out = io.StringIO()
    round_trip.dump(document, out)
    return out.getvalue()


def _unmistakable(value: JsonValue) -> JsonValue:
    """Text quoted where it would read back as something else: ruamel writes YAML 1.2, where `yes`
    is a string, and `parse_yaml` reads 1.1, where it is true.
    """
    from ruamel.yaml.scalarstring import DoubleQuotedScalarString

    if not isinstance(value, str):
        return value
    try:
        same = yaml.safe_load(value) == value
    except yaml.YAMLError:
        same = False
    return value if same else DoubleQuotedScalarString(value)
