"""The embedded model behind a memory: no request is put to it twice, also not by the next sitting."""

from __future__ import annotations

import threading
from pathlib import Path

from harnesspro.core.hashing import content_hash
from harnesspro.core.ports import ChatReply, ChatRequest
from harnesspro.core.records import Price
from harnesspro.providers.local import LocalProvider
from harnesspro.providers.model_server import ServerHandle, start_server
from tests.bench.in_process import MODEL
from tests.bench.recordings import append, rows


class Remembered:
    """A provider that asks another once for each request and seed, and keeps the replies on file.

    The server is started when the first reply is wanted that is not on file.
    """

    def __init__(self, path: Path | None, *, threads: int) -> None:
        self._path, self._threads = path, threads
        self._known = {row["key"]: row["reply"] for row in (rows(path) if path else [])}
        self._server: ServerHandle | None = None
        self._provider: LocalProvider | None = None
        self._lock = threading.Lock()

    def complete(self, request: ChatRequest, *, timeout_s: float) -> ChatReply:
        """The reply on file, else the model's."""
        key = content_hash(request.model_dump(mode="json"))
        with self._lock:
            if key not in self._known:
                reply = self._served().complete(request, timeout_s=timeout_s)
                self._known[key] = reply.model_dump(mode="json")
                if self._path:
                    append(self._path, {"key": key, "reply": self._known[key]})
        return ChatReply.model_validate(self._known[key])

    def price(self, model: str) -> Price | None:
        """The local model's list price."""
        return LocalProvider({}).price(model)

    def check(self, model: str) -> None:
        """Nothing: the server is started when it is needed."""

    def _served(self) -> LocalProvider:
        if self._provider is None:
            self._server = start_server(MODEL, threads=self._threads)
            self._provider = LocalProvider({MODEL: self._server.url})
        return self._provider

    def close(self) -> None:
        """End the server, where one was started."""
        if self._provider is not None:
            self._provider.close()
        if self._server is not None:
            self._server.stop()
