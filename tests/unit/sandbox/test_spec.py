"""A start spec is of its exact form, or none at all."""

import math
import os
from typing import Any

import pytest

from harnesspro.sandbox.spec import FIELDS, Malformed, Start
from tests.unit.sandbox.boxes import raw_spec


def test_what_the_client_sends_is_a_spec():
    start = Start(raw_spec())
    assert raw_spec().keys() == FIELDS
    assert (start.name, start.code_dir, start.argv, start.broker) == ("raw", "/c", None, True)
    assert (start.wall_s, start.output_bytes, start.n_processes) == (60.0, 1_000_000, 64)
    assert (start.memory_bytes, start.disk_bytes, start.n_files) == (2 * 10**9, 1 << 28, 20_000)


def test_the_payload_gets_the_socket_as_seen_from_inside():
    assert Start(raw_spec()).task("/run/b") == '{"x": 1, "broker": "/run/b"}'
    assert Start(raw_spec(broker=False)).task("/run/b") == '{"x": 1, "broker": ""}'
    assert Start(raw_spec(payload="[1]")).task("/run/b") == "[1]"


def test_processor_seconds_leave_the_clock_the_first_word_unless_named():
    free = Start(raw_spec(wall_s=1.5))
    assert free.cpu_s == 1.5 * (os.cpu_count() or 1) + 10
    limits = Start(raw_spec(cpu_s=2.5, memory_bytes=1 << 30, disk_bytes=5000)).limits()
    assert limits == {
        "RLIMIT_DATA": 1 << 30,
        "RLIMIT_CPU": 4,
        "RLIMIT_FSIZE": 5000,
        "RLIMIT_NOFILE": 1024,
        "RLIMIT_CORE": 0,
    }


@pytest.mark.parametrize("spec", [None, 7, "x", [], [raw_spec()], {}])
def test_what_is_no_object_or_an_empty_one_is_no_spec(spec: object):
    with pytest.raises(Malformed, match=r"^spec: "):
        Start(spec)


@pytest.mark.parametrize("name", sorted(FIELDS))
def test_a_field_that_is_missing_or_unknown_is_named(name: str):
    spec = raw_spec()
    del spec[name]
    with pytest.raises(Malformed, match=f"^spec: {name}: missing or unknown"):
        Start(spec)
    with pytest.raises(Malformed, match=f"^spec: {name}2: missing or unknown"):
        Start(raw_spec(**{f"{name}2": 1}))


TEXTLESS: tuple[Any, ...] = ([], None, {"a": 1}, "a")
NO_TEXTS: tuple[Any, ...] = (None, 1, [], {})
NO_COMMANDS: tuple[Any, ...] = ("sh", 5, [], [1], ["a", None], ["a\0b"], {"0": "sh"})
WRONG: list[tuple[str, Any]] = [
    *((name, value) for name in ("name", "code_dir", "payload") for value in NO_TEXTS),
    *(("argv", value) for value in NO_COMMANDS),
    *((name, value) for name in ("files", "env") for value in TEXTLESS),
    *(("broker", value) for value in (1, 0, "true", None)),
    *(("wall_s", value) for value in ("soon", None, True, 0, -1, math.nan, math.inf, 1e9)),
    *(("cpu_s", value) for value in ("soon", False, 0, -1, math.nan)),
    *(("output_bytes", value) for value in (1.5, -1, None, True, 1 << 40)),
    *(("memory_bytes", value) for value in (1e9, 0, -1, "2G", 1 << 60)),
    *(("n_processes", value) for value in (0, -1, 10**6, 2.0)),
    *(("disk_bytes", value) for value in (0, 1.0, 1 << 50)),
    *(("n_files", value) for value in (0, 1, None)),
    *(("payload", value) for value in ("", "{", "nope", "[" * 100_000)),
]


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_a_value_of_another_type_or_out_of_range_is_refused_by_name(name: str, value: object):
    with pytest.raises(Malformed, match=f"^{name}: "):
        Start(raw_spec(**{name: value}))
