"""Secrets that a tool prints into a trial: what is recorded of it holds none of them."""

from __future__ import annotations

import base64
import json
import sqlite3
from pathlib import Path

import pytest

from harnesspro.core.ports import CallEnd, ChatReply, ChatRequest, PlannedCall
from harnesspro.core.records import Usage
from harnesspro.core.redact import bits_a_character, redacted_text, redactor, secrets_of
from harnesspro.store.ledger import LedgerWriter
from harnesspro.store.ledger_rows import SCHEMA
from tests.unit.broker.builders import grant

OWN = "correct-horse-4711-battery"
"""Of no known form: only the broker, which holds it, knows that it is a secret."""
JWT = ".".join(
    base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=")
    for part in (
        {"alg": "HS256", "typ": "JWT"},
        {"sub": "1234567890", "name": "n"},
        {"sig": "x" * 20},
    )
)
RANDOM = "q7Zp0Lr3Xv9Bt2Wm8Ks5Yd1Hf6Jc4Ng"
SECRETS: dict[str, tuple[str, str]] = {
    "an API key": (f"using sk-proj-{RANDOM}", f"sk-proj-{RANDOM}"),
    "a cloud key": ("id AKIA" + "ABCDEFGH12345678", "AKIA" + "ABCDEFGH12345678"),
    "a repository token": (f"remote ghp_{RANDOM}{RANDOM[:4]}", f"ghp_{RANDOM}"),
    "a JWT": (f"cookie: {JWT}", JWT),
    "an .env file": ("DB_HOST=db\nDB_PASSWORD=hunter2-hunter2\n", "hunter2-hunter2"),
    "a URL with a password": ("postgres://app:s3cr3tpw@db.local/x", "s3cr3tpw"),
    "basic authorization": (
        "Authorization: Basic YWRtaW46c3VwZXJzZWNyZXQ5",
        "YWRtaW46c3VwZXJzZWNyZXQ5",
    ),
    "a bearer": (f"authorization: bearer {RANDOM}", RANDOM),
    "a private key": ("-----BEGIN RSA PRIVATE KEY-----\nMIIEow" + RANDOM, RANDOM),
    "a random value named a secret": (f'{{"client_secret": "{RANDOM}"}}', RANDOM),
    "the broker's own key": (f"the environment says {OWN}!", OWN),
}


def planned(text: str, replay_key: str = "k") -> PlannedCall:
    return PlannedCall(
        trial_id="t-1",
        attempt=0,
        index=0,
        role="writer",
        draw="search/0",
        purse="target",
        replay_key=replay_key,
        reserved_nanos=10,
        paid=True,
        request=ChatRequest(
            model="m", messages=({"role": "tool", "content": text},), max_output_tokens=10
        ),
    )


def record(run_dir: Path, text: str) -> None:
    """A call whose prompt and reply hold the text, and a trial that answers and notes it."""
    environment = {"PROVIDER_API_KEY": OWN, "PATH": "/usr/bin", "SHORT_KEY": "a"}
    with LedgerWriter(run_dir, redact=redactor(secrets_of(environment))) as ledger:
        ledger.open_attempt(grant())
        call = ledger.send(planned(text))
        usage = Usage(uncached_in_tokens=1, out_tokens=1)
        reply = ChatReply(text=text, finish_reason="stop", usage=usage, model="m", latency_s=0.1)
        ledger.settle(call, CallEnd("done", reply=reply, attributed_nanos=5, fault=text))
        ledger.put("trial", "t-1", {"answer": {text: [text]}, "notes": [text], "n": 1})


def on_disk(run_dir: Path) -> bytes:
    return b"".join(path.read_bytes() for path in run_dir.rglob("*") if path.is_file())


@pytest.mark.parametrize("name", SECRETS)
def test_case_44_a_secret_never_reaches_the_disk(tmp_path: Path, name: str):
    text, secret = SECRETS[name]
    record(tmp_path / "run", text)
    content = on_disk(tmp_path / "run")
    assert secret.encode() not in content
    assert content.count(b"[redacted]") >= 5


@pytest.mark.parametrize("name", SECRETS)
def test_case_44_a_ledger_that_writes_what_it_is_given_holds_it(tmp_path: Path, name: str):
    text, secret = SECRETS[name]
    connection = sqlite3.connect(tmp_path / "ledger.db")
    connection.executescript(SCHEMA)
    row = ("trial", "t-1", json.dumps({"answer": text}), "now")
    connection.execute(
        "INSERT INTO records (kind, key, value, created_at) VALUES (?, ?, ?, ?)", row
    )
    connection.commit()
    connection.close()
    assert json.dumps(secret)[1:-1].encode() in on_disk(tmp_path)


HARMLESS = (
    "Basic understanding of tokenization is required.",
    "token: the smallest unit of text that a model reads",
    "sha256 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "secret = the_quick_brown_fox_the_quick_brown",
    "https://example.org:8080/a@b and me@example.org",
    'create_user(name="ann", password="hunter2")',
    "KEY=short",
    "sk-learn is a library; skip sk-1",
)


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_no_secret_is_recorded_as_it_is(text: str):
    assert redacted_text(text) == text


def test_what_was_redacted_once_stays_as_it_is():
    for text, _ in SECRETS.values():
        once = redactor([OWN])(text)
        assert redactor([OWN])(once) == once


def test_a_redacted_record_may_be_put_again(tmp_path: Path):
    with LedgerWriter(tmp_path / "run") as ledger:
        for _ in range(2):
            ledger.put("trial", "t", {"answer": f"sk-{RANDOM}"})
        assert ledger.get("trial", "t") == {"answer": "[redacted]"}


def test_random_characters_carry_more_bits_than_words():
    assert bits_a_character("the_quick_brown_fox") > bits_a_character("aaaaaaaa") == 0.0
    assert bits_a_character(RANDOM) > 4
