"""What code inside a harness folder may import: `Harness` (the `h` of `solve(task, h)`) and `Reply`.

Standard library only. Mounted alone into the sandbox, where `main` runs one trial: it reads
/work/task.json, calls the entry, writes /work/answer.json. Model calls are HTTP over one UNIX
socket, written by hand because importing http.client costs as much as the rest of the start.
"""

from __future__ import annotations

import importlib
import json
import os
import socket
import sys

# Neither typing nor dataclasses at run time: together they double the start of a sandbox.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    Transport = Callable[[Mapping[str, Any]], Mapping[str, Any]]
    """How a request body reaches a model; the sandbox and `harnesspro.load` each bring one."""


class Reply:
    """A model's answer. `finish_reason` is `stop`, `length`, `tool_calls` or `other`."""

    __slots__ = ("finish_reason", "in_tokens", "out_tokens", "text", "tool_calls")

    def __init__(
        self,
        text: str,
        finish_reason: str,
        *,
        in_tokens: int,
        out_tokens: int,
        tool_calls: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        """Values as the model's usage report gave them."""
        self.text, self.finish_reason = text, finish_reason
        self.in_tokens, self.out_tokens = in_tokens, out_tokens
        self.tool_calls = tool_calls

    def json(self) -> Any | None:
        """The JSON value in the text (fences and prose around it ignored), or None."""
        return find_json(self.text)


class LimitReached(Exception):
    """The trial's budget is used up: no further model call will be answered."""


class ModelFault(Exception):
    """The ground gave way: the provider failed. The trial will be run again."""


class Malformed(Exception):
    """Raise it from `solve` when no answer of the asked form could be made."""


class Harness:
    """A harness at run time: its texts, dials and the models it may ask."""

    def __init__(self, payload: Mapping[str, Any], send: Transport) -> None:
        """Bind texts to a way of asking models.

        `payload` is `{"parts": {name: {"kind", "text", "value"}}, "knobs": {...}}`.
        """
        self.payload, self.send = payload, send
        self.notes: list[str] = []
        self.tools: dict[str, Any] = {}

    def prompt(self, name: str, **slots: object) -> str:
        """The text of a part with each `{{slot}}` filled.

        Raises:
            KeyError: no such part.
        """
        text = str(self.payload["parts"][name]["text"])
        for slot, value in slots.items():
            text = text.replace("{{" + slot + "}}", str(value))
        return text.strip()

    def knob(self, name: str) -> Any:
        """The present value of a dial."""
        return self.payload["knobs"][name]

    def value(self, name: str) -> Any:
        """The parsed content of a YAML part (routing, budgets, tools)."""
        return self.payload["parts"][name]["value"]

    def route(self, task: Mapping[str, Any]) -> Mapping[str, Any]:
        """The first rule of the routing part whose `when` fits the task, else its `default`.

        A rule is `{when: {family: NAME}, use: {...}}`.
        """
        for part in self.payload["parts"].values():
            if part["kind"] != "routing" or not isinstance(part["value"], dict):
                continue
            for rule in part["value"].get("rules") or ():
                when = rule.get("when") or {}
                if all(task.get(key) == value for key, value in when.items()):
                    return dict(rule.get("use") or {})
            return dict(part["value"].get("default") or {})
        return {}

    def run_tool(self, name: str, args: Mapping[str, Any]) -> Any:
        """Call the function `name` of the module `tools/NAME.py` with keyword arguments."""
        module = self.tools.get(name) or importlib.import_module(f"tools.{name}")
        return getattr(module, name)(**args)

    def note(self, text: object) -> None:
        """Leave a line in the trial's record (at most 50 lines of 500 characters)."""
        if len(self.notes) < 50:
            self.notes.append(str(text)[:500])

    def ask(
        self,
        role: str,
        messages: str | Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        response_format: Mapping[str, Any] | None = None,
        temperature: float | None = None,
        max_output_tokens: int | None = None,
        stop: Sequence[str] | None = None,
        effort: str | None = None,
    ) -> Reply:
        """One model call. A string is one user message. Bounds of the role always hold.

        Raises:
            LimitReached: the trial's calls or dollars are used up.
            ModelFault: the provider failed for good.
        """
        body: dict[str, Any] = {
            "model": role,
            "messages": [{"role": "user", "content": messages}]
            if isinstance(messages, str)
            else [dict(message) for message in messages],
        }
        optional = {
            "tools": tools,
            "response_format": response_format,
            "temperature": temperature,
            "max_tokens": max_output_tokens,
            "stop": stop,
            "reasoning_effort": effort,
        }
        body.update({key: value for key, value in optional.items() if value is not None})
        reply = self.send(body)
        choice = reply["choices"][0]
        usage = reply.get("usage") or {}
        message = choice.get("message") or {}
        return Reply(
            text=message.get("content") or "",
            finish_reason=choice.get("finish_reason") or "other",
            in_tokens=int(usage.get("prompt_tokens") or 0),
            out_tokens=int(usage.get("completion_tokens") or 0),
            tool_calls=tuple(message.get("tool_calls") or ()),
        )


def find_json(text: str) -> Any | None:
    """The first JSON object or array in `text`, fenced or not, or None."""
    decoder = json.JSONDecoder()
    for index, character in enumerate(text):
        if character in "{[":
            try:
                return decoder.raw_decode(text, index)[0]
            except ValueError:
                continue
    return None


def load_entry(entry: str) -> Callable[[Any, Harness], Any]:
    """The function that `file.py:function` names, the harness folder being on sys.path."""
    file, _, function = entry.partition(":")
    module = importlib.import_module(file.removesuffix(".py").replace("/", "."))
    return getattr(module, function)  # type: ignore[no-any-return]


class SocketTransport:
    """POSTs to the broker over its UNIX socket, one connection a call."""

    def __init__(self, path: str, token: str) -> None:
        self.path, self.token = path, token

    def __call__(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        data = json.dumps(body).encode()
        head = (
            "POST /v1/chat/completions HTTP/1.1\r\nHost: broker\r\nConnection: close\r\n"
            f"Authorization: Bearer {self.token}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(data)}\r\n\r\n"
        )
        try:
            wire = _dial(self.path)
        except OSError as error:
            raise ModelFault(f"broker: {error}") from error
        with wire:
            try:
                wire.sendall(head.encode() + data)
                raw = b"".join(iter(lambda: wire.recv(65536), b""))
            except OSError as error:
                raise ModelFault(f"broker: {error}") from error
        return _parse(raw)


def _dial(path: str) -> socket.socket:
    """A connection to the broker: by path, or, as `fd:N`, handed in over that descriptor."""
    if not path.startswith("fd:"):
        wire = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        wire.connect(path)
        return wire
    with socket.socket(fileno=os.dup(int(path[3:]))) as door:
        door.send(b"?")
        fds = socket.recv_fds(door, 1, 1)[1]
    if not fds:
        raise ConnectionError("it does not answer")
    return socket.socket(fileno=fds[0])


def _parse(raw: bytes) -> Mapping[str, Any]:
    header, _, content = raw.partition(b"\r\n\r\n")
    try:
        status = int(header.split(b" ", 2)[1])
        value = json.loads(content)
    except (IndexError, ValueError) as error:
        raise ModelFault("broker: not an HTTP reply with a JSON body") from error
    if status == 200:
        return value  # type: ignore[no-any-return]
    detail = value.get("error") or {}
    message = str(detail.get("message") or status)
    if detail.get("code") == "limit":
        raise LimitReached(message)
    if status in (400, 422):
        raise ValueError(message)
    raise ModelFault(message)


def run_trial(
    payload: Mapping[str, Any],
    send: Transport,
    *,
    solve: Callable[[Any, Harness], Any] | None = None,
    tools: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Call the entry on the task: `{"outcome", "answer", "fault", "notes"}`; never raises.

    Outcomes: `answered`, `malformed`, `limit`, `crashed`, `fault` (the ground's). `solve` and
    `tools` are the entry and the tool modules where the caller has imported them already.
    """
    harness = Harness(payload["harness"], send)
    harness.tools.update(tools or {})
    result: dict[str, Any]
    try:
        answer = (solve or load_entry(payload["entry"]))(payload["task"], harness)
        if answer is None:
            result = {"outcome": "malformed", "fault": "solve returned None"}
        else:
            json.dumps(answer, allow_nan=False)
            result = {"outcome": "answered", "answer": answer}
    except Malformed as error:
        result = {"outcome": "malformed", "fault": str(error)[:500]}
    except LimitReached as error:
        result = {"outcome": "limit", "fault": str(error)[:500]}
    except ModelFault as error:
        result = {"outcome": "fault", "fault": str(error)[:500]}
    except BaseException as error:  # noqa: BLE001 - the per-trial boundary: whatever the judged does is data
        result = {"outcome": "crashed", "fault": f"{type(error).__name__}: {error}"[:500]}
    result["notes"] = harness.notes
    return result


def main(work: str = "/work", code: str = "/harness") -> int:
    """Run the one trial of this sandbox."""
    with open(f"{work}/task.json", encoding="utf-8") as file:
        payload = json.load(file)
    sys.path.insert(0, code)
    result = run_trial(payload, SocketTransport(payload["broker"], payload["token"]))
    with open(f"{work}/answer.json", "w", encoding="utf-8") as file:
        json.dump(result, file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
