"""A user's own price table: YAML, dollars for a million tokens by model and class of token."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from harnesspro.core.errors import ConfigError
from harnesspro.core.money import nanos_from_usd
from harnesspro.core.records import Price
from harnesspro.formats.yaml_text import parse_yaml

_EXAMPLE = "MODEL: {in: 0.25, out: 2.0}, each in dollars for a million tokens"
Dollars = Annotated[float, Field(ge=0, le=1e6)]


class _Line(BaseModel):
    """One model's prices as they are written."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=False)

    in_: Annotated[float, Field(gt=0, le=1e6, alias="in")]
    out: Dollars
    cache_read: Dollars | None = None
    cache_write: Dollars | None = None
    reasoning: Dollars | None = None
    paid: bool = True
    """False where no bill arrives: the price is attributed, never paid."""


def read_prices(path: Path) -> dict[str, Price]:
    """Model -> its price. What a line leaves out costs what its class does: a cached token as any
    other prompt token, a reasoning token as any other output token.

    Raises:
        ConfigError: the file cannot be read, or a line is no price.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(str(path), f"cannot be read: {error}", expected=_EXAMPLE) from error
    table = parse_yaml(text, where=str(path))
    if not isinstance(table, dict) or not table:
        raise ConfigError(str(path), "no price table", expected=_EXAMPLE)
    source = f"{path.name}, sha256 {hashlib.sha256(text.encode()).hexdigest()[:12]}"
    return {
        str(model): _price(str(model), line, where=f"{path}: {model}", source=source)
        for model, line in table.items()
    }


def _price(model: str, line: Any, *, where: str, source: str) -> Price:
    try:
        told = _Line.model_validate(line)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"])) or "the line"
        found = f"{key} is {first.get('input')!r}"
        raise ConfigError(where, found, expected=f"{first['msg']}; {_EXAMPLE}") from error
    return Price(
        model=model,
        in_nanos_per_mtok=nanos_from_usd(told.in_),
        out_nanos_per_mtok=nanos_from_usd(told.out),
        cache_read_nanos_per_mtok=_or(told.cache_read, told.in_),
        cache_write_nanos_per_mtok=_or(told.cache_write, told.in_),
        reasoning_nanos_per_mtok=None if told.reasoning is None else _or(told.reasoning, 0),
        source=source,
        paid=told.paid,
    )


def _or(usd: float | None, otherwise: float) -> int:
    return nanos_from_usd(otherwise if usd is None else usd)
