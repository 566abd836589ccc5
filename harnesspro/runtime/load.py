"""`harnesspro.load(ref)`: a harness folder as `.run(task)`, in the caller's own process.

Code parts run with the caller's rights, so code that differs from what the export's provenance
file approved is refused unless the caller allows it. Limits hold in memory, by the broker's own
rules; the wall clock is looked at where a model is asked.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.machinery import all_suffixes
from pathlib import Path
from threading import Lock
from typing import Any

from pydantic import JsonValue

from harnesspro import sdk
from harnesspro.broker.trials import Answer, OpenTrial, Ticket
from harnesspro.broker.wire import Refused, completion, parse_body, read_call, token_bound
from harnesspro.core.errors import (
    ConfigError,
    HarnessProError,
    IntegrityError,
    RequestRefused,
    UsageError,
)
from harnesspro.core.money import cost_nanos, usd_from_nanos, worst_case_nanos
from harnesspro.core.ports import ChatRequest, Grant, ModelProvider
from harnesspro.core.records import Harness, Price, Task, Usage
from harnesspro.core.replay import replay_key, request_hash, seed_for
from harnesspro.formats.content import harness_path
from harnesspro.formats.native import load_harness, sdk_payload

PROVENANCE_NAME = "provenance.json"
_IMPORTABLE = tuple(all_suffixes())
_IMPORTING = Lock()


@dataclass(frozen=True, slots=True)
class Result:
    """What one run gave. `outcome` is `answered`, `malformed`, `limit` or `crashed`."""

    outcome: str
    answer: JsonValue
    fault: str | None
    usage: Usage
    cost_usd: float | None
    """At list prices; None where the model has none."""
    n_calls: int
    latency_s: float
    """By the wall clock, the harness's own time included."""


class Agent:
    """A loaded harness. Thread-safe: every run has its own state."""

    def __init__(
        self,
        harness: Harness,
        folder: Path,
        *,
        models: Mapping[str, str],
        providers: Mapping[str, ModelProvider],
    ) -> None:
        """`models` names a model for each role; `providers` answers for each of those models."""
        self.harness, self.folder = harness, folder
        self.models, self.providers = dict(models), dict(providers)
        entry = harness.manifest.entry.python
        if entry is None:
            raise ConfigError(
                str(folder), "a command harness", expected="entry.python to load in process"
            )
        self._grant = _grant(harness, self.models)
        with _importable(folder, harness.files):
            self._solve = sdk.load_entry(entry)
            self._tools = {
                Path(path).stem: importlib.import_module(f"tools.{Path(path).stem}")
                for path in harness.files
                if path.startswith("tools/") and path.endswith(".py")
            }

    @property
    def name(self) -> str:
        """The manifest's name."""
        return self.harness.manifest.name

    def run(self, task: Task | JsonValue, *, draw: str = "search/0") -> Result:
        """One answer to a `Task`, or to a bare input.

        `draw` names the independent draw: the same input in the same draw asks every model with
        the same seeds.

        Raises:
            ProviderError: a model failed for good.
            UsageError: the task has files; there is no folder here to lay them in.
        """
        if not isinstance(task, Task):
            task = Task(task_id="input", input=task)
        if task.files:
            raise UsageError(
                f"task {task.task_id}", "has files", expected="an input alone, in process"
            )
        door = _Door(self._grant.model_copy(update={"draw": draw}), self.providers)
        payload = sdk_payload(self.harness, task)
        started = time.monotonic()

        def solve(given: Any, h: sdk.Harness) -> Any:
            try:
                return self._solve(given, h)
            except KeyboardInterrupt as interrupt:
                door.error = interrupt
                raise

        said = sdk.run_trial(payload, door, solve=solve, tools=self._tools)
        faulty = said["outcome"] == "fault"
        if door.error is not None and (faulty or isinstance(door.error, KeyboardInterrupt)):
            raise door.error
        metered = door.trial.metered()
        return Result(
            # A fault that no provider had is the harness's own word.
            outcome="crashed" if faulty else said["outcome"],
            answer=said.get("answer"),
            fault=said.get("fault"),
            usage=metered.usage,
            cost_usd=None if door.unpriced else usd_from_nanos(metered.cost_nanos),
            n_calls=metered.n_calls,
            latency_s=time.monotonic() - started,
        )


def _grant(harness: Harness, models: Mapping[str, str]) -> Grant:
    roles = harness.manifest.roles
    return Grant(
        trial_id="in process",
        harness_id=harness.harness_id,
        task_id="in process",
        draw="search/0",
        purse="target",
        models={name: models[name] for name in roles},
        max_output_tokens={name: role.max_output_tokens for name, role in roles.items()},
        limits=harness.manifest.limits,
    )


class _Door:
    """The sdk's transport to the providers: lets through what the broker would, and counts it."""

    def __init__(self, grant: Grant, providers: Mapping[str, ModelProvider]) -> None:
        self.trial, self._providers = OpenTrial(grant, 0), providers
        self._ends_at = time.monotonic() + grant.limits.wall_s
        self.unpriced = False
        self.error: HarnessProError | KeyboardInterrupt | None = None

    def __call__(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        grant = self.trial.grant
        if time.monotonic() > self._ends_at:
            raise sdk.LimitReached(f"wall clock: over {grant.limits.wall_s:g} s")
        try:
            role, request = read_call(parse_body(json.dumps(body).encode()), grant)
            price = self._providers[request.model].price(request.model)
            ticket = self.trial.admit(request_hash(request), _worst_nanos(request, price))
        except Refused as refused:
            kind = sdk.LimitReached if refused.code == "limit" else ValueError
            raise kind(refused.message) from refused
        key = replay_key(request, grant.draw, ticket.occurrence)
        seeded = request.model_copy(update={"seed": seed_for(key)})
        return completion(role, key, self._answer(seeded, ticket, price).reply)

    def _answer(self, request: ChatRequest, ticket: Ticket, price: Price | None) -> Answer:
        answer = None
        wall_s = self.trial.grant.limits.wall_s
        try:
            reply = self._providers[request.model].complete(request, timeout_s=wall_s)
            nanos = 0 if price is None else cost_nanos(reply.usage, price)
            self.unpriced = self.unpriced or price is None
            answer = Answer(reply, nanos, paid_nanos=nanos, replayed=False)
        except RequestRefused as error:
            raise ValueError(error.found) from error
        except HarnessProError as error:
            self.error = error
            raise sdk.ModelFault(str(error)) from error
        finally:
            self.trial.leave(ticket, answer)
        return answer


def _worst_nanos(request: ChatRequest, price: Price | None) -> int:
    if price is None:
        return 0
    return worst_case_nanos(
        in_tokens=token_bound(request), max_out_tokens=request.max_output_tokens, price=price
    )


@contextmanager
def _importable(folder: Path, files: Iterable[str]) -> Iterator[None]:
    """The harness folder first on sys.path; its modules neither meet the caller's nor stay.

    Two harnesses may both have a `solver`, and the caller one too; importing under a lock, with
    every other module of these names out of sight, keeps them apart. Compiled files in the folder
    are not looked at: they may say something else than the text.
    """
    own = {path.partition("/")[0].removesuffix(".py") for path in files if path.endswith(".py")}
    own -= {"harnesspro", *sys.stdlib_module_names}
    with _IMPORTING:
        hidden = {name: sys.modules.pop(name) for name in _modules_of(own)}
        kept = sys.dont_write_bytecode, sys.pycache_prefix
        sys.dont_write_bytecode, sys.pycache_prefix = True, str(folder / ".no-such-folder")
        sys.path.insert(0, str(folder))
        importlib.invalidate_caches()
        try:
            yield
        finally:
            sys.path.remove(str(folder))
            sys.dont_write_bytecode, sys.pycache_prefix = kept
            for name in _modules_of(own):
                del sys.modules[name]
            sys.modules.update(hidden)


def _modules_of(tops: Set[str]) -> list[str]:
    return [name for name in sys.modules if name.partition(".")[0] in tops]


def load(
    ref: str | Path,
    *,
    models: Mapping[str, str] | None = None,
    server_urls: Mapping[str, str] | None = None,
    allow_code: bool = False,
) -> Agent:
    """The harness in a folder (or `builtin:NAME`), ready to run.

    `models` maps roles to models over what the export or the manifest names; `server_urls` maps a
    `local/NAME` model to the address of its server (`harnesspro model serve`).

    Raises:
        ConfigError: no such folder, or a role has no model.
        IntegrityError: code differs from what the provenance file approved.
    """
    from harnesspro.providers.registry import provider_for

    folder = harness_path(str(ref))
    harness = load_harness(folder)
    provenance = _provenance(folder)
    if provenance is not None and not allow_code:
        _check_code(harness, folder, provenance)
    chosen = dict(harness.manifest.defaults.models)
    chosen |= (provenance or {}).get("models") or {}
    chosen |= dict(models or {})
    missing = sorted(set(harness.manifest.roles) - set(chosen))
    if missing:
        raise ConfigError(str(folder), f"role {missing[0]} has no model", fix="pass models={...}")
    urls = dict(server_urls or {})
    providers = {model: provider_for(model, server_urls=urls) for model in set(chosen.values())}
    return Agent(harness, folder, models=chosen, providers=providers)


def _provenance(folder: Path) -> dict[str, Any] | None:
    try:
        value = json.loads((folder / PROVENANCE_NAME).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise IntegrityError(
            str(folder / PROVENANCE_NAME), "not JSON", fix="export the harness again"
        ) from error
    if not isinstance(value, dict):
        raise IntegrityError(
            str(folder / PROVENANCE_NAME), "no JSON object", fix="export the harness again"
        )
    return value


def _check_code(harness: Harness, folder: Path, provenance: Mapping[str, Any]) -> None:
    approved = provenance.get("approved") or {}
    parts = {part.path for part in harness.manifest.parts.values() if part.kind == "code"}
    for path in sorted({*approved, *harness.files}):
        if not path.endswith(_IMPORTABLE) and path not in parts:
            continue
        text = harness.files.get(path, "")
        found = hashlib.sha256(text.encode()).hexdigest()
        if approved.get(path) != found:
            raise IntegrityError(
                str(folder / path),
                "code differs from what the export approved",
                fix="review it, then pass allow_code=True",
            )
