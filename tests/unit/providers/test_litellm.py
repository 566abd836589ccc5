"""LiteLLM behind the port, against a small server on loopback. The first test pays for its import."""

import json
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import pytest

from harnesspro.core.errors import (
    ModelUnknown,
    ProviderBusy,
    ProviderError,
    ProviderSilent,
    RequestRefused,
)
from harnesspro.core.ports import ChatRequest
from harnesspro.core.records import Usage
from harnesspro.providers.litellm_provider import LiteLLMProvider, read_usage
from harnesspro.providers.registry import provider_for

REPLY = {
    "id": "r-1",
    "object": "chat.completion",
    "created": 1,
    "model": "gpt-4o-mini-2024",
    "choices": [
        {"index": 0, "message": {"role": "assistant", "content": "yes"}, "finish_reason": "stop"}
    ],
    "usage": {
        "prompt_tokens": 100,
        "completion_tokens": 7,
        "total_tokens": 107,
        "prompt_tokens_details": {"cached_tokens": 60},
        "completion_tokens_details": {"reasoning_tokens": 3},
    },
}


class Server(ThreadingHTTPServer):
    """Answers every POST with `answer` and keeps what it was sent."""

    status, answer, delay = 200, json.dumps(REPLY).encode(), 0.0

    def __init__(self):
        self.asked = []
        self.hold = threading.Event()
        super().__init__(("127.0.0.1", 0), Handler)


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self):
        self.server.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.server.hold.wait(self.server.delay)
        self.send_response(self.server.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(self.server.answer)))
        self.end_headers()
        self.wfile.write(self.server.answer)

    def log_message(self, *args):
        return


@pytest.fixture
def server(monkeypatch):
    with Server() as made:
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        monkeypatch.setenv("OPENAI_API_BASE", f"http://127.0.0.1:{made.server_port}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "not-a-key")
        yield made
        made.hold.set()
        made.shutdown()
        thread.join()


def request(**changes):
    base = {
        "model": "openai/gpt-4o-mini",
        "messages": ({"role": "user", "content": "hi"},),
        "max_output_tokens": 9,
    }
    return ChatRequest.model_validate(base | changes)


def ask(timeout_s=10.0, **changes):
    return LiteLLMProvider().complete(request(**changes), timeout_s=timeout_s)


def test_a_request_goes_out_whole_and_the_reply_comes_back_counted(server, capfd):
    reply = ask(temperature=0.5, seed=3, stop=("END",), response_format={"type": "json_object"})
    assert (reply.text, reply.finish_reason, reply.response_id) == ("yes", "stop", "r-1")
    assert reply.usage == Usage(
        uncached_in_tokens=40, cache_read_tokens=60, out_tokens=7, reasoning_tokens=3
    )
    assert server.asked == [
        {
            "model": "gpt-4o-mini",
            "messages": [{"role": "user", "content": "hi"}],
            "max_tokens": 9,
            "temperature": 0.5,
            "seed": 3,
            "stop": ["END"],
            "response_format": {"type": "json_object"},
        }
    ]
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize(
    ("status", "kind", "message"),
    [
        (401, ProviderError, "refused the key; set OPENAI_API_KEY"),
        (404, ModelUnknown, "has no such model"),
        (400, RequestRefused, "BadRequestError"),
        (429, ProviderBusy, "RateLimitError"),
        (503, ProviderBusy, "ServiceUnavailableError"),
        (500, ProviderBusy, "InternalServerError"),
    ],
)
def test_each_failure_is_one_try_and_one_class(server, capfd, status, kind, message):
    server.status = status
    server.answer = b'{"error": {"message": "sk-quoted", "type": "t", "code": "c"}}'
    with pytest.raises(kind, match=message) as raised:
        ask()
    assert type(raised.value) is kind
    assert len(server.asked) == 1
    assert capfd.readouterr().out == ""


def test_a_refused_key_is_not_quoted(server):
    server.status = 401
    server.answer = b'{"error": {"message": "Incorrect API key provided: sk-quoted"}}'
    with pytest.raises(ProviderError) as raised:
        ask()
    assert "sk-quoted" not in str(raised.value)


def test_silence_may_have_been_billed(server):
    server.delay = 5.0
    with pytest.raises(ProviderSilent):
        ask(timeout_s=0.3)


def test_nothing_listening_is_a_passing_fault(monkeypatch):
    monkeypatch.setenv("OPENAI_API_BASE", "http://127.0.0.1:1/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "not-a-key")
    with pytest.raises(ProviderBusy):
        ask()


def test_prices_come_from_the_packaged_list_and_are_never_made_up():
    provider = LiteLLMProvider()
    known = provider.price("openai/gpt-4o-mini")
    assert known is not None
    assert (known.in_nanos_per_mtok, known.out_nanos_per_mtok, known.cache_read_nanos_per_mtok) == (
        150_000_000,
        600_000_000,
        75_000_000,
    )
    assert [provider.price(model) for model in ("openai/no-such", "no-such", "ollama/llama3")] == [
        None,
        None,
        None,
    ]


def test_a_prompt_that_may_pass_a_price_tier_is_refused():
    messages = ({"role": "user", "content": "x" * 200_001},)
    with pytest.raises(RequestRefused, match="where its price rises"):
        ask(model="gemini/gemini-2.5-pro", messages=messages)


def test_check_names_what_is_missing(monkeypatch, capfd):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ProviderError, match="set OPENAI_API_KEY"):
        LiteLLMProvider().check("openai/gpt-4o-mini")
    with pytest.raises(ModelUnknown, match="no provider has a model of this name"):
        LiteLLMProvider().check("nonsense")
    monkeypatch.setenv("OPENAI_API_KEY", "not-a-key")
    LiteLLMProvider().check("openai/gpt-4o-mini")
    assert capfd.readouterr().out == ""


def test_usage_without_details_is_all_uncached():
    usage = SimpleNamespace(prompt_tokens=5, completion_tokens=2)
    assert read_usage(usage) == Usage(uncached_in_tokens=5, out_tokens=2)


def test_cache_writes_are_taken_out_of_the_prompt():
    usage = SimpleNamespace(prompt_tokens=10, completion_tokens=2, cache_creation_input_tokens=4)
    assert read_usage(usage) == Usage(uncached_in_tokens=6, cache_write_tokens=4, out_tokens=2)


def test_the_name_chooses_the_provider():
    names = ["sim/small", "local/qwen2.5-coder-0.5b", "openai/gpt-4o-mini", "gpt-4o-mini"]
    assert [type(provider_for(name, server_urls={})).__name__ for name in names] == [
        "SimProvider",
        "LocalProvider",
        "LiteLLMProvider",
        "LiteLLMProvider",
    ]


def test_choosing_a_provider_does_not_import_litellm():
    program = (
        "import sys; from harnesspro.providers.registry import provider_for; "
        "provider_for('openai/gpt-4o-mini', server_urls={}); sys.exit('litellm' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
