"""Any model LiteLLM knows, behind the provider port. Importing LiteLLM takes seconds: first use only.

Its retries, cache and budgets stay off: tries, replay and purses are the broker's.
"""

from __future__ import annotations

import functools
import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from importlib.metadata import version
from typing import Any

from harnesspro.core.errors import (
    HarnessProError,
    ModelUnknown,
    ProviderBusy,
    ProviderError,
    ProviderSilent,
    RequestRefused,
)
from harnesspro.core.hashing import canonical_json
from harnesspro.core.ports import ChatReply, ChatRequest
from harnesspro.core.records import Price, Usage

_FINISH_REASONS = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
}
_TIER_KEY = re.compile(r"(?:in|out)put_cost_per_token_above_(\d+)k_tokens")
_NANOS_PER_MTOK = 1e15  # dollars for one token -> nano-dollars for a million


class LiteLLMProvider:
    """Thread-safe; keys come from this process's environment and go nowhere else."""

    def complete(self, request: ChatRequest, *, timeout_s: float) -> ChatReply:
        """One completion, tried once.

        Raises:
            ProviderBusy: a rate limit, an overload, or nothing listening.
            ProviderSilent: no whole reply within `timeout_s` seconds.
            RequestRefused: the model cannot take this request.
            ProviderError: the key is missing or refused.
            ModelUnknown: the provider has no such model.
        """
        from openai import OpenAIError

        litellm = _litellm()
        _refuse_above_tier(request, _prices(request.model))
        values = _arguments(litellm, request)
        started = time.monotonic()
        try:
            response = _within(
                timeout_s,
                lambda: litellm.completion(**values, timeout=timeout_s, max_retries=0),
                request.model,
            )
        except OpenAIError as error:
            raise _ours(litellm, error, request.model) from error
        return _reply(response, request.model, latency_s=time.monotonic() - started)

    def price(self, model: str) -> Price | None:
        """The price in LiteLLM's own list, read from the package; None where it has none, or $0."""
        listed = _prices(model)
        in_usd, out_usd = listed.get("input_cost_per_token"), listed.get("output_cost_per_token")
        if not in_usd or out_usd is None:
            return None
        read = listed.get("cache_read_input_token_cost")
        write = listed.get("cache_creation_input_token_cost")
        reasoning = listed.get("output_cost_per_reasoning_token")
        return Price(
            model=model,
            in_nanos_per_mtok=_nanos(in_usd),
            out_nanos_per_mtok=_nanos(out_usd),
            cache_read_nanos_per_mtok=_nanos(in_usd if read is None else read),
            cache_write_nanos_per_mtok=_nanos(in_usd if write is None else write),
            reasoning_nanos_per_mtok=None if reasoning is None else _nanos(reasoning),
            source=f"LiteLLM {version('litellm')}, read {datetime.now(UTC).date()}",
        )

    def check(self, model: str) -> None:
        """Return where LiteLLM can route the name and its key is set; nothing is sent.

        Raises:
            ModelUnknown: no provider for this name.
            ProviderError: the environment variable of its key is not set.
        """
        from openai import OpenAIError

        litellm = _litellm()
        try:
            litellm.get_llm_provider(model)
        except OpenAIError as error:
            raise ModelUnknown(
                model,
                "no provider has a model of this name",
                expected="local/NAME, sim/NAME, or a LiteLLM name such as openai/gpt-4o-mini",
            ) from error
        missing = _missing_keys(litellm, model)
        if missing:
            raise ProviderError(model, "no key for its provider", fix=f"set {missing}")


@functools.cache
def _litellm() -> Any:
    """The library, told first to fetch nothing and to keep stdout clean."""
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    os.environ["LITELLM_OFFLINE_MODE"] = "true"
    import litellm

    litellm.suppress_debug_info = True
    litellm.telemetry = False
    litellm.num_retries = 0
    return litellm


def _prices(model: str) -> dict[str, Any]:
    """LiteLLM's entry for a model; empty where it has none."""
    litellm = _litellm()
    try:
        return dict(litellm.get_model_info(model))
    # The library says "unmapped" by a class that is not of its own tree in every release.
    except (litellm.exceptions.ModelNotMappedError, ValueError, KeyError):
        return {}


def _nanos(usd_per_token: float) -> int:
    return round(usd_per_token * _NANOS_PER_MTOK)


def _refuse_above_tier(request: ChatRequest, listed: dict[str, Any]) -> None:
    """Long prompts cost more at some models, and a frozen price has one rate."""
    found = [_TIER_KEY.fullmatch(name) for name, value in listed.items() if value]
    tiers = [1000 * int(match[1]) for match in found if match]
    if not tiers:
        return
    n_bytes = len(canonical_json([list(request.messages), request.tools]).encode())
    if n_bytes > min(tiers):
        raise RequestRefused(
            request.model,
            f"a prompt of {n_bytes} bytes may pass {min(tiers)} tokens, where its price rises",
            fix="shorten the prompt",
        )


def _arguments(litellm: Any, request: ChatRequest) -> dict[str, Any]:
    """LiteLLM's arguments; the seed only where the model takes one, all else or an error."""
    optional = {
        "temperature": request.temperature,
        "response_format": request.response_format,
        "tools": list(request.tools) if request.tools else None,
        "stop": list(request.stop) if request.stop else None,
        "reasoning_effort": request.effort,
    }
    if "seed" in (litellm.get_supported_openai_params(request.model) or ()):
        optional["seed"] = request.seed
    return {
        "model": request.model,
        "messages": [dict(message) for message in request.messages],
        "max_tokens": request.max_output_tokens,
        **{name: value for name, value in optional.items() if value is not None},
    }


def _reply(response: Any, model: str, *, latency_s: float) -> ChatReply:
    try:
        choice = response.choices[0]
        return ChatReply(
            text=choice.message.content or "",
            finish_reason=_FINISH_REASONS.get(choice.finish_reason, "other"),
            usage=read_usage(response.usage),
            model=response.model or model,
            latency_s=latency_s,
            tool_calls=tuple(
                call.model_dump(mode="json") for call in choice.message.tool_calls or ()
            ),
            response_id=response.id,
        )
    except (AttributeError, IndexError, TypeError, ValueError) as error:
        raise ProviderSilent(model, "a reply in no known shape") from error


def read_usage(usage: Any) -> Usage:
    """Disjoint token classes out of LiteLLM's usage, whose prompt count includes the cached."""
    prompt = getattr(usage, "prompt_tokens_details", None)
    output = getattr(usage, "completion_tokens_details", None)
    read = getattr(prompt, "cached_tokens", None) or 0
    write = getattr(usage, "cache_creation_input_tokens", None) or 0
    return Usage(
        uncached_in_tokens=max(0, usage.prompt_tokens - read - write),
        cache_read_tokens=read,
        cache_write_tokens=write,
        out_tokens=usage.completion_tokens,
        reasoning_tokens=getattr(output, "reasoning_tokens", None) or 0,
    )


def _ours(litellm: Any, error: Exception, model: str) -> HarnessProError:
    """A provider's error as ours. Its text stays out where it could quote a key."""
    kinds = litellm.exceptions
    busy = (kinds.RateLimitError, kinds.ServiceUnavailableError, kinds.InternalServerError)
    said = f"{type(error).__name__}: {error}"[:300]
    if isinstance(error, kinds.AuthenticationError | kinds.PermissionDeniedError):
        names = _key_names(litellm, model)
        return ProviderError(model, "the provider refused the key", fix=f"set {names}")
    if isinstance(error, kinds.NotFoundError):
        return ModelUnknown(model, "the provider has no such model")
    if isinstance(error, kinds.BadRequestError | kinds.UnprocessableEntityError):
        return RequestRefused(model, said)
    if (isinstance(error, busy) and _has_status(error)) or _never_connected(error):
        busy_now = ProviderBusy(model, said, fix="wait, or ask for less at once")
        busy_now.retry_after_s = _retry_after_s(error)
        return busy_now
    return ProviderSilent(model, said)


def _retry_after_s(error: Exception) -> float | None:
    """Seconds the reply said to wait, told as a number or as a date; None where it told nothing usable."""
    response = getattr(error, "response", None)
    told = str(getattr(response, "headers", {}).get("retry-after") or "").strip()
    try:
        return max(float(told), 0.0)
    except ValueError:
        pass
    try:
        return max((parsedate_to_datetime(told) - datetime.now(UTC)).total_seconds(), 0.0)
    except (TypeError, ValueError):
        return None


def _never_connected(error: BaseException) -> bool:
    from httpx import ConnectError, ConnectTimeout

    return any(isinstance(cause, ConnectError | ConnectTimeout) for cause in _causes(error))


def _has_status(error: BaseException) -> bool:
    """Whether the provider itself said so; LiteLLM calls a connection that was lost, and a body that is no
    JSON, a server error too.
    """
    from openai import APIStatusError

    behind = (cause for cause in _causes(error) if type(cause).__module__.startswith("openai"))
    return any(isinstance(cause, APIStatusError) for cause in behind)


def _within(seconds: float, work: Callable[[], Any], model: str) -> Any:
    """What `work` gives or raises, if it does so in time; a thread that does not is left to itself.

    The library's own timeout is between two bytes, so a reply that drips would be waited for without end.

    Raises:
        ProviderSilent: it is not done in time.
    """
    future: Future[Any] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
            future.set_exception(error)

    threading.Thread(target=run, name=f"call {model}", daemon=True).start()
    try:
        return future.result(timeout=seconds)
    except TimeoutError as error:
        raise ProviderSilent(model, f"no whole reply within {seconds:.0f} s") from error


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _missing_keys(litellm: Any, model: str) -> str:
    found = litellm.validate_environment(model)
    return "" if found["keys_in_environment"] else ", ".join(found["missing_keys"])


def _key_names(litellm: Any, model: str) -> str:
    """The environment variable of the provider's key, by LiteLLM's own naming."""
    return f"{litellm.get_llm_provider(model)[1].upper()}_API_KEY to a valid key"
