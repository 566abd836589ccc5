"""RunConfig: the manifest's defaults, the environment and the flags, merged once, validated once,
then frozen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from harnesspro.core.errors import ConfigError
from harnesspro.core.records import Manifest, Price

Verb = Literal["improve", "eval", "diagnose"]
Direction = Literal["cost", "success"]
CHANNEL_KINDS = ("panel", "judge", "verifier")
"""What may judge answers beside checks: another model's answers, a model's opinion, an address."""


class Settings(BaseSettings):
    """What a user may set once for all runs: `HARNESSPRO_` and a name, e.g. `HARNESSPRO_BUDGET_USD`."""

    model_config = SettingsConfigDict(env_prefix="HARNESSPRO_", extra="ignore", frozen=True)

    improver_model: str | None = None
    budget_usd: float | None = None
    time_limit_s: float | None = None
    concurrency: int | None = None
    channels: str | None = None
    """`panel:MODEL`, `judge:MODEL`, `verifier:URL`, with blanks between them."""
    allow_unsandboxed: bool = False


class RunConfig(BaseModel):
    """Everything a run needs to know, resolved. Written into run.json; resume reads it back."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    verb: Verb
    harness_ref: str
    tasks_ref: str
    models: dict[str, str]
    improver_model: str | None = None
    channels: tuple[str, ...] = ()
    """What judges answers beside checks: `panel:MODEL`, `judge:MODEL`, `verifier:URL`, each once."""
    n_probes: Annotated[int, Field(ge=0, le=100_000)] | None = None
    """Generated tasks the referee is measured on at most; None = as the size allows, 0 = never."""
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
    controls: bool = False
    """Whether the initial harness asked twice is measured beside the picks."""

    @field_validator("channels")
    @classmethod
    def _known_channels(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            kind, _, what = name.partition(":")
            if kind not in CHANNEL_KINDS or not what or what.split() != [what]:
                raise ValueError("panel:MODEL, judge:MODEL or verifier:URL")
        return tuple(dict.fromkeys(names))

    @property
    def channel_models(self) -> dict[str, str]:
        """Channel -> the name its model is called by; a verifier is one of its own address."""
        return {name: channel_model(name) for name in self.channels}


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


def channel_model(name: str) -> str:
    """The model that speaks for a channel: `judge:M` is M, `verifier:URL` is `verifier/URL`."""
    kind, _, what = name.partition(":")
    return f"verifier/{what}" if kind == "verifier" else what


def merge(
    manifest: Manifest, flags: Mapping[str, Any], *, verb: Verb, harness_ref: str
) -> RunConfig:
    """Flags over environment over manifest defaults; a flag that is None was not given.

    Raises:
        ConfigError: a role has no model, no tasks are named, a value is out of range, or a panel
            is no other model than the harness's.
    """
    settings = _from_environment(verb)
    defaults = _from_manifest(manifest)
    given = {key: value for key, value in flags.items() if value is not None}
    models = dict(manifest.defaults.models) | dict(given.pop("models", {}))
    merged = defaults | settings | given | {"models": models}
    _require(manifest, merged)
    config = validated(merged | {"verb": verb, "harness_ref": harness_ref})
    _require_other_panels(config)
    return config


def validated(values: Mapping[str, Any]) -> RunConfig:
    """The configuration that these values are.

    Raises:
        ConfigError: a value is out of range; names the option.
    """
    try:
        return RunConfig.model_validate(values)
    except ValidationError as error:
        raise _named(error, "option {}".format) from error


def _from_environment(verb: Verb) -> dict[str, Any]:
    """Channels judge changes, so only `improve` has any."""
    try:
        settings = Settings()
    except ValidationError as error:
        raise _named(error, lambda key: f"HARNESSPRO_{key.upper()}") from error
    values = {key: value for key, value in settings.model_dump().items() if value is not None}
    channels = values.pop("channels", "").split()
    return values | ({"channels": tuple(channels)} if channels and verb == "improve" else {})


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


def _require_other_panels(config: RunConfig) -> None:
    """A panel's vote counts as independent; one of the harness's model repeats its mistakes.

    A judge may be of the same model: it is asked another question, and probes show what it is worth.
    """
    for name in config.channels:
        if name.startswith("panel:") and channel_model(name) in config.models.values():
            raise ConfigError(
                f"--channel {name.replace(':', '=', 1)}",
                "the model that the harness itself asks, so its votes are not independent",
                expected="another model, best of another family",
                fix=f"name another, or ask it as a judge (--channel judge={channel_model(name)})",
            )


def out_folder(out: str | None) -> Path:
    """The folder runs are kept in, as an absolute path."""
    return Path(out or ".harnesspro").expanduser().resolve()
