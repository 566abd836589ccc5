import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from harnesspro.core.errors import (
    ModelUnknown,
    ProviderBusy,
    ProviderError,
    ProviderSilent,
    RequestRefused,
)
from harnesspro.core.money import cost_nanos, worst_case_nanos
from harnesspro.core.ports import ChatReply, ChatRequest
from harnesspro.core.records import Price, Usage
from harnesspro.providers.registry import provider_for
from harnesspro.providers.verifier import MOST_QUESTION_BYTES, MOST_REPLY_BYTES, VerifierProvider

QUESTION = {"task": {"request": "say {}"}, "files": {}, "answers": ["é", "b"]}
NOWHERE = "verifier/http://127.0.0.1:9/x"


def a_request(model=NOWHERE, text=None, **changes):
    content = json.dumps(QUESTION, ensure_ascii=False, indent=1) if text is None else text
    messages = ({"role": "system", "content": "{}"}, {"role": "user", "content": content})
    base = {"model": model, "messages": messages, "max_output_tokens": 9}
    return ChatRequest.model_validate({**base, **changes})


@pytest.fixture
def verifier():
    """Start a verifier that gives one answer; its model name, and what it got."""
    running = []

    def start(body, *, status=200, headers=(), pause_s=0.0):
        got: list[object] = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                sent = self.rfile.read(int(self.headers["Content-Length"]))
                got.append((self.path, json.loads(sent)))
                content = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                for name, value in headers:
                    self.send_header(name, value)
                self.end_headers()
                time.sleep(pause_s)
                self.wfile.write(content)

            def log_message(self, *args):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        running.append((server, thread))
        return f"verifier/http://127.0.0.1:{server.server_port}/verify?v=1", got

    yield start
    for server, thread in running:
        server.shutdown()
        thread.join()
        server.server_close()


def asked(model, *, timeout_s=5.0, **changes):
    return VerifierProvider().complete(a_request(model, **changes), timeout_s=timeout_s)


def test_the_question_is_sent_as_it_stands_and_the_scores_come_back(verifier):
    model, got = verifier({"scores": [0.25, 1], "why": "no matter"})
    reply = asked(model)

    assert got == [("/verify?v=1", QUESTION)]
    assert reply == ChatReply(
        text='{"scores":[0.25,1]}',
        finish_reason="stop",
        usage=Usage(uncached_in_tokens=18, out_tokens=11),
        model=model,
        latency_s=reply.latency_s,
    )


def test_what_stands_around_the_question_stays_here(verifier):
    model, got = verifier({"scores": [0, 0]})
    asked(model, text=f"Judge:\n{json.dumps(QUESTION)}\n\nYour last reply could not be used.")
    assert got == [("/verify?v=1", QUESTION)]


@pytest.mark.parametrize("text", ["", "no question", "{broken", '{"task": 1}', '{"answers": []}'])
def test_a_verifier_does_nothing_but_judge(text):
    with pytest.raises(RequestRefused, match="no question"):
        asked(NOWHERE, text=text)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"fine",
        b"\xff\xfe",
        b"[" * 50_000,
        [0, 1],
        {"scores": [1]},
        {"scores": [0, 1, 1]},
        {"scores": [0, 1.01]},
        {"scores": [0, -0.5]},
        {"scores": [0, True]},
        {"scores": [0, "1"]},
        b'{"scores": [0, NaN]}',
        {"scores": {"0": 1}},
    ],
)
def test_a_reply_of_another_shape_is_said_to_be_one(verifier, body):
    model, _ = verifier(body)
    with pytest.raises(ProviderError, match=r"expected .* with 2 numbers from 0 to 1"):
        asked(model)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, RequestRefused),
        (413, RequestRefused),
        (422, RequestRefused),
        (429, ProviderBusy),
        (503, ProviderBusy),
        (401, ProviderError),
        (404, ProviderError),
        (500, ProviderError),
    ],
)
def test_every_other_status_is_an_error_of_its_kind(verifier, status, kind):
    model, _ = verifier({"scores": [0, 1]}, status=status)
    with pytest.raises(ProviderError, match=f"the verifier answers {status}") as caught:
        asked(model)
    assert type(caught.value) is kind


def test_a_redirect_is_not_followed(verifier):
    inner, got = verifier({"scores": [0, 1]})
    model, _ = verifier(b"", status=307, headers=[("Location", inner.removeprefix("verifier/"))])
    with pytest.raises(ProviderError, match=r"answers 307; name the address it points to"):
        asked(model)
    assert got == []


def test_a_reply_without_end_is_cut_off(verifier):
    model, _ = verifier(b"x" * (MOST_REPLY_BYTES + 1))
    with pytest.raises(ProviderError, match="a reply of over 100000 bytes"):
        asked(model)


def test_a_question_too_long_is_not_sent(verifier):
    model, got = verifier({"scores": [0, 1]})
    long = json.dumps({"task": "x" * MOST_QUESTION_BYTES, "answers": [1, 2]})
    with pytest.raises(RequestRefused, match=r"a question of \d+ bytes; expected at most 2000000"):
        asked(model, text=long)
    assert got == []


def test_no_reply_in_time_may_have_been_worked_on(verifier):
    model, _ = verifier({"scores": [0, 1]}, pause_s=0.5)
    with pytest.raises(ProviderSilent, match="ReadTimeout"):
        asked(model, timeout_s=0.1)


def test_nothing_listening_may_be_tried_again():
    with pytest.raises(ProviderBusy, match="nothing answers"):
        asked(NOWHERE)


def test_a_proxy_of_the_environment_does_not_see_what_stays_on_this_machine(verifier, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    model, got = verifier({"scores": [0, 1]})
    asked(model)
    assert len(got) == 1


# --- before a run ------------------------------------------------------------------------------


def test_it_is_declared_free_and_never_paid():
    price = VerifierProvider().price(NOWHERE)
    assert price == Price(
        model=NOWHERE,
        in_nanos_per_mtok=0,
        out_nanos_per_mtok=0,
        cache_read_nanos_per_mtok=0,
        cache_write_nanos_per_mtok=0,
        source="free here: what it costs, the verifier's owner bears",
        paid=False,
    )
    assert cost_nanos(Usage(uncached_in_tokens=10**6), price) == 0
    assert worst_case_nanos(in_tokens=10**6, max_out_tokens=10**6, price=price) == 0


def test_checking_asks_nothing_but_whether_something_listens(verifier):
    model, got = verifier({"scores": [0, 1]})
    VerifierProvider().check(model)
    assert got == []
    with pytest.raises(ProviderError, match=r"nothing answers at 127\.0\.0\.1:9"):
        VerifierProvider().check(NOWHERE)


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("", "no http or https address"),
        ("example.org/verify", "no http or https address"),
        ("ftp://example.org", "no http or https address"),
        ("file:///etc/passwd", "no http or https address"),
        ("http://", "no http or https address"),
        ("http://user:secret@example.org/", "a name or password in the address"),
        ("http://127.0.0.1:99999/", "Port out of range"),
        ("http://127.0.0.1:0/", "no address to send to"),
        ("http://[::1/", "Invalid IPv6 URL"),
    ],
)
def test_what_is_no_address_of_a_verifier_is_refused_and_has_no_price(address, told):
    provider, model = VerifierProvider(), f"verifier/{address}"
    assert provider.price(model) is None
    with pytest.raises(ModelUnknown, match=told):
        provider.check(model)
    with pytest.raises(ModelUnknown, match=told):
        provider.complete(a_request(model), timeout_s=1)


def test_a_verifier_is_found_by_its_name():
    assert isinstance(provider_for(NOWHERE, server_urls={}), VerifierProvider)
