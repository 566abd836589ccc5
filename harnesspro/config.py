"""RunConfig: the manifest's defaults, the environment and the flags, merged once, validated once,
then frozen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from harnesspro.core.errors import ConfigError
from harnesspro.core.records import Manifest, Price

Verb = Literal["improve", "eval", "diagnose"]
Direction = Literal["cost", "success"]


class Settings(BaseSettings):
    """What a user may set once for all runs: `HARNESSPRO_` and a name, e.g. `HARNESSPRO_BUDGET_USD`."""

    model_config = SettingsConfigDict(env_prefix="HARNESSPRO_", extra="ignore", frozen=True)

    improver_model: str | None = None
    budget_usd: float | None = None
    time_limit_s: float | None = None
    concurrency: int | None = None
    allow_unsandboxed: bool = False


class RunConfig(BaseModel):
    """Everything a run needs to know, resolved. Written into run.json; resume reads it back."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    verb: Verb
    harness_ref: str
    tasks_ref: str
    models: dict[str, str]
    improver_model: str | None = None
    n_rounds: Annotated[int, Field(ge=1, le=1000)] = 2
    max_candidates: Annotated[int, Field(ge=1)] = 6
    max_picks: Annotated[int, Field(ge=1, le=3)] = 2
    n_search: Annotated[int, Field(ge=4)] | None = None
    n_confirm: Annotated[int, Field(ge=0)] | None = None
    first_block: Annotated[int, Field(ge=2)] = 12
    n_repeats: Annotated[int, Field(ge=1)] = 1
    concurrency: Annotated[int, Field(ge=1)] = 1
    budget_usd: Annotated[float, Field(gt=0, le=1e9)] | None = None
    time_limit_s: Annotated[float, Field(gt=0, le=1e9)] | None = None
    margin: Annotated[float, Field(gt=0, lt=1)] = 0.05
    """eps of "not worse", as a fraction of accuracy."""
    directions: tuple[Direction, ...] = ("cost", "success")
    seed: int = 0
    allow_unsandboxed: bool = False
    open_gold: bool = True
    """Whether the vault is opened once at the end, where there is gold."""


class RunHeader(BaseModel):
    """`run.json`: what a run is, written before its first trial and never changed."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    document: Literal["harnesspro/run-header@1"] = Field(
        default="harnesspro/run-header@1", alias="schema"
    )
    run_id: str
    config: RunConfig
    harness_name: str
    base_harness_id: str
    created_at: str
    prices: tuple[Price, ...]
    isolation: str
    split_key: str
    seal: dict[str, Any] | None = None
    """The public side's seal.json; None where the tasks never had gold."""
    confirmed_before: dict[str, int] = {}
    """Content key of a task -> earlier runs in the same place that wrote verdicts with it."""

    @property
    def models(self) -> tuple[str, ...]:
        """Every model the run may call, each once."""
        return tuple(price.model for price in self.prices)

    @property
    def has_gold(self) -> bool:
        """Whether a vault holds right answers to these tasks."""
        return bool(self.seal and self.seal.get("taskset_id"))


def merge(
    manifest: Manifest, flags: Mapping[str, Any], *, verb: Verb, harness_ref: str
) -> RunConfig:
    """Flags over environment over manifest defaults; a flag that is None was not given.

    Raises:
        ConfigError: a role has no model, no tasks are named, or a value is out of range.
    """
    settings = _from_environment()
    defaults = _from_manifest(manifest)
    given = {key: value for key, value in flags.items() if value is not None}
    models = dict(manifest.defaults.models) | dict(given.pop("models", {}))
    merged = defaults | settings | given | {"models": models}
    _require(manifest, merged)
    return validated(merged | {"verb": verb, "harness_ref": harness_ref})


def validated(values: Mapping[str, Any]) -> RunConfig:
    """The configuration that these values are.

    Raises:
        ConfigError: a value is out of range; names the option.
    """
    try:
        return RunConfig.model_validate(values)
    except ValidationError as error:
        raise _named(error, "option {}".format) from error


def _from_environment() -> dict[str, Any]:
    try:
        settings = Settings()
    except ValidationError as error:
        raise _named(error, lambda key: f"HARNESSPRO_{key.upper()}") from error
    return {key: value for key, value in settings.model_dump().items() if value is not None}


def _named(error: ValidationError, name: Callable[[str], str]) -> ConfigError:
    first = error.errors()[0]
    key = ".".join(str(part) for part in first["loc"])
    return ConfigError(name(key), repr(first.get("input")), expected=first["msg"])


def _from_manifest(manifest: Manifest) -> dict[str, Any]:
    defaults = manifest.defaults
    values = {
        "tasks_ref": defaults.tasks,
        "n_repeats": defaults.repeats,
        "n_search": defaults.n_search,
        "n_confirm": defaults.n_confirm,
        "max_candidates": defaults.max_candidates,
        "max_picks": defaults.max_picks,
        "first_block": defaults.first_block,
        "concurrency": defaults.concurrency,
    }
    return {key: value for key, value in values.items() if value is not None}


def _require(manifest: Manifest, merged: Mapping[str, Any]) -> None:
    if not merged.get("tasks_ref"):
        raise ConfigError(
            "--tasks", "nothing", expected="a tasks.jsonl or a builtin:NAME", fix="name the tasks"
        )
    models = merged["models"]
    unknown = sorted(set(models) - set(manifest.roles))
    if unknown:
        raise ConfigError(
            f"--model {unknown[0]}=…",
            "no such role",
            expected=f"one of {', '.join(sorted(manifest.roles))}",
        )
    missing = sorted(set(manifest.roles) - set(models))
    if missing:
        raise ConfigError(
            f"role {missing[0]}",
            "no model",
            fix=f"add --model {missing[0]}=MODEL (e.g. openai/gpt-5-mini)",
        )


def out_folder(out: str | None) -> Path:
    """The folder runs are kept in, as an absolute path."""
    return Path(out or ".harnesspro").expanduser().resolve()
