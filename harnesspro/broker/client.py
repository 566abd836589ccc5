"""The broker as the orchestrator holds it: `Meter` and `Ledger` over the admin socket."""

from __future__ import annotations

import http.client
import json
import socket
import time
from typing import Any

from harnesspro.core.documents import Spend
from harnesspro.core.errors import HarnessProError, rebuilt
from harnesspro.core.ports import Grant, Metered
from harnesspro.core.records import Step


class BrokerClient:
    """Every call is its own connection, so threads and forks share nothing.

    Any call raises HarnessProError where the broker is gone, and otherwise what the broker raised.
    """

    def __init__(self, admin_socket: str, *, timeout_s: float = 900.0) -> None:
        """`timeout_s` bounds the wait for calls in flight when a trial is closed."""
        self._path, self._timeout_s = admin_socket, timeout_s

    def wait_ready(self, timeout_s: float = 20.0) -> None:
        """Return once the broker answers.

        Raises:
            HarnessProError: it does not within `timeout_s` seconds.
        """
        deadline = time.monotonic() + timeout_s
        while True:
            try:
                self.spend()
            except HarnessProError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.02)
            else:
                return

    def open_trial(self, grant: Grant) -> str:
        return str(self._call("open_trial", grant=grant.model_dump(mode="json")))

    def close_trial(self, token: str) -> Metered:
        return Metered.model_validate(self._call("close_trial", token=token))

    def spend(self) -> Spend:
        return Spend.model_validate(self._call("spend"))

    def get(self, kind: str, key: str) -> Any | None:
        return self._call("get", kind=kind, key=key)

    def put(self, kind: str, key: str, value: Any) -> None:
        self._call("put", kind=kind, key=key, value=value)

    def all(self, kind: str) -> list[tuple[str, Any]]:
        return [(key, value) for key, value in self._call("all", kind=kind)]

    def steps(self, trial_id: str) -> tuple[Step, ...]:
        return tuple(Step.model_validate(step) for step in self._call("steps", trial_id=trial_id))

    def _call(self, name: str, **values: Any) -> Any:
        body = json.dumps(values, allow_nan=False).encode()
        connection = _UnixConnection(self._path, self._timeout_s)
        try:
            connection.request("POST", f"/{name}", body, {"Connection": "close"})
            response = connection.getresponse()
            document = json.loads(response.read())
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise HarnessProError(
                "broker",
                f"does not answer ({error})",
                fix="resume the run: what is recorded stands",
            ) from error
        finally:
            connection.close()
        if "error" in document:
            raise rebuilt(document["error"])
        return document["value"]


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout_s: float) -> None:
        super().__init__("broker", timeout=timeout_s)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)
