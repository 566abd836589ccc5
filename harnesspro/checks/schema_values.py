"""Values that fit a JSON Schema, drawn by chance, each with how a person would say it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from harnesspro.checks.grounding import words_of

PEOPLE = ("Marta", "Jonas", "Amina", "Ravi", "Chen", "Lucia", "Tomas", "Freya", "Omar", "Ingrid")
PLAIN_WORDS = re.findall(
    r"\w+",
    "coffee violin granite maple harbour saffron lantern orchid cobalt glacier falcon pepper quartz "
    "willow copper meadow ribbon thimble walnut anchor button candle drum ember feather garnet",
)
_WORDS = [*("Lisbon", "Oslo", "Nairobi", "Quito", "Hanoi"), *PEOPLE[:5], *PLAIN_WORDS[:14]]
_SPELT = re.findall(r"\w+", "zero one two three four five six seven eight nine ten eleven twelve")
_DEEPEST = 4


@dataclass(frozen=True, slots=True)
class Filled:
    """A value and its wording."""

    value: Any
    said: str


def fill(schema: Mapping[str, Any], rng: np.random.Generator, *, depth: int = 0) -> Filled:
    """A value that fits the schema (formats, patterns and cross conditions apart)."""
    for key in ("const", "default"):
        if key in schema and (key == "const" or rng.random() < 0.2):
            return Filled(schema[key], said_of(schema[key], rng))
    for key in ("enum", "oneOf", "anyOf"):
        options = schema.get(key)
        if options:
            option = options[int(rng.integers(len(options)))]
            if key == "enum":
                return Filled(option, said_of(option, rng))
            return fill(option, rng, depth=depth)
    kind = _type(schema)
    if kind == "object" and depth < _DEEPEST:
        return _object(schema, rng, depth=depth)
    if kind == "array" and depth < _DEEPEST:
        return _array(schema, rng, depth=depth)
    value = _scalar(kind, schema, rng)
    return Filled(value, said_of(value, rng))


def _type(schema: Mapping[str, Any]) -> str:
    kind = schema.get("type", "object" if "properties" in schema else "string")
    if isinstance(kind, list):
        return next((str(one) for one in kind if one != "null"), "null")
    return str(kind)


def _object(schema: Mapping[str, Any], rng: np.random.Generator, *, depth: int) -> Filled:
    parts = parts_of(schema, rng, depth=depth)
    return Filled({name: part.value for name, part in parts.items()}, said_together(parts))


def parts_of(
    schema: Mapping[str, Any], rng: np.random.Generator, *, depth: int = 0
) -> dict[str, Filled]:
    """Every required property of an object, each other one with an even chance."""
    required = set(schema.get("required", ()))
    return {
        name: fill(inner if isinstance(inner, dict) else {}, rng, depth=depth + 1)
        for name, inner in schema.get("properties", {}).items()
        if name in required or rng.random() < 0.5
    }


def said_together(parts: Mapping[str, Filled]) -> str:
    """Name and wording of each, in order."""
    said = (f"{said_name(name)} {part.said}" for name, part in parts.items())
    return "; ".join(said) or "nothing else"


def said_name(name: str) -> str:
    """A property's name as words."""
    return " ".join(words_of(name.replace("_", " ")))


def _array(schema: Mapping[str, Any], rng: np.random.Generator, *, depth: int) -> Filled:
    inner = schema.get("items")
    least = int(schema.get("minItems", 1))
    most = max(least, int(schema.get("maxItems", least + 2)))
    items = [
        fill(inner if isinstance(inner, dict) else {}, rng, depth=depth + 1)
        for _ in range(int(rng.integers(least, most + 1)))
    ]
    return Filled([item.value for item in items], _listed([item.said for item in items]))


def _listed(parts: Sequence[str]) -> str:
    return " and ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else "".join(parts)


def _scalar(kind: str, schema: Mapping[str, Any], rng: np.random.Generator) -> Any:
    if kind == "boolean":
        return bool(rng.integers(2))
    if kind == "null":
        return None
    if kind in ("integer", "number"):
        low = float(schema.get("minimum", 2))
        high = float(schema.get("maximum", max(low + 1, 2000)))
        drawn = float(rng.uniform(low, high if rng.random() < 0.5 else min(high, low + 10)))
        return round(drawn) if kind == "integer" else round(drawn, 2)
    return " ".join(_WORDS[int(rng.integers(len(_WORDS)))] for _ in range(int(rng.integers(1, 3))))


def said_of(value: Any, rng: np.random.Generator) -> str:
    """How a person writes a value: small counts in words, thousands with commas, shares in percent."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return _said_number(value, rng)
    if isinstance(value, list):
        return _listed([said_of(item, rng) for item in value])
    if isinstance(value, dict):
        return "; ".join(f"{key} {said_of(item, rng)}" for key, item in value.items())
    return "nothing" if value is None else str(value)


def _said_number(value: float, rng: np.random.Generator) -> str:
    plain = rng.random() < 0.5
    if value == int(value) and 0 <= value < len(_SPELT) and not plain:
        return str(_SPELT[int(value)])
    if 0 < abs(value) < 1 and not plain:
        return f"{value * 100:g}%"
    return f"{value:,}" if not plain else str(value)
