"""The processes of one sitting, started in the order that lets each drop what it must not have."""

from __future__ import annotations

import json
import os
import shlex
import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from harnesspro import processes
from harnesspro.cli.guarding import Guard, firewall_level, lend_sandbox, showing, start_grader
from harnesspro.config import RunHeader, out_folder
from harnesspro.core.errors import (
    EXIT_INTERRUPTED,
    HarnessProError,
    IntegrityError,
    rebuilt,
)

_FINISHED = frozenset({0, 3, 4, 5})
Say = Callable[[str], None]


def read_header(run_dir: Path) -> RunHeader:
    """`run.json` of a run.

    Raises:
        IntegrityError: not there, or not a run header.
    """
    path = run_dir / "run.json"
    try:
        return RunHeader.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise IntegrityError(str(path), "no readable run header", fix="start a new run") from error


def run_processes(
    header: RunHeader,
    run_dir: Path,
    out: Path,
    *,
    quiet: bool,
    say: Say,
    events_fd: int | None = None,
) -> int:
    """Start every process of a run, wait for the orchestrator, stop all. Its exit code."""
    from harnesspro.sandbox.start import start_launcher

    elsewhere = "" if out == out_folder(None) else f" --out {shlex.quote(str(out))}"
    resume = f"harnesspro improve --resume {header.run_id}{elsewhere}"
    (out / "archive").mkdir(parents=True, exist_ok=True)
    (run_dir / "staged").mkdir(exist_ok=True)
    with processes.household() as home:
        urls = _start_models(header, home, say=say)
        guard = start_grader(header, run_dir, home)
        trial_socket, admin_socket = str(home.folder / "b.sock"), str(home.folder / "a.sock")
        launcher, launcher_socket = start_launcher(
            level=header.isolation,
            trial_socket=trial_socket,
            work_root=str(home.folder / "t"),
            code_roots=[str(run_dir / "staged")],
        )
        home.add("launcher", launcher)
        lend_sandbox(guard, header, home)
        _start_broker(header, run_dir, home, urls=urls, sockets=(trial_socket, admin_socket))
        config = {
            "header": header.model_dump(mode="json"),
            "run_dir": str(run_dir),
            "out": str(out),
            "admin_socket": admin_socket,
            "launcher_fd": launcher_socket.fileno(),
            "grader_fd": guard.channel.fileno() if guard else None,
            "quiet": quiet,
            "events_fd": events_fd,
        }
        child = _start_orchestrator(config, home.folder, guard, say=say)
        code = processes.wait_for_orchestrator(child, home)
        launcher_socket.close()
        if guard is not None:
            guard.close()
    if code not in _FINISHED:
        say(f"Everything measured is kept. To go on: {resume}")
    if code == -signal.SIGINT:
        return EXIT_INTERRUPTED
    return code if code >= 0 else 1


def _start_models(header: RunHeader, home: processes.Household, *, say: Say) -> dict[str, str]:
    urls: dict[str, str] = {}
    for model in header.models:
        if not model.startswith("local/"):
            continue
        from harnesspro.providers.model_server import start_server

        say(f"Starting {model} on this machine …")
        server = start_server(model, threads=os.cpu_count() or 1)
        home.on_close(server.stop)
        urls[model] = server.url
    return urls


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
    try:
        said = rebuilt(json.loads(_tail(log)))
    except (ValueError, KeyError, TypeError):  # its last words are no error of ours
        return
    raise said


def _start_orchestrator(
    config: dict[str, Any], sockets: Path, guard: Guard | None, *, say: Say
) -> Any:
    """Confined by Landlock where the kernel can, else by convention; the level goes on record."""
    from harnesspro.formats.paths import vault_home
    from harnesspro.sandbox import confine
    from harnesspro.sandbox.start import confined, readable

    told = (config["launcher_fd"], config["grader_fd"], config["events_fd"])
    fds = tuple(fd for fd in told if fd is not None)
    for fd in fds:
        os.set_inheritable(fd, True)
    landlocked = confine.landlock_abi() > 0
    if not landlocked:
        say("Landlock is not available here: the answer firewall is F0 (convention only).")
    scratch = sockets / "o"
    scratch.mkdir()
    write = (config["run_dir"], f"{config['out']}/archive", str(scratch))
    shown = showing(vault_home(), (*readable(), *write))
    if shown is not None:
        say(
            f"The vault lies in {shown}, which the search may read: the answer firewall is F0 "
            "(convention only). Set XDG_DATA_HOME to a folder elsewhere."
        )
    env = processes.plain_env() | {"HOME": str(scratch), "TMPDIR": str(scratch)}
    firewall = firewall_level(
        landlocked=landlocked,
        isolated=config["header"]["isolation"] != "S0",
        shown=shown is not None,
        grader_uid=guard.uid if guard else None,
    )
    return processes.start_role(
        "orchestrator",
        config | {"firewall": firewall},
        env=env,
        pass_fds=fds,
        prefix=confined([], read=(), write=write) if landlocked else (),
        own_session=False,
    )
