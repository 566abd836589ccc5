"""Real trials for the attacks: a launcher, a broker with a model of our choice, and a backend."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event
from typing import Any

from harnesspro.backends.local import LocalBackend
from harnesspro.broker.client import BrokerClient
from harnesspro.broker.serve import BrokerServer
from harnesspro.core.ports import ChatReply, ChatRequest, ModelProvider, TrialJob
from harnesspro.core.records import Harness, Task, Trial, Usage
from harnesspro.formats.native import harness_from_files, sdk_payload
from harnesspro.sandbox.client import SandboxClient
from harnesspro.sandbox.start import start_launcher
from harnesspro.store.trees import GitTrees
from harnesspro.testing.doubles import MemoryLedger
from tests.unit.broker.builders import MODEL, config, price
from tests.unit.sandbox.boxes import open_folder

MANIFEST = """\
format: harnesspro/1
name: judged
about: A harness under test.
entry: {{python: "solver.py:solve"}}
answer: {{kind: {kind}}}
roles: {{writer: {{max_output_tokens: 100}}}}
parts:
  system: {{path: prompts/system.md, kind: prompt}}
  flow: {{path: solver.py, kind: code}}
limits: {{usd: 1.0, calls: 30, wall_s: 20}}
"""


class Instant:
    """A model that answers by a function of the request, and keeps what it was asked."""

    def __init__(self, say: Callable[[ChatRequest], str] = lambda request: "yes") -> None:
        self.say, self.requests = say, list[ChatRequest]()

    def complete(self, request: ChatRequest, *, timeout_s: float) -> ChatReply:
        """Ten tokens in, five out, at a nano-dollar a thousand of each price unit."""
        self.requests.append(request)
        usage = Usage(uncached_in_tokens=10_000, out_tokens=5_000)
        return ChatReply(
            text=self.say(request),
            finish_reason="stop",
            usage=usage,
            model=request.model,
            latency_s=0.5,
        )

    def price(self, model: str) -> None:
        """The broker is told the price elsewhere."""

    def check(self, model: str) -> None:
        """It can always be called."""


@dataclass
class Ground:
    """A whole way from a harness to its trials."""

    backend: LocalBackend
    sandbox: SandboxClient
    ledger: MemoryLedger
    meter: BrokerClient

    def run(self, *jobs: TrialJob) -> list[Trial]:
        """The jobs' trials in their order."""
        for job in jobs:
            self.backend.trees.put(job.harness, message="a test")
        found = {trial.trial_id: trial for trial in self.backend.run(jobs)}
        return [found[job.trial_id] for job in jobs]


def candidate(
    solver: str, *, kind: str = "text", system: str = "Be brief.", **files: str
) -> Harness:
    """A harness of this code."""
    named = {name.replace("__", "/").replace("_dot_", "."): text for name, text in files.items()}
    own = {
        "harness.yaml": MANIFEST.format(kind=kind),
        "prompts/system.md": f"{system}\n",
        "solver.py": solver,
    }
    return harness_from_files({**own, **named}, where="judged")


def job(harness: Harness, task: Task | None = None, **changes: Any) -> TrialJob:
    """One trial of a harness."""
    fields: dict[str, Any] = {"draw": "search/0", "purse": "target"} | changes
    models = fields.pop("models", {"writer": MODEL})
    given = task or Task(task_id="task-0000", input={"question": "q"})
    return TrialJob(harness=harness, task=given, models=models, **fields)


@contextmanager
def trial_ground(
    provider: ModelProvider, *, level: str = "S3", concurrency: int = 1, models: Sequence[str] = ()
) -> Iterator[Ground]:
    """Launcher, broker and backend, ended with the block."""
    with open_folder() as folder:
        trial_socket, admin_socket = str(folder / "broker.sock"), str(folder / "admin.sock")
        prices = {name: price(model=name) for name in (MODEL, *models)}
        settings = config(trial_socket=trial_socket, admin_socket=admin_socket, prices=prices)
        ledger, trees = MemoryLedger(), GitTrees(folder / "run")
        (folder / "run" / "staged").mkdir(parents=True)
        with BrokerServer(settings, lambda model: provider, ledger):
            process, sock = start_launcher(
                level=level,
                trial_socket=trial_socket,
                work_root=str(folder / "w"),
                code_roots=[str(folder / "run")],
            )
            client = SandboxClient(sock, level)
            meter = BrokerClient(admin_socket)
            backend = LocalBackend(
                sandbox=client,
                meter=meter,
                ledger=ledger,
                trees=trees,
                payload_of=sdk_payload,
                concurrency=concurrency,
                stop=Event(),
                purse_empty=Event(),
                round_empty=Event(),
            )
            try:
                yield Ground(backend, client, ledger, meter)
            finally:
                client.close()
                process.wait(20)
