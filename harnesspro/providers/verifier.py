"""`verifier/URL`: the owner's own verifier of answers, behind the provider port.

The question (`{"task", "files", "answers"}`) that stands in the request's last user message is
POSTed to the address as JSON; the reply is `{"scores": [...]}`, a number from 0 to 1 for each answer.
What a verifier costs, its owner pays elsewhere: here it is free.
"""

from __future__ import annotations

import ipaddress
import json
import socket
import time
from typing import Any
from urllib.parse import SplitResult, urlsplit

import httpx

from harnesspro.core.errors import (
    ModelUnknown,
    ProviderBusy,
    ProviderError,
    ProviderSilent,
    RequestRefused,
)
from harnesspro.core.hashing import canonical_json
from harnesspro.core.ports import ChatReply, ChatRequest
from harnesspro.core.records import Price, Usage

PREFIX = "verifier/"
MOST_QUESTION_BYTES = 2_000_000
MOST_REPLY_BYTES = 100_000

_CONNECT_S = 5.0
_BUSY = frozenset({429, 502, 503, 504})
_REFUSED = frozenset({400, 413, 414, 415, 422})
_BYTES_A_TOKEN = 4
_PORTS = {"http": 80, "https": 443}


class VerifierProvider:
    """Stateless, so safe from any thread; no redirect is followed."""

    def complete(self, request: ChatRequest, *, timeout_s: float) -> ChatReply:
        """The verifier's scores as the reply's text; tokens are bytes over four, priced at nothing.

        Raises:
            ModelUnknown: no address of a verifier.
            RequestRefused: no question in the request, too long, or the verifier refuses it.
            ProviderBusy: nothing listens, or it is overloaded.
            ProviderSilent: no whole reply within `timeout_s` seconds.
            ProviderError: another status than 200, or a reply of another shape.
        """
        url = address_of(request.model)
        question = question_in(request)
        sent = json.dumps(question).encode()  # ASCII: a lone surrogate stays sendable
        if len(sent) > MOST_QUESTION_BYTES:
            found = f"a question of {len(sent)} bytes"
            raise RequestRefused(request.model, found, expected=f"at most {MOST_QUESTION_BYTES}")
        started = time.monotonic()
        status, body = _post(url, sent, model=request.model, timeout_s=timeout_s)
        if status != 200:
            raise _status_error(request.model, status)
        text = scores_text(body, n_answers=len(question["answers"]), model=request.model)
        return ChatReply(
            text=text,
            finish_reason="stop",
            usage=Usage(
                uncached_in_tokens=-(-len(sent) // _BYTES_A_TOKEN),
                out_tokens=-(-len(body) // _BYTES_A_TOKEN),
            ),
            model=request.model,
            latency_s=time.monotonic() - started,
        )

    def price(self, model: str) -> Price | None:
        """Declared free: no bill of a verifier arrives here. None where the name holds no address."""
        try:
            address_of(model)
        except ModelUnknown:
            return None
        return Price(
            model=model,
            in_nanos_per_mtok=0,
            out_nanos_per_mtok=0,
            cache_read_nanos_per_mtok=0,
            cache_write_nanos_per_mtok=0,
            source="free here: what it costs, the verifier's owner bears",
            paid=False,
        )

    def check(self, model: str) -> None:
        """Return where something listens at the address; nothing is sent.

        Raises:
            ModelUnknown: no address of a verifier.
            ProviderError: nothing listens there.
        """
        url = urlsplit(address_of(model))
        place = url.hostname or "", url.port or _PORTS[url.scheme]
        try:
            socket.create_connection(place, timeout=_CONNECT_S).close()
        except OSError as error:
            raise ProviderError(
                model,
                f"nothing answers at {place[0]}:{place[1]} ({error.strerror or error})",
                fix="start the verifier, or mend the address",
            ) from error


def address_of(model: str) -> str:
    """The address in a verifier's name.

    Raises:
        ModelUnknown: not one of http or https, or it holds a password, which every report would show.
    """
    text = model.removeprefix(PREFIX)
    try:
        url = urlsplit(text)
        bad = _objection(url)
    except ValueError as error:  # a port that is no number, a broken IPv6 address
        url, bad = SplitResult("", "", "", "", ""), str(error)
    if bad:
        raise ModelUnknown(
            model, bad, expected="the address of a verifier, such as http://127.0.0.1:8000/verify"
        )
    return text


def _objection(url: SplitResult) -> str:
    if url.scheme not in _PORTS or not url.hostname:
        return "no http or https address"
    if url.username is not None or url.password is not None:
        return "a name or password in the address"
    if url.port == 0 or url.fragment:
        return "no address to send to"
    return ""


def question_in(request: ChatRequest) -> dict[str, Any]:
    """The question in the last user message: its first JSON object, which has a list of answers.

    Raises:
        RequestRefused: there is none.
    """
    asked = [message for message in request.messages if message.get("role") == "user"]
    text = str(asked[-1].get("content") or "") if asked else ""
    try:
        question, _ = json.JSONDecoder().raw_decode(text, text.index("{"))
    except (ValueError, RecursionError) as error:
        raise RequestRefused(request.model, "no question to send on") from error
    if not isinstance(question.get("answers"), list) or "task" not in question:
        raise RequestRefused(
            request.model,
            "no question about answers",
            expected="a task and its answers: a verifier judges, and does nothing else",
        )
    return dict(question)


def _post(url: str, content: bytes, *, model: str, timeout_s: float) -> tuple[int, bytes]:
    """Status and body of the reply, read in pieces so that neither time nor size can run over."""
    deadline = time.monotonic() + timeout_s
    limits = httpx.Timeout(timeout_s, connect=min(timeout_s, _CONNECT_S))
    body = b""
    try:
        with (
            httpx.Client(trust_env=not _on_this_machine(url), timeout=limits) as client,
            client.stream(
                "POST", url, content=content, headers={"Content-Type": "application/json"}
            ) as reply,
        ):
            for piece in reply.iter_bytes():
                body += piece
                if len(body) > MOST_REPLY_BYTES:
                    raise ProviderError(model, f"a reply of over {MOST_REPLY_BYTES} bytes")
                if time.monotonic() > deadline:
                    raise ProviderSilent(model, f"no whole reply within {timeout_s:g} s")
            return reply.status_code, body
    except (httpx.ConnectError, httpx.ConnectTimeout) as error:
        raise ProviderBusy(model, f"nothing answers ({type(error).__name__})") from error
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise ProviderSilent(model, f"{type(error).__name__}: {error}"[:300]) from error


def _on_this_machine(url: str) -> bool:
    """Where no proxy of the environment may come between."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _status_error(model: str, status: int) -> ProviderError:
    found = f"the verifier answers {status}"
    if status in _BUSY:
        return ProviderBusy(model, found)
    if status in _REFUSED:
        return RequestRefused(model, found)
    if 300 <= status < 400:
        return ProviderError(model, found, fix="name the address it points to; none is followed")
    return ProviderError(model, found)


def scores_text(body: bytes, *, n_answers: int, model: str) -> str:
    """The scores of a reply as canonical JSON; whatever else it says is left out.

    Raises:
        ProviderError: not `{"scores": [...]}` with a number from 0 to 1 for each answer.
    """
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        value = None
    scores = value.get("scores") if isinstance(value, dict) else None
    if not isinstance(scores, list) or len(scores) != n_answers or not all(map(_is_score, scores)):
        raise ProviderError(
            model,
            f"the verifier's reply is {body[:80].decode('utf-8', 'replace')!r}",
            expected=f'{{"scores": [...]}} with {n_answers} numbers from 0 to 1',
        )
    return canonical_json({"scores": scores})


def _is_score(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1
