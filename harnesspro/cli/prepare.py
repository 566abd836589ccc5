"""Everything a run needs, resolved and checked before a cent is spent or a folder is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harnesspro.config import RunConfig, Verb, merge
from harnesspro.core.errors import ConfigError, ModelUnknown
from harnesspro.core.hashing import content_hash
from harnesspro.core.records import Harness, Price, Task
from harnesspro.formats.content import harness_path
from harnesspro.formats.native import load_harness
from harnesspro.formats.paths import vault_home
from harnesspro.formats.tasks import answered_inputs, load_tasks
from harnesspro.formats.tasksets import TaskSet, task_set

N_PLANTED_TASKS = 240
_JSON_LINES = (".jsonl", ".ndjson")
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A run that could start now."""

    config: RunConfig
    harness: Harness
    task_set: TaskSet
    tasks: tuple[Task, ...]
    prices: tuple[Price, ...]
    isolation: str


def prepare(harness_ref: str, flags: Mapping[str, Any], *, verb: Verb, say: Say) -> Prepared:
    """Resolve harness, configuration, isolation, tasks, models and prices.

    Raises:
        ConfigError: anything the caller can mend; nothing was spent.
    """
    from harnesspro.sandbox.probes import require

    harness = load_harness(harness_path(harness_ref))
    own_prices = _own_prices(flags.get("prices"))
    flags = {key: value for key, value in flags.items() if key != "prices"}
    config = merge(harness.manifest, flags, verb=verb, harness_ref=harness_ref)
    _refuse_what_is_not_built(harness)
    warn_of_own_judges(config, say)
    isolation = require(allow_unsandboxed=config.allow_unsandboxed)
    tasks_at = resolve_tasks(config, say=say)
    if config.open_gold and tasks_at.seal is not None:
        _require_vault(tasks_at.seal["taskset_id"])
    tasks = load_tasks(tasks_at.tasks_path)
    _refuse_answers_inside(harness, tasks)
    return Prepared(
        config=config,
        harness=harness,
        task_set=tasks_at,
        tasks=tasks,
        prices=tuple(price_of(model, own_prices) for model in _models(config)),
        isolation=isolation,
    )


def _refuse_answers_inside(harness: Harness, tasks: Sequence[Task]) -> None:
    """A harness folder is shown to its code whole: the sealed file must not lie forgotten in it."""
    inputs = {content_hash(task.input) for task in tasks}
    for path, text in harness.files.items():
        if path.endswith(_JSON_LINES) and not inputs.isdisjoint(answered_inputs(text)):
            raise ConfigError(
                f"{harness.manifest.name}/{path}",
                "holds right answers to these tasks",
                expected="no answers where the harness can read them",
                fix="move the file out of the harness folder",
            )


def _require_vault(taskset_id: str) -> None:
    vault = vault_home() / taskset_id
    if not vault.is_dir():
        raise ConfigError(
            str(vault),
            "the right answers to these tasks are not there",
            fix="seal or pull the tasks again, set XDG_DATA_HOME to where the vault is, or say "
            "--no-gold",
        )


def _models(config: RunConfig) -> tuple[str, ...]:
    """Every model the run may call, each once."""
    improver = (config.improver_model,) if config.improver_model else ()
    channels = config.channel_models.values()
    return tuple(dict.fromkeys((*config.models.values(), *improver, *channels)))


def warn_of_own_judges(config: RunConfig, say: Say) -> None:
    """A judge of the harness's own model is let in, and its owner told what that means."""
    for name, model in config.channel_models.items():
        if name.startswith("judge:") and model in config.models.values():
            say(
                f"{name}: the harness asks the same model, so the judge shares its mistakes; it is "
                "heard only if probes show that it tells right answers from wrong ones."
            )


def _refuse_what_is_not_built(harness: Harness) -> None:
    manifest = harness.manifest
    where = f"{manifest.name}/harness.yaml"
    permits = manifest.permits
    if permits.read or permits.env or permits.hosts:
        raise ConfigError(
            f"{where}: permits",
            "not empty",
            expected="nothing: this version grants no access beyond the task and the models",
            fix="leave the key out",
        )
    if manifest.entry.command is not None:
        raise ConfigError(
            f"{where}: entry.command", "a command", expected="entry.python in this version"
        )
    spec = manifest.answer
    if spec.language not in (None, "python") or (spec.language and spec.kind != "code"):
        raise ConfigError(
            f"{where}: answer.language",
            f"{spec.language} for answers of kind {spec.kind}",
            expected="python, and for answers of kind code only, in this version",
        )


def resolve_tasks(config: RunConfig, *, say: Say) -> TaskSet:
    """The public side of the run's tasks; `builtin:planted` is drawn and sealed for the seed."""
    if config.tasks_ref != "builtin:planted":
        return task_set(config.tasks_ref)
    from harnesspro.providers.sim import draw_tasks
    from harnesspro.vault.tasksets import ensure_sealed

    name = f"planted-seed{config.seed}"
    folder = ensure_sealed(
        name,
        lambda: draw_tasks(config.seed, N_PLANTED_TASKS),
        answer_kind="choice",
        scheme="exact",
        say=say,
        split_key=content_hash("planted", config.seed),
    )
    return task_set(str(folder))


def _own_prices(path: str | None) -> Mapping[str, Price]:
    from harnesspro.formats.prices import read_prices

    return read_prices(Path(path).expanduser()) if path else {}


def price_of(model: str, own: Mapping[str, Price]) -> Price:
    """The model's price, the model being callable: from the user's table, else its list price.

    Raises:
        ModelUnknown: no such model, not downloaded, or no price is known for it.
        ProviderError: no key.
    """
    from harnesspro.providers.registry import provider_for

    provider = provider_for(model, server_urls={})
    if model.startswith("local/"):
        from harnesspro.providers.model_server import model_file

        model_file(model)  # its server is started with the run
    else:
        provider.check(model)
    return known_price(model, own)


def known_price(model: str, own: Mapping[str, Price]) -> Price:
    """The model's price, whether it can be called here or not.

    Raises:
        ModelUnknown: none is known.
    """
    from harnesspro.providers.registry import provider_for

    price = own.get(model) or provider_for(model, server_urls={}).price(model)
    if price is None:
        raise ModelUnknown(
            model,
            "no price is known",
            expected="a model with a list price, so that costs can be compared",
            fix=f"give it one: a line `{model}: {{in: 0.25, out: 2.0}}` (dollars for a million tokens) "
            "in a file named by --prices",
        )
    return price


def copy_into(prepared: Prepared, run_dir: Path) -> None:
    """The harness and the public tasks as they are now, so that the run folder stands alone."""
    from harnesspro.formats.native import save_harness
    from harnesspro.formats.tasks import task_line

    save_harness(prepared.harness, run_dir / "base")
    lines = "".join(task_line(task) + "\n" for task in prepared.tasks)
    (run_dir / "tasks.jsonl").write_text(lines, encoding="utf-8")
