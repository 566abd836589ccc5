"""Models on this machine behind the provider port: `local/NAME` and `local/PATH.gguf`.

A client of the OpenAI-shaped server; it neither starts the server nor knows who did.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import Any

import httpx

from harnesspro.core.errors import ModelUnknown, ProviderError, RequestRefused
from harnesspro.core.ports import ChatReply, ChatRequest
from harnesspro.core.records import Price, Usage
from harnesspro.providers.downloads import CATALOGUE
from harnesspro.providers.model_server import model_file

ServerUrl = Callable[[str], str] | Mapping[str, str]
"""Model name as requested (`local/…`) -> base address of its server, without `/v1`."""

_SEED_BITS = 0x7FFF_FFFF
"""The server reads 32 bits, all ones meaning "any seed"."""
_FINISH_REASONS = frozenset({"stop", "length", "tool_calls"})
_HEALTH_S = 5.0
_REFUSED = frozenset({400, 413, 422, 500})
"""500 too: so the server answers a request it trips over (an image, a tool without a type)."""


class LocalProvider:
    """Thread-safe; the server has one slot, so calls wait for each other."""

    def __init__(self, server_url: ServerUrl) -> None:
        self._url_of = server_url.__getitem__ if isinstance(server_url, Mapping) else server_url
        self._client = httpx.Client(trust_env=False)

    def complete(self, request: ChatRequest, *, timeout_s: float) -> ChatReply:
        """One completion; the same request with the same seed gives the same reply, but for
        rounding: what the prefix cache holds moves log-probabilities in the third decimal.

        Raises:
            RequestRefused: too long for the context, or a schema the server cannot read.
            ProviderError: no server, or no reply within `timeout_s` seconds.
            ModelUnknown: nothing serves this model.
        """
        url = self._url(request.model)
        started = time.monotonic()
        try:
            reply = self._client.post(
                f"{url}/v1/chat/completions",
                content=json.dumps(request_body(request)),  # ASCII: a lone surrogate stays sendable
                headers={"Content-Type": "application/json"},
                timeout=timeout_s,
            )
        except httpx.HTTPError as error:
            raise ProviderError(
                request.model, f"the local server at {url}: {str(error) or type(error).__name__}"
            ) from error
        return read_reply(request.model, reply, latency_s=time.monotonic() - started)

    def price(self, model: str) -> Price | None:
        """The list price of a catalogue model, attributed and never paid; None for any other."""
        entry = CATALOGUE.get(model.removeprefix("local/"))
        return entry.price if entry is not None else None

    def check(self, model: str) -> None:
        """Return where the file is here and its server answers.

        Raises:
            ModelUnknown: no such model, or it is not pulled.
            ProviderError: the server does not answer.
        """
        model_file(model)
        url = self._url(model)
        try:
            status = self._client.get(f"{url}/health", timeout=_HEALTH_S).status_code
        except httpx.HTTPError as error:
            raise ProviderError(model, f"the local server at {url} does not answer") from error
        if status != 200:
            raise ProviderError(model, f"the local server at {url} answers {status}")

    def close(self) -> None:
        """Let go of the connections."""
        self._client.close()

    def _url(self, model: str) -> str:
        try:
            return self._url_of(model)
        except KeyError as error:
            raise ModelUnknown(
                model, "no server runs for it", fix=f"run: harnesspro model serve {model}"
            ) from error


def request_body(request: ChatRequest) -> dict[str, Any]:
    """The request as the server reads it."""
    optional = {
        "temperature": request.temperature,
        "response_format": request.response_format,
        "tools": list(request.tools) if request.tools else None,
        "stop": list(request.stop) if request.stop else None,
        "seed": None if request.seed is None else request.seed & _SEED_BITS,
    }
    return {
        "model": request.model.removeprefix("local/"),
        "messages": list(request.messages),
        "max_tokens": request.max_output_tokens,
        "cache_prompt": True,
        **{key: value for key, value in optional.items() if value is not None},
    }


def read_reply(model: str, reply: httpx.Response, *, latency_s: float) -> ChatReply:
    """The server's reply as a record.

    Prompt tokens count as uncached whatever the server had warm: what a call costs must not depend
    on the calls before it.

    Raises:
        RequestRefused: the server refused this request.
        ProviderError: it failed, or answered in another shape.
    """
    try:
        body = reply.json()
        if reply.status_code != 200:
            kind = RequestRefused if reply.status_code in _REFUSED else ProviderError
            message = str((body.get("error") or {}).get("message") or reply.status_code)
            raise kind(model, f"the local server: {message[:300]}")
        choice, usage = body["choices"][0], body["usage"]
        message = choice["message"]
        reason = choice["finish_reason"]
        return ChatReply(
            text=message.get("content") or "",
            finish_reason=reason if reason in _FINISH_REASONS else "other",
            usage=Usage(
                uncached_in_tokens=usage["prompt_tokens"], out_tokens=usage["completion_tokens"]
            ),
            model=model,
            latency_s=latency_s,
            tool_calls=tuple(message.get("tool_calls") or ()),
            response_id=body.get("id"),
        )
    except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        raise ProviderError(
            model, f"the local server answered status {reply.status_code} in no known shape"
        ) from error
