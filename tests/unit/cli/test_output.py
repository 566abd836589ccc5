import io
import json
import sys

from harnesspro.cli.output import put, put_json, say


def test_what_is_said_cannot_steer_the_terminal(capsys):
    say("red \x1b[31m")
    assert capsys.readouterr() == ("", "red \\x1b[31m\n")


def test_a_text_is_written_whatever_the_encoding_and_a_document_stays_json(monkeypatch):
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    put("café")
    put_json({"name": "café"})

    text, document = raw.getvalue().decode("ascii").splitlines()
    assert (text, json.loads(document)) == ("caf\\xe9", {"name": "café"})
