"""Attacks on the vault's one door: gold carried out, replies read for more than they say."""

import base64
import codecs
import json
import random
import socket
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import harnesspro
from harnesspro.core.errors import IntegrityError
from harnesspro.core.hashing import content_hash
from harnesspro.core.ports import GradeRequest, Opening
from harnesspro.formats.tasks import load_tasks
from harnesspro.vault.certificate import certificate, leak_bound, run_events, told_bits, verify
from harnesspro.vault.client import GraderClient
from harnesspro.vault.log import VaultLog
from harnesspro.vault.seal import SealReceipt
from harnesspro.vault.wire import read_frame, write_frame
from tests.contract.test_grader import SERVE
from tests.unit.vault.sealing import hidden_of, question, record, sealed

GOLD = "the-quick-brown-answer-0"


class Door:
    """A sealed task set, its grader in a process of its own, and the socket to it."""

    def __init__(self, folder: Path, records: list[dict[str, Any]]) -> None:
        self.run = folder / "runs" / "r1"
        self.run.mkdir(parents=True)
        self.receipt: SealReceipt = sealed(folder, records)
        settings = {
            "vault_dir": str(folder / "vault"),
            "taskset_id": self.receipt.taskset_id,
            "merkle_root": self.receipt.merkle_root,
            "answer_kind": "text",
            "scheme": "exact",
            "run_dir": str(self.run),
        }
        ours, theirs = socket.socketpair()
        ours.settimeout(60)
        command = [sys.executable, "-c", SERVE, str(theirs.fileno()), json.dumps(settings)]
        self.child = subprocess.Popen(command, pass_fds=[theirs.fileno()], env={})
        theirs.close()
        self.socket, self.client = ours, GraderClient(ours)
        tasks = load_tasks(self.receipt.tasks_path)
        self.ids = {question(task): task.task_id for task in tasks}

    def ask(self, answers: dict[str, Any]) -> Opening:
        """Question -> answer."""
        return self.client.open_sealed(
            [
                GradeRequest(digest=content_hash(q, a), task_id=self.ids[q], answer=a)
                for q, a in answers.items()
            ]
        )

    def frame(self, *answers: tuple[str, str]) -> bytes:
        """The raw reply to (task_id, answer as JSON text)."""
        listed = [["d" * 64, task_id, text] for task_id, text in answers]
        write_frame(self.socket, {"op": "open_sealed", "answers": listed})
        return json.dumps(read_frame(self.socket)).encode()


Open = Callable[..., Door]


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Open]:
    opened: list[Door] = []

    def open_one(records: list[dict[str, Any]] | None = None) -> Door:
        opened.append(Door(tmp_path, records or [record(index) for index in range(4)]))
        return opened[-1]

    yield open_one
    for one in opened:
        one.client.close()
        one.child.wait(30)


# --- canaries ------------------------------------------------------------------------------------

DISGUISES: dict[str, Callable[[str], str]] = {
    "as it is": lambda canary: canary,
    "upper case": str.upper,
    "base64": lambda canary: base64.b64encode(f"x{canary}".encode()).decode(),
    "hex": lambda canary: canary.encode().hex(),
    "reversed": lambda canary: canary[::-1],
    "rot13": lambda canary: codecs.encode(canary, "rot13"),
    "zero width": "\u200b".join,
    "text direction": lambda canary: "\u202e" + "\u2060".join(canary),
}


@pytest.mark.parametrize("disguise", DISGUISES)
def test_case_07_a_canary_carried_out(door: Open, disguise: str):
    place = door()
    canary = hidden_of(place.receipt)[1]["canary"]
    hidden = DISGUISES[disguise](canary)
    (place.run / "trajectories").mkdir()
    (place.run / "trajectories/t.json").write_text(json.dumps({"answer": f"so: {hidden}!"}))
    by_plain_search = canary in (place.run / "trajectories/t.json").read_text()
    assert by_plain_search is (disguise == "as it is")
    opening = place.ask({"q0": "x"})
    assert opening.canary_hits == 1
    assert certificate(events_of(place, opening))["canary_hits"] == 1


def test_case_07_a_canary_in_a_compressed_blob(door: Open):
    place = door()
    canary = hidden_of(place.receipt)[0]["canary"]
    blob = zlib.compress(f"tree of {canary}".encode())
    (place.run / "object").write_bytes(blob)
    assert canary.encode() not in blob
    assert place.ask({"q0": "x"}).canary_hits == 1


def test_case_07_what_was_found_cannot_be_taken_back(door: Open):
    place = door()
    (place.run / "note").write_text(hidden_of(place.receipt)[0]["canary"])
    document = certificate(events_of(place, place.ask({"q0": "x"})))
    clean = json.loads(json.dumps(document).replace('"hits": 1', '"hits": 0')) | {"canary_hits": 0}
    assert verify(document) == []
    assert verify(clean) != []


def events_of(place: Door, opening: Opening, *, n_harnesses: int = 1) -> list[dict[str, Any]]:
    return run_events(
        seal=None,
        isolation="S3",
        firewall="F1",
        search_bits=0.0,
        opening=opening,
        n_harnesses=n_harnesses,
    )


# --- what replies give away ----------------------------------------------------------------------

BREAKERS: dict[str, tuple[str, str]] = {
    "a task that is none": ("task-and the answer is 42", '"x"'),
    "a task with a path": ("../../vault/gold.jsonl", '"x"'),
}


@pytest.mark.parametrize("breaker", BREAKERS)
def test_case_09_an_error_made_to_speak(door: Open, breaker: str):
    place = door()
    assert place.frame(BREAKERS[breaker]) == b'{"error": "GRADER_ERROR"}'
    with pytest.raises(IntegrityError) as told:
        place.client.open_sealed([GradeRequest(digest="d", task_id=BREAKERS[breaker][0], answer=1)])
    assert "42" not in str(told.value)
    assert "vault/" not in str(told.value)


@pytest.mark.parametrize("answer", ["[" * 50_000 + "]" * 50_000, '{"a": 1', '"' + "x" * 100_000])
def test_case_09_an_answer_that_breaks_the_comparison_is_wrong_like_any_other(
    door: Open, answer: str
):
    place = door()
    task_id = place.ids["q0"]
    assert place.frame((task_id, answer)) == place.frame((task_id, '"wrong"')).replace(
        b'"000000002"', b'"000000001"'
    )


def test_case_09_a_grader_that_reflects_its_exceptions_hands_the_answers_over():
    def grade_in_process(answer: Any, gold: str) -> str:
        try:
            return "right" if answer == gold else "wrong"
        except Exception as error:  # noqa: BLE001 - the weakness shown
            return f"error: {error}"

    class Carries:
        def __eq__(self, other: object) -> bool:
            raise RuntimeError(f"task q0, answer {other}")

        __hash__ = None  # type: ignore[assignment]

    assert GOLD in grade_in_process(Carries(), GOLD)


def coin(n: int) -> list[dict[str, Any]]:
    toss = random.Random(5)
    return [{"input": {"question": f"q{i}"}, "gold": toss.choice(["yes", "no"])} for i in range(n)]


def guess(draw: random.Random, n: int) -> dict[str, str]:
    return {f"q{i}": draw.choice(["yes", "no"]) for i in range(n)}


def combined(replies: list[tuple[dict[str, str], float]]) -> dict[str, str]:
    """The vote of all guesses, each by how far it was above chance."""
    votes: dict[str, float] = {}
    for answers, accuracy in replies:
        for q, answer in answers.items():
            votes[q] = votes.get(q, 0.0) + (accuracy - 0.5) * (1 if answer == "yes" else -1)
    return {q: "yes" if vote > 0 else "no" for q, vote in votes.items()}


def test_case_10_an_oracle_that_nobody_counts_flatters_a_coin():
    n, draw = 50, random.Random(1)
    gold = {f"q{i}": row["gold"] for i, row in enumerate(coin(n))}
    score = lambda a: sum(a[q] == gold[q] for q in gold) / n  # noqa: E731
    best = combined([(a, score(a)) for a in (guess(draw, n) for _ in range(400))])
    certified = leak_bound(0.0, n=n)  # its certificate says that nothing was told
    assert score(best) - 0.5 > 0.3 > certified


def test_case_10_here_every_opening_counts_and_the_bound_covers_what_it_told(door: Open):
    n, n_asked, draw = 200, 12, random.Random(2)
    place = door(coin(n))
    replies, opening = [], place.ask(guess(draw, n))
    for _ in range(n_asked):
        answers = guess(draw, n)
        opening = place.ask(answers)
        right = sum(reply.grade == "right" for reply in opening.replies)
        replies.append((answers, right / n))
    gold = {hidden["task_id"]: hidden["gold"] for hidden in hidden_of(place.receipt)}
    best = combined(replies)
    flattered = sum(gold[place.ids[q]] == best[q] for q in best) / n - 0.5
    assert opening.n_openings == n_asked + 1
    entries = VaultLog(Path(place.receipt.vault_path)).entries()
    assert [e["event"] for e in entries].count("opening") == n_asked + 1
    events = events_of(place, opening)
    (bound,) = [e["accuracy_points"] for e in events if e["event"] == "leak_bound"]
    assert 0.05 < flattered < bound < 1
    assert bound == pytest.approx(
        leak_bound(told_bits(n_asked, n_tasks=n, n_harnesses=1), n=n), abs=1e-6
    )


def test_case_10_nothing_that_searches_can_ask():
    """Only the end of a run and the owner's own command hold the grader."""
    package = Path(harnesspro.__file__).parent
    askers = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if ".open_sealed(" in path.read_text(encoding="utf-8")
    }
    assert askers <= {"loop/finish.py", "cli/gold.py", "wiring.py", "processes.py"}
    assert "loop/finish.py" in askers


def test_case_11_replies_have_one_size(door: Open):
    place = door()
    task_id = place.ids["q0"]
    answers = [GOLD, "wrong", "", "x" * 50_000, None, 7, ["a"], {"a": GOLD}, GOLD.upper()]
    sizes = {len(place.frame((task_id, json.dumps(answer)))) for answer in answers}
    assert len(sizes) == 1


def test_case_11_a_grader_that_explains_is_read_by_the_length_of_its_reply():
    def explains(answer: str) -> bytes:
        note = "right" if answer == GOLD else f"expected {GOLD[:3]}..., got {answer}"
        return json.dumps({"grade": note}).encode()

    assert len(explains(GOLD)) != len(explains("the-quick-brown-answer-1"))
