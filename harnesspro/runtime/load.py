"""`harnesspro.load(ref)`: a harness folder as `.run(task)`, in the caller's own process.

Code parts run with the caller's rights, so code that differs from what the export's provenance
file approved is refused unless the caller allows it. Limits hold in memory.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from pydantic import JsonValue

from harnesspro import sdk
from harnesspro.core.errors import ConfigError, HarnessProError, IntegrityError
from harnesspro.core.money import cost_nanos, usd_from_nanos, worst_case_nanos
from harnesspro.core.ports import ChatRequest, ModelProvider
from harnesspro.core.records import Harness, Price, Task, Usage
from harnesspro.core.replay import replay_key, seed_for
from harnesspro.formats.content import harness_path
from harnesspro.formats.native import load_harness, sdk_payload

PROVENANCE_NAME = "provenance.json"
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
        with _importable(folder):
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
        """
        if not isinstance(task, Task):
            task = Task(task_id="input", input=task)
        door = _Door(self, draw)
        payload = sdk_payload(self.harness, task)
        started = time.monotonic()
        said = sdk.run_trial(payload, door, solve=self._solve, tools=self._tools)
        if said["outcome"] == "fault" and door.error is not None:
            raise door.error
        return Result(
            outcome=said["outcome"],
            answer=said.get("answer"),
            fault=said.get("fault"),
            usage=door.usage,
            cost_usd=None if door.unpriced else usd_from_nanos(door.spent_nanos),
            n_calls=door.n_calls,
            latency_s=time.monotonic() - started,
        )


class _Door:
    """The sdk's transport to the providers, with the trial's limits."""

    def __init__(self, agent: Agent, draw: str) -> None:
        self.agent, self.draw = agent, draw
        self.usage = Usage()
        self.n_calls = self.spent_nanos = 0
        self.unpriced = False
        self.error: HarnessProError | None = None
        self._seen: dict[str, int] = {}

    def __call__(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        role = str(body["model"])
        bounds = self.agent.harness.manifest.roles.get(role)
        if bounds is None:
            raise ValueError(f"no role {role!r} in the manifest")
        model = self.agent.models[role]
        provider = self.agent.providers[model]
        bare = _request(body, model, bounds.max_output_tokens)
        price = provider.price(model)
        self._admit(bare, price)
        occurrence = self._seen.get(bare.model_dump_json(), 0)
        self._seen[bare.model_dump_json()] = occurrence + 1
        key = replay_key(bare, self.draw, occurrence)
        request = bare.model_copy(update={"seed": seed_for(key)})
        try:
            reply = provider.complete(request, timeout_s=self.agent.harness.manifest.limits.wall_s)
        except HarnessProError as error:
            self.error = error
            raise sdk.ModelFault(str(error)) from error
        self.n_calls += 1
        self.usage += reply.usage
        if price is None:
            self.unpriced = True
        else:
            self.spent_nanos += cost_nanos(reply.usage, price)
        return _openai_shape(reply.text, reply.finish_reason, reply.usage, reply.tool_calls)

    def _admit(self, request: ChatRequest, price: Price | None) -> None:
        limits = self.agent.harness.manifest.limits
        if self.n_calls >= limits.calls:
            raise sdk.LimitReached(f"calls: {limits.calls} made")
        if price is None:
            return
        worst = worst_case_nanos(
            in_tokens=len(json.dumps(request.messages, ensure_ascii=False).encode()),
            max_out_tokens=request.max_output_tokens,
            price=price,
        )
        if self.spent_nanos + worst > limits.usd * 1e9:
            raise sdk.LimitReached(f"usd: the next call could pass ${limits.usd}")


def _request(body: Mapping[str, Any], model: str, bound: int) -> ChatRequest:
    asked = body.get("max_tokens")
    return ChatRequest(
        model=model,
        messages=tuple(body["messages"]),
        max_output_tokens=min(int(asked), bound) if asked is not None else bound,
        temperature=body.get("temperature"),
        response_format=body.get("response_format"),
        tools=tuple(body["tools"]) if body.get("tools") else None,
        stop=tuple(body["stop"]) if body.get("stop") else None,
        effort=body.get("reasoning_effort"),
    )


def _openai_shape(
    text: str, finish_reason: str, usage: Usage, tool_calls: tuple[Any, ...]
) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if tool_calls:
        message["tool_calls"] = list(tool_calls)
    return {
        "choices": [{"index": 0, "message": message, "finish_reason": finish_reason}],
        "usage": {"prompt_tokens": usage.in_tokens, "completion_tokens": usage.out_tokens},
    }


@contextmanager
def _importable(folder: Path) -> Iterator[None]:
    """The harness folder first on sys.path, its modules forgotten afterwards.

    Two harnesses may both have a `solver`; importing under a lock keeps them apart.
    """
    with _IMPORTING:
        before = set(sys.modules)
        sys.path.insert(0, str(folder))
        written, sys.dont_write_bytecode = sys.dont_write_bytecode, True
        try:
            yield
        finally:
            sys.path.remove(str(folder))
            sys.dont_write_bytecode = written
            for name in set(sys.modules) - before:
                file = getattr(sys.modules[name], "__file__", None)
                if file and Path(file).is_relative_to(folder):
                    del sys.modules[name]


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
    return value if isinstance(value, dict) else None


def _check_code(harness: Harness, folder: Path, provenance: Mapping[str, Any]) -> None:
    approved = provenance.get("files") or {}
    for path, text in harness.files.items():
        if not path.endswith(".py"):
            continue
        found = hashlib.sha256(text.encode()).hexdigest()
        if approved.get(path) != found:
            raise IntegrityError(
                str(folder / path),
                "code differs from what the export approved",
                fix="review it, then pass allow_code=True",
            )
