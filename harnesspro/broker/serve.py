"""The broker as a process: two UNIX sockets, one for trials, one for the orchestrator."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import uvicorn
from anyio import CapacityLimiter, to_thread
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from harnesspro.broker.config import BrokerConfig
from harnesspro.broker.desk import CallDesk
from harnesspro.broker.wire import Refused
from harnesspro.core.crash import At, passing
from harnesspro.core.errors import ConfigError, HarnessProError
from harnesspro.core.ports import Grant, ModelProvider, RunLedger

_LARGEST_BODY = 8_000_000
_LARGEST_RECORD = 256_000_000
_N_THREADS = 256
_DRAIN_S = 5
_LONGEST_SOCKET_PATH = 107
_PR_SET_PDEATHSIG = 1
_BACKLOG = 1024

Work = Callable[[], Any]

__all__ = ["BrokerConfig", "BrokerServer", "serve"]


def serve(
    config: BrokerConfig,
    provider_for: Callable[[str], ModelProvider],
    ledger: RunLedger,
    at: At = passing,
) -> None:
    """Serve until SIGTERM, or until the parent is gone; SIGINT is the parent's business.

    Main thread only. Calls that outlast a short drain stay `sent` in the ledger; their threads
    would hold the interpreter, so leave the process with `os._exit` after closing the ledger.

    Raises:
        ConfigError: a socket path is too long or cannot be bound.
    """
    signals = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    _die_with_parent()
    with BrokerServer(config, provider_for, ledger, at):
        while os.getppid() == config.parent_pid:
            caught = signal.sigtimedwait(signals, 0.25)
            if caught is not None and caught.si_signo == signal.SIGTERM:
                return


class BrokerServer:
    """The two listeners, each in its own thread; a context manager."""

    def __init__(
        self,
        config: BrokerConfig,
        provider_for: Callable[[str], ModelProvider],
        ledger: RunLedger,
        at: At = passing,
    ) -> None:
        """Bind both sockets; from here on callers queue, and are answered once entered."""
        desk = CallDesk(config, provider_for, ledger, at)
        self._paths = (config.trial_socket, config.admin_socket)
        self._listeners = [
            _Listener(_trial_app(desk), _bind(config.trial_socket, mode=0o666)),
            _Listener(_admin_app(desk, ledger), _bind(config.admin_socket, mode=0o600)),
        ]

    def __enter__(self) -> Self:
        for listener in self._listeners:
            listener.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Trials first, so that the orchestrator still hears how they ended."""
        for listener in self._listeners:
            listener.stop()
        for path in self._paths:
            Path(path).unlink(missing_ok=True)


class _Listener:
    """One uvicorn server on one bound socket, in a daemon thread."""

    def __init__(self, app: Starlette, bound: socket.socket) -> None:
        config = uvicorn.Config(
            app,
            loop="asyncio",
            http="h11",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            timeout_graceful_shutdown=_DRAIN_S,
        )
        self._server, self._socket = uvicorn.Server(config), bound
        self._thread = threading.Thread(target=self._run, name="broker", daemon=True)

    def _run(self) -> None:
        self._server.run(sockets=[self._socket])

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join(timeout=2 * _DRAIN_S)


# --- the trials' side --------------------------------------------------------------------------


def _trial_app(desk: CallDesk) -> Starlette:
    limiter = CapacityLimiter(_N_THREADS)

    async def chat(request: Request) -> Response:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")

        def work() -> Any:
            return desk.complete(token if scheme.lower() == "bearer" else "", raw)

        try:
            raw = await _body(request, _LARGEST_BODY)
            return JSONResponse(await _in_thread(limiter, work))
        except Refused as refused:
            return JSONResponse(refused.document(), status_code=refused.status)
        except ClientDisconnect:
            return Response(status_code=400)

    return Starlette(routes=[Route("/v1/chat/completions", chat, methods=["POST"])])


# --- the orchestrator's side -------------------------------------------------------------------


def _admin_app(desk: CallDesk, ledger: RunLedger) -> Starlette:
    limiter = CapacityLimiter(_N_THREADS)
    calls: dict[str, Callable[..., Any]] = {
        "open_trial": lambda grant: desk.open_trial(Grant.model_validate(grant)),
        "close_trial": lambda token: desk.close_trial(token).model_dump(mode="json"),
        "spend": lambda: desk.spend().model_dump(mode="json"),
        "get": ledger.get,
        "put": ledger.put,
        "all": ledger.all,
        "steps": lambda trial_id: [step.model_dump(mode="json") for step in ledger.steps(trial_id)],
    }

    async def admin(request: Request) -> Response:
        call = calls[request.path_params["call"]]
        request_json = await _json(request)
        try:
            return JSONResponse({"value": await _in_thread(limiter, lambda: call(**request_json))})
        except HarnessProError as error:
            return JSONResponse({"error": error.document()}, status_code=409)

    return Starlette(routes=[Route("/{call}", admin, methods=["POST"])])


async def _json(request: Request) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(await _body(request, _LARGEST_RECORD))
    return value


# --- both --------------------------------------------------------------------------------------


async def _body(request: Request, largest: int) -> bytes:
    """The body; one that is too large is read to its end, or its sender would not hear why."""
    chunks, n_bytes = [], 0
    async for chunk in request.stream():
        n_bytes += len(chunk)
        if n_bytes <= largest:
            chunks.append(chunk)
    if n_bytes > largest:
        raise Refused(400, "invalid", f"body: more than {largest} bytes")
    return b"".join(chunks)


async def _in_thread(limiter: CapacityLimiter, work: Work) -> Any:
    return await to_thread.run_sync(work, limiter=limiter, abandon_on_cancel=True)


def _bind(path: str, *, mode: int) -> socket.socket:
    """A listening socket whose file never had wider rights than `mode`."""
    where = f"socket {path}"
    if len(os.fsencode(path)) > _LONGEST_SOCKET_PATH:
        expected = f"at most {_LONGEST_SOCKET_PATH} bytes"
        raise ConfigError(
            where, "too long", expected=expected, fix="set TMPDIR to a shorter folder"
        )
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        _make_folder(Path(path).parent)
        Path(path).unlink(missing_ok=True)
        bound.bind(path)
        Path(path).chmod(mode)
        bound.listen(_BACKLOG)
    except OSError as error:
        bound.close()
        raise ConfigError(
            where, str(error.strerror), fix="choose a folder you may write"
        ) from error
    finally:
        os.umask(before)
    return bound


def _make_folder(folder: Path) -> None:
    with contextlib.suppress(FileExistsError):
        folder.mkdir()
        folder.chmod(0o711)


def _die_with_parent() -> None:
    """Ask the kernel for SIGTERM when the parent dies; the loop above looks as well."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
