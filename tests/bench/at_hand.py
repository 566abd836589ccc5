"""A whole search in this process: the real loop, desk and ledger, with the solver called directly.

No sandbox and no other process, so that hundreds of trials on the simulator take seconds.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cache
from pathlib import Path
from threading import Event
from types import ModuleType
from typing import Any

from harnesspro import sdk
from harnesspro.backends.local import LocalBackend
from harnesspro.broker.config import BrokerConfig
from harnesspro.broker.desk import CallDesk
from harnesspro.broker.wire import Refused
from harnesspro.config import RunConfig, RunHeader
from harnesspro.core.documents import CertificateSummary
from harnesspro.core.ports import Proposer, SandboxResult, SandboxSpec
from harnesspro.core.records import Harness, Price, Task
from harnesspro.formats import native
from harnesspro.loop.bench import Bench, Ports
from harnesspro.loop.opening import open_bench
from harnesspro.providers.sim import SimProvider
from harnesspro.providers.sim_tasks import draw_tasks
from harnesspro.store.archive import FileArchive
from harnesspro.store.ledger import LedgerWriter
from harnesspro.testing.doubles import FixedClock, FolderTrees, NullSink

NOTHING_LEFT = CertificateSummary(leaked_bits=0.0, vault_openings=0, canary_hits=0)


class OpenBox:
    """A `Sandbox` that isolates nothing: the entry is called here, models are reached at the desk."""

    level = "S0"

    def __init__(self, desk: CallDesk) -> None:
        self._desk = desk

    def run(self, spec: SandboxSpec) -> SandboxResult:
        """One trial of a Python entry."""
        payload = json.loads(spec.payload)
        said = sdk.run_trial(
            payload,
            _Wire(self._desk, payload["token"]),
            solve=entry_of(spec.code_dir, payload["entry"]),
        )
        return SandboxResult("exited", 0, json.dumps(said).encode(), stderr="", wall_s=0.0)


class _Wire:
    """The sdk's way to models, its refusals as the broker's HTTP would say them."""

    def __init__(self, desk: CallDesk, token: str) -> None:
        self._desk, self._token = desk, token

    def __call__(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        try:
            return self._desk.complete(self._token, json.dumps(body).encode())
        except Refused as error:
            if error.code == "limit":
                raise sdk.LimitReached(str(error)) from error
            if error.code == "invalid":
                raise ValueError(str(error)) from error
            raise sdk.ModelFault(str(error)) from error


@cache
def entry_of(folder: str, entry: str) -> Any:
    """The function `file.py:function` of a staged harness, each folder's module its own."""
    file, _, function = entry.partition(":")
    module = ModuleType(file.removesuffix(".py"))
    source = (Path(folder) / file).read_text(encoding="utf-8")
    exec(compile(source, file, "exec"), module.__dict__)
    return getattr(module, function)


def sim_tasks(seed: int, n: int) -> list[Task]:
    """Fresh tasks of the planted harness, without their answers."""
    return [
        Task(task_id=f"s{seed}-{index}", family=record["family"], input=record["input"])
        for index, record in enumerate(draw_tasks(seed, n))
    ]


def a_search(
    folder: Path,
    base: Harness,
    *,
    tasks: Sequence[Task],
    proposers: tuple[Proposer, ...],
    model: str = "sim/small",
    **settings: Any,
) -> AbstractContextManager[Bench]:
    """The bench of an improvement run over these tasks, its ledger open as long as the context.

    `settings` are fields of `RunConfig`.
    """
    return _Search(folder, base, tasks=tasks, proposers=proposers, model=model, settings=settings)


class _Search(AbstractContextManager[Bench]):
    def __init__(
        self,
        folder: Path,
        base: Harness,
        *,
        tasks: Sequence[Task],
        proposers: tuple[Proposer, ...],
        model: str,
        settings: Mapping[str, Any],
    ) -> None:
        (folder / "run").mkdir(parents=True)
        self._folder, self._base, self._tasks = folder, base, tasks
        self._proposers, self._model = proposers, model
        self._config = RunConfig(
            verb="improve",
            harness_ref=base.manifest.name,
            tasks_ref="drawn",
            models=dict.fromkeys(base.manifest.roles, model),
            **settings,
        )
        self._ledger = LedgerWriter(str(folder / "run"))

    def __enter__(self) -> Bench:
        self._ledger.__enter__()
        return open_bench(
            self._header(),
            self._ports(),
            base=self._base,
            tasks=self._tasks,
            run_dir=self._folder / "run",
            firewall="F0",
        )

    def __exit__(self, *exc: Any) -> None:
        self._ledger.__exit__(*exc)

    @property
    def _price(self) -> Price:
        price = SimProvider().price(self._model)
        assert price is not None
        return price

    def _header(self) -> RunHeader:
        return RunHeader(
            run_id="bench",
            config=self._config,
            harness_name=self._base.manifest.name,
            base_harness_id=self._base.harness_id,
            created_at="2026-01-01",
            prices=(self._price,),
            isolation="S0",
            split_key="bench",
        )

    def _ports(self) -> Ports:
        provider = SimProvider()
        config = BrokerConfig(
            run_dir=str(self._folder),
            trial_socket="",
            admin_socket="",
            cap_nanos=None,
            prices={self._model: self._price},
            call_timeout_s=60.0,
            parent_pid=0,
        )
        desk = CallDesk(config, lambda model: provider, self._ledger)
        trees, round_empty = FolderTrees(self._folder / "trees"), Event()
        box = OpenBox(desk)
        backend = LocalBackend(
            sandbox=box,
            meter=desk,
            ledger=self._ledger,
            trees=trees,
            payload_of=native.sdk_payload,
            concurrency=1,
            stop=Event(),
            purse_empty=Event(),
            round_empty=round_empty,
        )
        return Ports(
            backend=backend,
            sandbox=box,
            ledger=self._ledger,
            meter=desk,
            trees=trees,
            archive=FileArchive(self._folder / "archive", self._folder / "shipped"),
            grader=None,
            events=NullSink(),
            clock=FixedClock(),
            voices={},
            proposers=self._proposers,
            read_harness=lambda files: native.harness_from_files(files, where="candidate"),
            apply_patch=native.apply_patch,
            keep_trajectory=lambda trajectory: None,
            write_report=lambda document: None,
            certify=lambda opening, n: NOTHING_LEFT,
            interrupted=lambda: False,
            purse_empty=lambda: False,
            round_empty=round_empty,
        )
