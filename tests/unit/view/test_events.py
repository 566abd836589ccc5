import io
import json

from harnesspro.core.redact import redactor
from harnesspro.view.events import SCHEMA, Both, EventLines


def test_each_event_is_one_object_a_line_with_secrets_taken_out():
    stream, lost = io.StringIO(), list[str]()
    sink = EventLines(stream, "r1", redact=redactor(["hunter2hunter2"]), lost=lost.append)
    sink.emit("phase", name="race", round=1)
    sink.emit("paused", why="the key hunter2hunter2 was refused\nnow")
    first, second = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert {key: first[key] for key in ("schema", "run_id", "event", "name", "round")} == {
        "schema": SCHEMA,
        "run_id": "r1",
        "event": "phase",
        "name": "race",
        "round": 1,
    }
    assert first["at"].endswith("+00:00")
    assert "hunter2" not in second["why"]
    assert lost == []


class Full(io.StringIO):
    def write(self, text: str) -> int:
        raise OSError(28, "No space left on device")


def test_a_full_disk_ends_the_writing_and_is_said_once():
    lost: list[str] = []
    sink = EventLines(Full(), "r1", redact=redactor(), lost=lost.append)
    sink.emit("phase")
    sink.emit("phase")
    assert lost == ["events are no longer written: [Errno 28] No space left on device"]


def test_several_are_told_in_order():
    told: list[tuple[str, str]] = []

    class Sink:
        def __init__(self, name: str) -> None:
            self.name = name

        def emit(self, event, **fields):
            told.append((self.name, event))

    Both([Sink("a"), Sink("b")]).emit("x")
    assert told == [("a", "x"), ("b", "x")]
