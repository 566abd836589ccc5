"""A GGUF model served on loopback by a process of its own, and the handle of whoever started it.

`python -m harnesspro.providers.model_server` is the process: one slot, a prompt-prefix cache, no
network. It says its address in one line on standard output and dies with its parent.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib.util
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import httpx

from harnesspro.core.errors import ConfigError, ModelUnknown, ProviderError
from harnesspro.providers.downloads import local_model

CONTEXT_TOKENS = 8192
_ENGINE = "xllamacpp"
_CACHE_MIB = 512
_START_S = 120.0
_STOP_S = 5.0
_PR_SET_PDEATHSIG = 1
_ERRORS_ONLY = 1
_PASSED_ENV = ("PATH", "HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "PYTHONPATH", "GOMP_SPINCOUNT")
"""The engine needs no more, least of all the keys of other providers."""
_SPINS = "2000"
"""How long a thread spins at a barrier before it sleeps. With the library's own default a busy
neighbour takes two threads from 27 to 1.5 tokens a second; so it takes them to 10, and on idle
cores nothing is lost."""


@dataclass(frozen=True, slots=True)
class ServerHandle:
    """A running server. `url` has no path; the API is below `/v1`."""

    url: str
    pid: int
    process: subprocess.Popen[bytes] = field(repr=False)

    def stop(self) -> None:
        """End the server and wait for it; calling it twice is fine."""
        if self.process.poll() is not None:
            return
        self.process.terminate()
        try:
            self.process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def wait(self) -> int:
        """Block until the server ends; its exit code."""
        return self.process.wait()


# --- the parent's side -------------------------------------------------------------------------


def model_file(model_ref: str) -> Path:
    """The GGUF file behind `local/NAME` or `local/PATH.gguf` (the `local/` may be left out).

    Raises:
        ModelUnknown: no such name, no such file, or the model is not pulled yet.
    """
    name = model_ref.removeprefix("local/")
    if name.endswith(".gguf"):
        path = Path(name).expanduser().resolve()
        if not path.is_file():
            raise ModelUnknown(model_ref, f"no file {path}", expected="a GGUF file")
        return path
    model = local_model(name)
    if not model.path.is_file():
        raise ModelUnknown(
            model_ref,
            f"not on this machine ({model.path})",
            fix=f"run: harnesspro model pull {model.name}",
        )
    return model.path


def start_server(model_ref: str, *, threads: int, port: int = 0) -> ServerHandle:
    """Serve a model and return once it answers; port 0 takes a free one.

    Call it from a thread that lives as long as the server should: the server dies with it.

    Raises:
        ModelUnknown: no such model, or it is not pulled.
        ConfigError: the embedded engine is not installed.
        ProviderError: the server did not come up.
    """
    path = model_file(model_ref)
    if importlib.util.find_spec(_ENGINE) is None:
        raise ConfigError(
            model_ref,
            "the embedded engine (xllamacpp) is not installed",
            fix="run: pip install 'harnesspro[local]'",
        )
    command = [sys.executable, "-P", "-m", "harnesspro.providers.model_server"]
    command += ["--model", str(path), "--alias", model_ref.removeprefix("local/")]
    command += ["--threads", str(threads), "--port", str(port), "--parent", str(os.getpid())]
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            command,
            env=_server_env(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
        )
        assert process.stdout is not None
        with process.stdout as out:
            url = _announced_url(out)
        handle = ServerHandle(url=url or "", pid=process.pid, process=process)
        if url is None or not _answers(url, process):
            handle.stop()
            raise ProviderError(model_ref, f"the server did not start: {_complaint(log)}")
    return handle


def _server_env() -> dict[str, str]:
    passed = {name: os.environ[name] for name in _PASSED_ENV if name in os.environ}
    return {"GOMP_SPINCOUNT": _SPINS} | passed


def _announced_url(out: IO[bytes]) -> str | None:
    """The address the process announces, or None if it ends or is silent for too long."""
    with selectors.DefaultSelector() as ready:
        ready.register(out, selectors.EVENT_READ)
        if not ready.select(_START_S):
            return None
    line = out.readline()
    return str(json.loads(line)["url"]) if line else None


def _answers(url: str, process: subprocess.Popen[bytes]) -> bool:
    deadline = time.monotonic() + _START_S
    while process.poll() is None and time.monotonic() < deadline:
        try:
            if httpx.get(f"{url}/health", timeout=2.0, trust_env=False).status_code == 200:
                return True
        except httpx.TransportError:
            pass
        time.sleep(0.1)
    return False


def _complaint(log: IO[bytes]) -> str:
    """The engine's first error, or the last thing that was said."""
    log.seek(0)
    lines = log.read().decode(errors="replace").strip().splitlines() or ["it said nothing"]
    errors = [line.partition(" E ")[2] for line in lines if " E " in line]
    return " ".join((errors or lines[-1:])[0].split())[:300]


# --- the process itself ------------------------------------------------------------------------


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until killed."""
    parser = argparse.ArgumentParser(prog="harnesspro.providers.model_server")
    parser.add_argument("--model", required=True, help="a GGUF file")
    parser.add_argument("--alias", required=True, help="the model's name in the API")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--parent", type=int, default=os.getppid(), help="process to die with")
    options = parser.parse_args(argv)
    if not _die_with(options.parent):
        return 1
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's Ctrl-C is the parent's to act on
    announce = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # the engine logs to standard output
    server = _listen(options.model, options.alias, port=options.port, threads=options.threads)
    with announce:
        announce.write(json.dumps({"url": server.listening_address}) + "\n")
    while True:
        signal.pause()


def _die_with(parent: int) -> bool:
    """Ask the kernel for SIGKILL when the parent ends; False if it has ended already."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    return os.getppid() == parent


def _listen(model: str, alias: str, *, port: int, threads: int) -> Any:
    """The engine's server; it listens for as long as it is referenced."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = model
    params.model_alias = {alias}
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.n_parallel = 1
    params.n_ctx = CONTEXT_TOKENS
    params.cpuparams.n_threads = threads
    params.cpuparams_batch.n_threads = threads
    params.cache_ram_mib = _CACHE_MIB
    params.verbosity = _ERRORS_ONLY
    params.offline = True
    params.ui = False
    params.cors_origins = "http://127.0.0.1"
    params.endpoint_metrics = True
    return xllamacpp.Server(params)


if __name__ == "__main__":
    sys.exit(main())
