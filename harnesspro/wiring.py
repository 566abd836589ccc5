"""RunConfig to working parts: the only file that names the concrete adapters, one `main_*` a process.

Started as `python -m harnesspro.wiring ROLE FD`, its configuration on the inherited pipe FD.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Event
from typing import Any

from harnesspro import processes
from harnesspro.config import RunHeader
from harnesspro.core.errors import HarnessProError
from harnesspro.core.ports import EventSink, Grader, Ledger, Proposer
from harnesspro.core.records import Step

EXIT_INTERRUPTED = 130
Say = Callable[[str], None]


# --- the CLI process ----------------------------------------------------------------------------


def run_processes(header: RunHeader, run_dir: Path, out: Path, *, quiet: bool, say: Say) -> int:
    """Start every process of a run, wait for the orchestrator, stop all. Its exit code."""
    from harnesspro.sandbox.start import start_launcher

    resume = f"harnesspro improve --resume {header.run_id}"
    (out / "archive").mkdir(parents=True, exist_ok=True)
    with processes.household() as home:
        urls = _start_models(header, home, say=say)
        grader_socket = _start_grader(header, run_dir, home)
        trial_socket, admin_socket = str(home.folder / "b.sock"), str(home.folder / "a.sock")
        launcher, launcher_socket = start_launcher(
            level=header.isolation, trial_socket=trial_socket, work_root=str(home.folder / "t")
        )
        home.add("launcher", launcher)
        _start_broker(header, run_dir, home, urls=urls, sockets=(trial_socket, admin_socket))
        config = {
            "header": header.model_dump(mode="json"),
            "run_dir": str(run_dir),
            "out": str(out),
            "admin_socket": admin_socket,
            "launcher_fd": launcher_socket.fileno(),
            "grader_fd": grader_socket.fileno() if grader_socket else None,
            "quiet": quiet,
        }
        child = _start_orchestrator(config, home.folder, say=say)
        code = processes.wait_for_orchestrator(child, home)
        launcher_socket.close()
        if grader_socket is not None:
            grader_socket.close()
    if code < 0 or code == EXIT_INTERRUPTED:
        say(f"Everything measured is kept. To go on: {resume}")
    return (
        EXIT_INTERRUPTED
        if code in {-signal.SIGINT, EXIT_INTERRUPTED}
        else max(code, 1)
        if code < 0
        else code
    )


def _start_models(header: RunHeader, home: processes.Household, *, say: Say) -> dict[str, str]:
    urls: dict[str, str] = {}
    for model in header.models:
        if not model.startswith("local/"):
            continue
        from harnesspro.providers.local import start_server

        say(f"Starting {model} on this machine …")
        server = start_server(model, threads=os.cpu_count() or 1)
        home.on_close(server.stop)
        urls[model] = server.url
    return urls


def _start_grader(
    header: RunHeader, run_dir: Path, home: processes.Household
) -> socket.socket | None:
    if not header.has_gold or not header.config.open_gold:
        return None
    from harnesspro.formats.paths import vault_home

    assert header.seal is not None
    ours, theirs = socket.socketpair()
    theirs.set_inheritable(True)
    config = {
        "fd": theirs.fileno(),
        "vault_dir": str(vault_home()),
        "taskset_id": header.seal["taskset_id"],
        "merkle_root": header.seal["merkle_root"],
        "answer_kind": header.seal["answer_kind"],
        "scheme": header.seal["scheme"],
        "run_dir": str(run_dir),
    }
    env = {"PATH": os.environ.get("PATH", os.defpath)}
    child = processes.start_role("grader", config, env=env, pass_fds=(theirs.fileno(),))
    home.add("grader", child)
    theirs.close()
    return ours


def _start_broker(
    header: RunHeader,
    run_dir: Path,
    home: processes.Household,
    *,
    urls: Mapping[str, str],
    sockets: tuple[str, str],
) -> None:
    trial_socket, admin_socket = sockets
    log = home.folder / "broker.log"
    cap = header.config.budget_usd
    config = {
        "run_dir": str(run_dir),
        "trial_socket": trial_socket,
        "admin_socket": admin_socket,
        "cap_usd": cap,
        "prices": [price.model_dump(mode="json") for price in header.prices],
        "server_urls": dict(urls),
        "log": str(log),
    }
    child = processes.start_role("broker", config, env=dict(os.environ) | processes.QUIET_ENV)
    home.add("broker", child)
    try:
        processes.wait_for_socket(admin_socket, child, what="broker", log=lambda: _tail(log))
    except HarnessProError:
        _raise_said(log)
        raise


def _tail(log: Path) -> str:
    lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    return lines[-1][:500] if lines else "no message"


def _raise_said(log: Path) -> None:
    """Raise the error a starting process wrote down, with its own class and exit code."""
    from harnesspro.core import errors

    try:
        said = json.loads(_tail(log))
        kind = getattr(errors, said["error"])
        raise kind(said["where"], said["found"], expected=said["expected"], fix=said["fix"])
    except (ValueError, KeyError, TypeError, AttributeError):
        return


def _start_orchestrator(config: dict[str, Any], sockets: Path, *, say: Say) -> Any:
    """Confined by Landlock where the kernel can (firewall F1), else by convention (F0)."""
    from harnesspro.sandbox import confine

    fds = tuple(fd for fd in (config["launcher_fd"], config["grader_fd"]) if fd is not None)
    for fd in fds:
        os.set_inheritable(fd, True)
    confined = confine.landlock_abi() > 0
    if not confined:
        say("Landlock is not available here: the answer firewall is F0 (convention only).")
    prefix: list[str] = []
    if confined:
        prefix = confine.command(
            read=_readable(), write=[config["run_dir"], f"{config['out']}/archive", str(sockets)]
        )
    return processes.start_role(
        "orchestrator",
        config | {"firewall": "F1" if confined else "F0"},
        env=processes.plain_env(),
        pass_fds=fds,
        prefix=prefix,
        own_session=False,
    )


def _readable() -> list[str]:
    """What the orchestrator needs to see: interpreter, libraries, the program, its shipped content."""
    from harnesspro.formats.content import content_root

    package = Path(__file__).resolve().parent
    places = [
        "/usr",
        "/lib",
        "/lib64",
        "/bin",
        "/etc",
        "/proc",
        "/dev",
        sys.prefix,
        sys.base_prefix,
        str(package),
        *(str(content_root() / name) for name in ("agents", "harnesses", "archive")),
        *(entry for entry in sys.path if entry.endswith("-packages")),
    ]
    return [place for place in dict.fromkeys(places) if os.path.exists(place)]


# --- the other processes ------------------------------------------------------------------------


def main_broker(config: dict[str, Any]) -> int:
    """The door to models, the purses, the ledger's one writer."""
    from harnesspro.broker.serve import BrokerConfig, serve
    from harnesspro.core.money import nanos_from_usd
    from harnesspro.core.records import Price
    from harnesspro.providers.registry import provider_for
    from harnesspro.store.ledger import LedgerWriter

    sys.stderr = open(config["log"], "a", encoding="utf-8", buffering=1)  # noqa: SIM115 - for the life of the process
    try:
        cap = config["cap_usd"]
        prices = [Price.model_validate(price) for price in config["prices"]]
        with LedgerWriter(Path(config["run_dir"])) as ledger:
            serve(
                BrokerConfig(
                    run_dir=config["run_dir"],
                    trial_socket=config["trial_socket"],
                    admin_socket=config["admin_socket"],
                    cap_nanos=None if cap is None else nanos_from_usd(cap),
                    prices={price.model: price for price in prices},
                    call_timeout_s=300.0,
                    parent_pid=config["parent_pid"],
                ),
                lambda model: provider_for(model, server_urls=config["server_urls"]),
                ledger,
            )
    except HarnessProError as error:
        said = {
            "error": type(error).__name__,
            "where": error.where,
            "found": error.found,
            "expected": error.expected,
            "fix": error.fix,
        }
        sys.stderr.write(json.dumps(said) + "\n")
        return error.exit_code
    return 0


def main_grader(config: dict[str, Any]) -> int:
    """The only process that opens the vault."""
    from harnesspro.vault.grader import GraderConfig, serve

    fields = ("vault_dir", "taskset_id", "merkle_root", "answer_kind", "scheme", "run_dir")
    serve(
        socket.socket(fileno=config["fd"]), GraderConfig(**{name: config[name] for name in fields})
    )
    return 0


def main_orchestrator(config: dict[str, Any]) -> int:
    """The loop, with no key, no vault and no right to make a namespace."""
    header = RunHeader.model_validate(config["header"])
    interrupted = Event()
    _answer_ctrl_c(interrupted)
    sink = _events(quiet=config["quiet"])
    try:
        from harnesspro.loop.sitting import sit

        return sit(build_bench(header, config, interrupted, sink), config["firewall"])
    except HarnessProError as error:
        from harnesspro.view.text import safe_text

        sink.emit("run.stopped", reason="error")
        sys.stderr.write(f"harnesspro: {safe_text(str(error))}\n")
        return error.exit_code


def _answer_ctrl_c(interrupted: Event) -> None:
    """The first Ctrl-C finishes running trials and stops; the second stops now."""

    def answer(_signal: int, _frame: object) -> None:
        if interrupted.is_set():
            os._exit(EXIT_INTERRUPTED)
        interrupted.set()
        sys.stderr.write("\nFinishing what is running; Ctrl-C again to stop at once.\n")

    signal.signal(signal.SIGINT, answer)


def _events(*, quiet: bool) -> EventSink:
    from rich.console import Console

    from harnesspro.testing.doubles import NullSink
    from harnesspro.view.live import LiveProgress

    return NullSink() if quiet else LiveProgress(Console(stderr=True))


class SystemClock:
    """Implements `core.ports.Clock`."""

    def now(self) -> float:
        """Seconds since the epoch, UTC."""
        return time.time()


class RunLedger:
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
    from harnesspro.backends.improver import SandboxImprover
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
    from harnesspro.store.trajectories import write as write_trajectory
    from harnesspro.store.trees import GitTrees

    run_dir = Path(config["run_dir"])
    broker = BrokerClient(config["admin_socket"])
    ledger = RunLedger(LedgerReader(run_dir), broker)
    trees = GitTrees(run_dir)
    backend = LocalBackend(
        sandbox=SandboxClient.from_fd(config["launcher_fd"], header.isolation),
        meter=broker,
        ledger=ledger,
        trees=trees,
        payload_of=native.sdk_payload,
        concurrency=header.config.concurrency,
        stop=interrupted,
    )
    archive = FileArchive(Path(config["out"]) / "archive", content_root() / "archive")
    improver = None
    if header.config.improver_model:
        improver = SandboxImprover(
            backend=backend,
            trees=trees,
            ledger=ledger,
            agent_harness=lambda name: native.load_harness(content_root() / "agents" / name),
            model=header.config.improver_model,
            events=sink,
        )
    ports = Ports(
        backend=backend,
        ledger=ledger,
        meter=broker,
        trees=trees,
        archive=archive,
        grader=_grader(config["grader_fd"]),
        events=sink,
        clock=SystemClock(),
        proposers=_proposers(header, archive, improver),
        read_harness=lambda files: native.harness_from_files(files, where="candidate"),
        apply_patch=native.apply_patch,
        keep_trajectory=lambda trajectory: write_trajectory(run_dir, trajectory),
        interrupted=interrupted.is_set,
    )
    return open_bench(
        header,
        ports,
        base=native.load_harness(run_dir / "base"),
        tasks=load_tasks(run_dir / "tasks.jsonl"),
        run_dir=run_dir,
    )


def _grader(fd: int | None) -> Grader | None:
    if fd is None:
        return None
    from harnesspro.vault.client import GraderClient

    return GraderClient.from_fd(fd)


def _proposers(header: RunHeader, archive: Any, improver: Any) -> tuple[Proposer, ...]:
    from harnesspro.proposers.knobs import KnobProposer
    from harnesspro.proposers.operators import OperatorProposer
    from harnesspro.proposers.planner import PlannerProposer
    from harnesspro.proposers.skeleton import SkeletonProposer

    proposers: list[Proposer] = [SkeletonProposer(archive), OperatorProposer(), KnobProposer()]
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
