"""RunConfig to working parts: each process of a run gets its adapters here, one `main_*` a process.

Started as `python -m harnesspro.wiring ROLE FD`, its configuration on the inherited pipe FD.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sqlite3
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

from harnesspro import processes
from harnesspro.config import RunHeader
from harnesspro.core.crash import At, dying_at
from harnesspro.core.documents import CertificateSummary
from harnesspro.core.errors import EXIT_INTERRUPTED, HarnessProError, IntegrityError
from harnesspro.core.ports import (
    Archive,
    Backend,
    EventSink,
    Grader,
    Improver,
    Ledger,
    Opening,
    Proposer,
    Sandbox,
    Trees,
)
from harnesspro.core.records import Step

CALL_TIMEOUT_S = 300.0
Say = Callable[[str], None]


def main_broker(config: dict[str, Any]) -> int:
    """The door to models, the purses, the ledger's one writer."""
    from harnesspro.broker.serve import BrokerConfig, serve
    from harnesspro.core.money import nanos_from_usd
    from harnesspro.core.purses import improver_cap_nanos
    from harnesspro.core.records import Price
    from harnesspro.core.redact import redactor, secrets_of
    from harnesspro.providers.registry import provider_for
    from harnesspro.store.ledger import LedgerWriter

    sys.stderr = open(config["log"], "a", encoding="utf-8", buffering=1)  # noqa: SIM115 - for the life of the process
    code = 0
    try:
        cap = None if config["cap_usd"] is None else nanos_from_usd(config["cap_usd"])
        prices = [Price.model_validate(price) for price in config["prices"]]
        redact = redactor(secrets_of(os.environ))
        at = _dying()
        with LedgerWriter(config["run_dir"], redact=redact, at=at) as ledger:
            serve(
                BrokerConfig(
                    run_dir=config["run_dir"],
                    trial_socket=config["trial_socket"],
                    admin_socket=config["admin_socket"],
                    cap_nanos=cap,
                    improver_cap_nanos=improver_cap_nanos(cap),
                    prices={price.model: price for price in prices},
                    call_timeout_s=CALL_TIMEOUT_S,
                    parent_pid=config["parent_pid"],
                ),
                lambda model: provider_for(model, server_urls=config["server_urls"]),
                ledger,
                at,
            )
    except HarnessProError as error:
        sys.stderr.write(json.dumps(error.document()) + "\n")
        code = error.exit_code
    # A call that outlasts the drain still holds a thread; the ledger is closed, so leave.
    os._exit(code)


def main_grader(config: dict[str, Any]) -> int:
    """The only process that opens the vault; as a user of its own where it was given one."""
    from harnesspro.vault import guard
    from harnesspro.vault.grader import GraderConfig, serve
    from harnesspro.vault.wire import write_frame

    if config["uid"] is not None:
        guard.become(config["uid"])
        processes.die_with_parent(config["parent_pid"])  # another user is another parent's child
    guard.harden()
    door = socket.socket(fileno=config["door_fd"])
    write_frame(door, {"uid": os.geteuid()})
    serve(
        socket.socket(fileno=config["fd"]),
        GraderConfig.model_validate(config["grader"]),
        partial(_borrowed, door, config["isolation"], []),
    )
    return 0


def _borrowed(door: socket.socket, level: str, kept: list[Sandbox]) -> Sandbox:
    """The sandbox whose socket comes through the door, once; later the same."""
    from harnesspro.sandbox.client import SandboxClient

    if not kept:
        door.settimeout(processes.START_TIMEOUT_S)
        _, fds, _, _ = socket.recv_fds(door, 1, 1)
        if not fds:
            raise HarnessProError("grader", "no sandbox came through the door")
        kept.append(SandboxClient.from_fd(fds[0], level))
    return kept[0]


def main_orchestrator(config: dict[str, Any]) -> int:
    """The loop, with no key, no vault and no right to make a namespace."""
    header = RunHeader.model_validate(config["header"])
    interrupted = Event()
    _answer_ctrl_c(interrupted)
    sink = _events(header, quiet=config["quiet"], lines_fd=config["events_fd"])
    try:
        from harnesspro.loop.sitting import sit

        return sit(build_bench(header, config, interrupted, sink))
    except (OSError, sqlite3.Error) as error:  # a full disk, a folder gone, checkpoints damaged
        sink.emit("run.stopped", reason="error")
        _warn([f"{config['run_dir']}: {error}; see that the disk has room and can be written"])
        return 1
    except HarnessProError as error:
        sink.emit("run.stopped", reason="error")
        _warn([str(error)])
        return error.exit_code


def _answer_ctrl_c(interrupted: Event) -> None:
    """The first Ctrl-C finishes running trials and stops; the second stops now."""

    def answer(_signal: int, _frame: object) -> None:
        if interrupted.is_set():
            os._exit(EXIT_INTERRUPTED)
        interrupted.set()
        sys.stderr.write("\nFinishing what is running; Ctrl-C again to stop at once.\n")

    signal.signal(signal.SIGINT, answer)


def _events(header: RunHeader, *, quiet: bool, lines_fd: int | None) -> EventSink:
    from rich.console import Console

    from harnesspro.core.redact import redactor, secrets_of
    from harnesspro.view.events import Both, EventLines
    from harnesspro.view.live import LiveProgress

    sinks: list[EventSink] = [] if quiet else [LiveProgress(Console(stderr=True))]
    if lines_fd is not None:
        stream = open(lines_fd, "a", encoding="utf-8")  # noqa: SIM115 - for the life of the process
        redact = redactor(secrets_of(os.environ))
        lost = partial(_say_one, header.run_id)
        sinks.append(EventLines(stream, header.run_id, redact=redact, lost=lost))
    return Both(sinks)


def _say_one(where: str, words: str) -> None:
    _warn([f"{where}: {words}"])


class SystemClock:
    """Implements `core.ports.Clock`."""

    def now(self) -> float:
        """Seconds since the epoch, UTC."""
        return time.time()


class SplitLedger:
    """Reads the ledger's file itself and lets the broker, its one writer, write."""

    def __init__(self, reader: Ledger, writer: Ledger) -> None:
        """Both ends speak of the same file."""
        self._reader, self._writer = reader, writer

    def get(self, kind: str, key: str) -> Any | None:
        """See the port."""
        return self._reader.get(kind, key)

    def all(self, kind: str) -> list[tuple[str, Any]]:
        """See the port."""
        return self._reader.all(kind)

    def steps(self, trial_id: str) -> tuple[Step, ...]:
        """See the port."""
        return self._reader.steps(trial_id)

    def put(self, kind: str, key: str, value: Any) -> None:
        """See the port."""
        self._writer.put(kind, key, value)


def build_bench(
    header: RunHeader, config: Mapping[str, Any], interrupted: Event, sink: EventSink
) -> Any:
    """The orchestrator's parts."""
    from harnesspro.backends.local import LocalBackend
    from harnesspro.broker.client import BrokerClient
    from harnesspro.formats import native
    from harnesspro.formats.content import content_root
    from harnesspro.formats.tasks import load_tasks
    from harnesspro.loop.bench import Ports
    from harnesspro.loop.opening import open_bench
    from harnesspro.sandbox.client import SandboxClient
    from harnesspro.store.archive import FileArchive
    from harnesspro.store.ledger import LedgerReader
    from harnesspro.store.trajectories import write_trajectory
    from harnesspro.store.trees import GitTrees

    run_dir = Path(config["run_dir"])
    certify = _certifier(header, run_dir, config["firewall"])
    if not (run_dir / "certificate.json").is_file():
        certify(None, 0)  # whatever ends the run, there is one
    broker = BrokerClient(config["admin_socket"])
    ledger = SplitLedger(LedgerReader(run_dir), broker)
    trees = GitTrees(run_dir)
    sandbox = SandboxClient.from_fd(config["launcher_fd"], header.isolation)
    purse_empty, round_empty = Event(), Event()
    backend = LocalBackend(
        sandbox=sandbox,
        meter=broker,
        ledger=ledger,
        trees=trees,
        payload_of=native.sdk_payload,
        concurrency=header.config.concurrency,
        stop=interrupted,
        purse_empty=purse_empty,
        round_empty=round_empty,
        paused=lambda why: sink.emit("paused", why=why),
    )
    archive = FileArchive(Path(config["out"]) / "archive", content_root() / "archive")
    _warn(f"archive entry left out: {problem}" for problem in archive.problems())
    brain = partial(_improver, backend=backend, trees=trees, ledger=ledger, events=sink)
    planner = header.config.improver_model
    ports = Ports(
        backend=backend,
        sandbox=sandbox,
        ledger=ledger,
        meter=broker,
        trees=trees,
        archive=archive,
        grader=_grader(config["grader_fd"]),
        events=sink,
        clock=SystemClock(),
        proposers=_proposers(header, archive, brain(planner) if planner else None),
        voices={name: brain(model) for name, model in header.config.channel_models.items()},
        read_harness=lambda files: native.harness_from_files(files, where="candidate"),
        apply_patch=native.apply_patch,
        keep_trajectory=lambda trajectory: write_trajectory(
            run_dir, trajectory, agent_name=header.harness_name
        ),
        write_report=partial(_reported, run_dir / "report.json", _dying()),
        certify=certify,
        interrupted=interrupted.is_set,
        purse_empty=purse_empty.is_set,
        round_empty=round_empty,
    )
    return open_bench(
        header,
        ports,
        base=native.load_harness(run_dir / "base"),
        tasks=load_tasks(run_dir / "tasks.jsonl"),
        run_dir=run_dir,
        firewall=config["firewall"],
    )


def _dying() -> At:
    """Where this process is to be killed, for tests; nowhere unless its environment says so."""
    told = os.environ.get(processes.FAILPOINT)
    return dying_at(told, lambda: os.kill(os.getpid(), signal.SIGKILL))


def _reported(path: Path, at: At, document: dict[str, Any]) -> None:
    from harnesspro.store.runs import write_json

    at("report.before")
    write_json(path, document)
    at("report.after")


def _warn(lines: Iterable[str]) -> None:
    from harnesspro.view.text import safe_text

    for line in lines:
        sys.stderr.write(f"harnesspro: {safe_text(line)}\n")


def _certifier(
    header: RunHeader, run_dir: Path, firewall: str
) -> Callable[[Opening | None, int], CertificateSummary]:
    """Writes `certificate.json`; search asks the grader nothing, so no bit is told during it.

    What it makes raises IntegrityError, once that is on record, where a canary was found.
    """

    def certify(opening: Opening | None, n_harnesses: int) -> CertificateSummary:
        from harnesspro.store.runs import write_json
        from harnesspro.vault.certificate import certificate, last_event, run_events

        events = run_events(
            seal=header.seal,
            isolation=header.isolation,
            firewall=firewall,
            search_bits=0.0,
            opening=opening,
            n_harnesses=n_harnesses,
        )
        document = certificate(events)
        write_json(run_dir / "certificate.json", document)
        _void_if_found(document["canary_hits"], run_dir)
        bound = last_event(document, "leak_bound")
        return CertificateSummary(
            leaked_bits=document["leaked_bits"],
            vault_openings=document["vault_openings"],
            canary_hits=document["canary_hits"],
            leak_bound=bound["accuracy_points"] if bound else None,
        )

    return certify


def _void_if_found(n_canaries: int, run_dir: Path) -> None:
    """A run in which a piece of the vault was found has no report and no archive entry."""
    if n_canaries:
        raise IntegrityError(
            str(run_dir),
            f"{n_canaries} canaries of the vault were found outside it: the run is void",
            expected="none in prompts, answers, candidates and archive",
            fix="the vault's log names the files; find how they got there, then start a new run",
        )


def _grader(fd: int | None) -> Grader | None:
    if fd is None:
        return None
    from harnesspro.vault.client import GraderClient

    return GraderClient.from_fd(fd)


def _improver(
    model: str, *, backend: Backend, trees: Trees, ledger: Ledger, events: EventSink
) -> Improver:
    """The improver's agents with this model as their brain."""
    from harnesspro.backends.improver import SandboxImprover
    from harnesspro.formats.content import content_root
    from harnesspro.formats.native import load_harness

    return SandboxImprover(
        backend=backend,
        trees=trees,
        ledger=ledger,
        agent_harness=lambda name: load_harness(content_root() / "agents" / name),
        model=model,
        events=events,
    )


def _proposers(
    header: RunHeader, archive: Archive, improver: Improver | None
) -> tuple[Proposer, ...]:
    from harnesspro.proposers.compose import ComposeProposer
    from harnesspro.proposers.knobs import KnobProposer
    from harnesspro.proposers.operators import OperatorProposer
    from harnesspro.proposers.planner import PlannerProposer
    from harnesspro.proposers.skeleton import SkeletonProposer

    proposers: list[Proposer] = [
        SkeletonProposer(archive),
        OperatorProposer(),
        KnobProposer(),
        ComposeProposer(),
    ]
    if improver is not None:
        proposers += [
            PlannerProposer(improver, direction) for direction in header.config.directions
        ]
    return tuple(proposers)


_ROLES = {"broker": main_broker, "grader": main_grader, "orchestrator": main_orchestrator}


def main() -> int:
    """Entry of every process but the command line's own and the launcher."""
    role, fd = sys.argv[1], int(sys.argv[2])
    config = processes.read_role_config(fd)
    processes.die_with_parent(config["parent_pid"])
    return _ROLES[role](config)


if __name__ == "__main__":
    sys.exit(main())
