"""What code plainly reaches for is named; what is ordinary is not."""

import pytest

from harnesspro.core.reach import addresses, reached


@pytest.mark.parametrize(
    ("code", "what"),
    [
        ("import urllib.request", "the network (urllib)"),
        ("from http.client import HTTPConnection", "the network (http)"),
        ("def f():\n    import socket as s", "the network (socket)"),
        ("import subprocess", "other processes (subprocess)"),
        ("import os\nos.environ['KEY']", "the system (os.environ)"),
        ("import os as o\no.getenv('KEY')", "the system (os.getenv)"),
        ("from os import environ", "the system (os.environ)"),
        ("import os\nos.spawnl(0, 'sh')", "the system (os.spawnl)"),
        ("x = eval('1')", "code made at run time (eval)"),
        ("__import__('socket')", "code made at run time (__import__)"),
        ("import builtins\nbuiltins.exec('')", "code made at run time (exec)"),
        ("import pickle", "code made at run time (pickle)"),
    ],
)
def test_a_reach_is_named(code, what):
    assert reached({"solver.py": code}) == {what}


def test_ordinary_code_and_what_is_no_code_reach_for_nothing():
    ordinary = (
        "import json, os, re\nP = re.compile('a')\n"
        "def f(x):\n    return os.path.join(os.path.dirname(__file__), x.evaluate())\n"
    )
    files = {"solver.py": ordinary, "broken.py": "import (", "prompts/a.md": "import socket"}
    assert reached(files) == frozenset()


def test_addresses_of_every_kind_are_found():
    text = (
        "See https://Evil.example/x?y=1, ftp://h.example; www.evil.example or me@evil.example "
        "or 10.0.0.1. Version 1.2.3 of solver.py is not one, nor is a/b or 12:30."
    )
    assert addresses(text) == {
        "https://evil.example/x?y=1",
        "ftp://h.example",
        "www.evil.example",
        "me@evil.example",
        "10.0.0.1",
    }
