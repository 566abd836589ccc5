"""What goes over the trial socket: an OpenAI-shaped request in, a completion or a refusal out.

Pure. The request is untrusted; whatever would change the reply and is not carried is refused.
"""

from __future__ import annotations

import json
from typing import Any, NoReturn

from pydantic import ValidationError

from harnesspro.core.hashing import canonical_json
from harnesspro.core.ports import ChatReply, ChatRequest, Grant

_CARRIED = frozenset(
    [
        "model",
        "messages",
        "max_tokens",
        "max_completion_tokens",
        "temperature",
        "response_format",
        "tools",
        "stop",
        "reasoning_effort",
    ]
)
_ANYTHING_GOES = frozenset({"user", "seed", "metadata"})
"""Ignored: they name the caller, or ask for what the broker decides (it sets the seed)."""
_HARMLESS: dict[str, tuple[Any, ...]] = {
    "n": (1,),
    "stream": (False,),
    "store": (False,),
    "logprobs": (False,),
    "top_p": (1,),
    "frequency_penalty": (0,),
    "presence_penalty": (0,),
    "tool_choice": ("auto",),
    "parallel_tool_calls": (True,),
}
"""Ignored at these values, which are what a model does anyway."""

# A chat template adds a few tokens a message and a preamble for tools that no byte stands for.
_TEMPLATE_TOKENS, _TOOLS_TOKENS = 64, 512


class Refused(Exception):
    """A request that gets no completion. Codes: `token`, `invalid`, `limit`, `ground`."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message

    def document(self) -> dict[str, Any]:
        """The body of the HTTP reply."""
        return {"error": {"code": self.code, "type": self.code, "message": self.message}}


def parse_body(raw: bytes) -> dict[str, Any]:
    """The JSON object of a request body.

    Raises:
        Refused: it is none, or holds what JSON cannot (NaN, half a character).
    """
    try:
        body = json.loads(raw)
        canonical_json(body).encode()
    except (ValueError, RecursionError) as error:
        _invalid(f"body: not JSON ({type(error).__name__})")
    if not isinstance(body, dict):
        _invalid("body: not a JSON object")
    return body


def read_call(body: dict[str, Any], grant: Grant) -> tuple[str, ChatRequest]:
    """The role a request asks, and the request with model and bounds put in.

    Raises:
        Refused: a field is missing, of the wrong type, or not carried.
    """
    asked = {name: value for name, value in body.items() if value is not None}
    _refuse_unknown(asked)
    role = asked.get("model")
    if not isinstance(role, str) or role not in grant.models:
        _invalid(f"model: {role!r}; expected a role of this harness: {', '.join(grant.models)}")
    stop = asked.get("stop")
    try:
        request = ChatRequest.model_validate(
            {
                "model": grant.models[role],
                "messages": _messages(asked.get("messages")),
                "max_output_tokens": _bounded(asked, grant.max_output_tokens[role]),
                "temperature": asked.get("temperature"),
                "response_format": asked.get("response_format"),
                "tools": asked.get("tools"),
                "stop": [stop] if isinstance(stop, str) else stop,
                "effort": asked.get("reasoning_effort"),
            }
        )
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        _invalid(f"{'.'.join(map(str, first['loc']))}: {first['msg']}")
    return role, request


def token_bound(request: ChatRequest) -> int:
    """No fewer tokens than the prompt can have: its bytes, and room for the chat template."""
    text = canonical_json([list(request.messages), request.tools, request.response_format])
    room = _TEMPLATE_TOKENS + (_TOOLS_TOKENS if request.tools else 0)
    return len(text.encode()) + room


def completion(role: str, key: str, reply: ChatReply) -> dict[str, Any]:
    """The reply in OpenAI's shape; it tells neither the time, nor the model, nor a replay."""
    usage = reply.usage
    message: dict[str, Any] = {"role": "assistant", "content": reply.text}
    if reply.tool_calls:
        message["tool_calls"] = list(reply.tool_calls)
    return {
        "id": f"chatcmpl-{key[:24]}",
        "object": "chat.completion",
        "created": 0,
        "model": role,
        "choices": [{"index": 0, "message": message, "finish_reason": reply.finish_reason}],
        "usage": {
            "prompt_tokens": usage.in_tokens,
            "completion_tokens": usage.out_tokens,
            "total_tokens": usage.total_tokens,
            "prompt_tokens_details": {"cached_tokens": usage.cache_read_tokens},
            "completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        },
    }


def _refuse_unknown(asked: dict[str, Any]) -> None:
    if asked.get("stream"):
        _invalid("stream: replies come whole here; leave stream out")
    for name, value in asked.items():
        if name in _CARRIED or name in _ANYTHING_GOES:
            continue
        if name not in _HARMLESS:
            _invalid(f"{name}: not carried; leave it out")
        if value not in _HARMLESS[name]:
            _invalid(f"{name}: only {_HARMLESS[name][0]!r} is carried; leave it out")


def _messages(value: Any) -> list[Any]:
    if not isinstance(value, list) or not value:
        _invalid("messages: expected a list with at least one message")
    for index, message in enumerate(value):
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            _invalid(f"messages.{index}: expected an object with a role and content")
        content = message.get("content")
        if not (content is None or isinstance(content, str) or _is_text_parts(content)):
            _invalid(f"messages.{index}.content: only text is carried")
    return value


def _is_text_parts(content: Any) -> bool:
    return isinstance(content, list) and all(
        isinstance(part, dict) and part.get("type") == "text" for part in content
    )


def _bounded(asked: dict[str, Any], bound: int) -> int:
    value = asked.get("max_completion_tokens", asked.get("max_tokens", bound))
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        _invalid("max_tokens: expected a whole number of at least 1")
    return min(value, bound)


def _invalid(message: str) -> NoReturn:
    raise Refused(400, "invalid", message)
