import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from harnesspro.core.errors import ModelUnknown, ProviderError, RequestRefused
from harnesspro.core.ports import ChatReply, ChatRequest
from harnesspro.core.records import Usage
from harnesspro.providers.downloads import CATALOGUE
from harnesspro.providers.local import LocalProvider, request_body

MODEL = "local/qwen2.5-coder-0.5b"
CHOICE = {"finish_reason": "stop", "message": {"role": "assistant", "content": "hi"}}
OK = {
    "id": "chatcmpl-1",
    "choices": [CHOICE],
    "usage": {
        "prompt_tokens": 31,
        "completion_tokens": 4,
        "prompt_tokens_details": {"cached_tokens": 30},
    },
}


def a_request(**changes) -> ChatRequest:
    base = {"model": MODEL, "messages": ({"role": "user", "content": "hi"},)}
    return ChatRequest.model_validate({**base, "max_output_tokens": 9, **changes})


@pytest.fixture
def serve():
    """Start a stand-in of the model server that gives one answer; its address and what it got."""
    running = []

    def start(status, body, *, health=200):
        got: list[object] = []

        class Handler(BaseHTTPRequestHandler):
            def answer(self, code, content):
                self.send_response(code)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def do_GET(self):
                self.answer(health, b"{}")

            def do_POST(self):
                got.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.answer(status, body if isinstance(body, bytes) else json.dumps(body).encode())

            def log_message(self, *args):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        running.append((server, thread))
        return f"http://127.0.0.1:{server.server_port}", got

    yield start
    for server, thread in running:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def provider_at():
    opened = []

    def make(url):
        opened.append(LocalProvider({MODEL: url}))
        return opened[-1]

    yield make
    for provider in opened:
        provider.close()


def test_a_reply_counts_warm_prompt_tokens_as_uncached(serve, provider_at):
    url, _ = serve(200, OK)
    reply = provider_at(url).complete(a_request(), timeout_s=5.0)
    assert reply.model_copy(update={"latency_s": 0.0}) == ChatReply(
        text="hi",
        finish_reason="stop",
        usage=Usage(uncached_in_tokens=31, out_tokens=4),
        model=MODEL,
        latency_s=0.0,
        response_id="chatcmpl-1",
    )


def test_the_server_gets_what_was_asked_and_nothing_else(serve, provider_at):
    url, got = serve(200, OK)
    schema = {"type": "json_schema", "json_schema": {"schema": {"type": "object"}}}
    asked = a_request(temperature=0.0, response_format=schema, stop=("\n",), seed=7)
    provider_at(url).complete(asked, timeout_s=5.0)
    assert got == [
        {
            "model": "qwen2.5-coder-0.5b",
            "messages": [{"role": "user", "content": "hi"}],
            "max_tokens": 9,
            "cache_prompt": True,
            "temperature": 0.0,
            "response_format": schema,
            "stop": ["\n"],
            "seed": 7,
        }
    ]


def test_a_seed_never_becomes_the_servers_word_for_any_seed():
    assert request_body(a_request(seed=0xFFFF_FFFF))["seed"] == 0x7FFF_FFFF


@pytest.mark.parametrize(("said", "meant"), [("length", "length"), ("content_filter", "other")])
def test_finish_reasons_are_the_ports_four(serve, provider_at, said, meant):
    url, _ = serve(200, {**OK, "choices": [{**CHOICE, "finish_reason": said}]})
    assert provider_at(url).complete(a_request(), timeout_s=5.0).finish_reason == meant


@pytest.mark.parametrize("status", [400, 500])
def test_a_refused_request_is_the_askers_fault(serve, provider_at, status):
    url, _ = serve(status, {"error": {"message": "exceeds the available context size"}})
    with pytest.raises(RequestRefused, match=r"exceeds the available context size"):
        provider_at(url).complete(a_request(), timeout_s=5.0)


@pytest.mark.parametrize(
    ("status", "body"),
    [(503, {"error": {"message": "Loading model"}}), (200, b"<html>"), (200, {"choices": []})],
)
def test_a_failing_server_is_the_grounds_fault(serve, provider_at, status, body):
    url, _ = serve(status, body)
    with pytest.raises(ProviderError) as caught:
        provider_at(url).complete(a_request(), timeout_s=5.0)
    assert type(caught.value) is ProviderError


def test_a_server_that_is_gone_is_a_provider_error(provider_at):
    with pytest.raises(ProviderError, match=r"the local server at http://127.0.0.1:9"):
        provider_at("http://127.0.0.1:9").complete(a_request(), timeout_s=5.0)


def test_a_model_nobody_serves_is_unknown(provider_at):
    with pytest.raises(ModelUnknown, match=r"no server runs for it"):
        provider_at("http://127.0.0.1:9").complete(a_request(model="local/x.gguf"), timeout_s=5.0)


def test_an_address_may_come_from_a_function(serve):
    url, _ = serve(200, OK)
    provider = LocalProvider(lambda model: url)
    assert provider.complete(a_request(), timeout_s=5.0).text == "hi"
    provider.close()


def test_a_catalogue_model_has_its_list_price_and_a_file_has_none(provider_at):
    provider = provider_at("http://127.0.0.1:9")
    assert provider.price(MODEL) == CATALOGUE["qwen2.5-coder-0.5b"].price
    assert provider.price("local/mine.gguf") is None


def test_check_wants_the_file_and_then_the_server(serve, tmp_path, monkeypatch, provider_at):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    url, _ = serve(200, OK, health=503)
    provider = provider_at(url)
    with pytest.raises(ModelUnknown, match=r"run: harnesspro model pull qwen2.5-coder-0.5b"):
        provider.check(MODEL)
    path = CATALOGUE["qwen2.5-coder-0.5b"].path
    path.parent.mkdir(parents=True)
    path.write_bytes(b"GGUF")
    with pytest.raises(ProviderError, match=r"answers 503"):
        provider.check(MODEL)
    ready, _ = serve(200, OK)
    assert provider_at(ready).check(MODEL) is None
