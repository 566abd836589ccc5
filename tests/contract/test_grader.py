import json
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harnesspro.core.errors import HarnessProError, IntegrityError
from harnesspro.core.hashing import content_hash
from harnesspro.core.ports import Grader, GradeRequest, Opening
from harnesspro.formats.tasks import load_tasks
from harnesspro.vault.client import GraderClient
from harnesspro.vault.log import VaultLog
from harnesspro.vault.seal import SealReceipt
from harnesspro.vault.wire import read_frame, write_frame
from tests.unit.vault.sealing import gold_path, hidden_of, question, record, sealed

# The exit code is PR_GET_DUMPABLE: 0 where no debugger and no /proc reader can get in.
SERVE = """
import ctypes, socket, sys
from harnesspro.vault.grader import GraderConfig, serve
serve(socket.socket(fileno=int(sys.argv[1])), GraderConfig.model_validate_json(sys.argv[2]))
sys.exit(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))
"""
Start = Callable[..., GraderClient]


@pytest.fixture
def receipt(tmp_path: Path) -> SealReceipt:
    (tmp_path / "runs" / "r1").mkdir(parents=True)
    return sealed(tmp_path, [*(record(index) for index in range(4)), {"input": {"question": "?"}}])


@pytest.fixture
def start(tmp_path: Path, receipt: SealReceipt) -> Iterator[Start]:
    """Starts a grader in its own process, its environment empty; each must end undumpable."""
    started: list[tuple[GraderClient, subprocess.Popen[bytes]]] = []

    def start_one(**changes: str) -> GraderClient:
        config = {
            "vault_dir": str(tmp_path / "vault"),
            "taskset_id": receipt.taskset_id,
            "merkle_root": receipt.merkle_root,
            "answer_kind": "text",
            "scheme": "exact",
            "run_dir": str(tmp_path / "runs" / "r1"),
        } | changes
        ours, theirs = socket.socketpair()
        ours.settimeout(60)
        command = [sys.executable, "-c", SERVE, str(theirs.fileno()), json.dumps(config)]
        child = subprocess.Popen(command, pass_fds=[theirs.fileno()], env={})
        theirs.close()
        client = GraderClient(ours)
        started.append((client, child))
        return client

    yield start_one
    for client, child in started:
        client.close()
        assert child.wait(timeout=30) == 0


def requests_for(receipt: SealReceipt, answers: dict[str, object]) -> list[GradeRequest]:
    """Question -> answer."""
    ids = {question(task): task.task_id for task in load_tasks(receipt.tasks_path)}
    return [
        GradeRequest(digest=content_hash(ids[q], a), task_id=ids[q], answer=a)
        for q, a in answers.items()
    ]


def grades(opening: Opening) -> list[str]:
    return [reply.grade for reply in opening.replies]


ANSWERS: dict[str, object] = {
    "q0": "the-quick-brown-answer-0",
    "q1": "THE-quick-brown-answer-1 ",
    "q2": "no idea",
    "q3": None,
    "?": "anything",
}


def test_all_answers_are_graded_in_the_order_sent(start, receipt):
    grader: Grader = start()
    requests = requests_for(receipt, ANSWERS)
    opening = grader.open_sealed(requests)
    assert grades(opening) == ["right", "right", "wrong", "wrong", "no_gold"]
    assert [reply.digest for reply in opening.replies] == [request.digest for request in requests]
    assert (opening.n_openings, opening.canary_hits) == (1, 0)
    assert opening.merkle_root == receipt.merkle_root


def test_openings_are_counted_across_calls_and_processes(start, receipt):
    requests = requests_for(receipt, {"q0": "x"})
    first = start()
    counts = [first.open_sealed(requests).n_openings, first.open_sealed(requests).n_openings]
    assert [*counts, start().open_sealed(requests).n_openings] == [1, 2, 3]
    log = VaultLog(Path(receipt.vault_path)).entries()
    assert [entry["event"] for entry in log] == ["sealed", *["opening", "scanned"] * 3]


def test_an_opening_is_on_the_disk_before_anything_is_answered(start, receipt, tmp_path):
    (tmp_path / "runs" / "r1").rmdir()  # the scan, which comes next, fails
    with pytest.raises(IntegrityError, match="GRADER_ERROR"):
        start().open_sealed(requests_for(receipt, {"q0": "x"}))
    log = VaultLog(Path(receipt.vault_path)).entries()
    assert [entry["event"] for entry in log] == ["sealed", "opening"]


def test_a_changed_vault_opens_nothing(start, receipt):
    path = gold_path(receipt)
    path.write_text(path.read_text().replace("answer-2", "answer-9"))
    with pytest.raises(IntegrityError, match="GRADER_ERROR"):
        start().open_sealed(requests_for(receipt, {"q0": "x"}))
    log = VaultLog(Path(receipt.vault_path)).entries()
    assert [entry["event"] for entry in log] == ["sealed"]


def test_a_foreign_root_opens_nothing(start, receipt):
    with pytest.raises(IntegrityError, match="GRADER_ERROR"):
        start(merkle_root="0" * 64).open_sealed(requests_for(receipt, {"q0": "x"}))


def test_every_error_is_one_code_and_the_detail_stays_in_the_vault(start, receipt):
    unknown = GradeRequest(digest="d", task_id="task-unknown", answer="x")
    with pytest.raises(IntegrityError) as caught:
        start().open_sealed([unknown])
    assert "task-unknown" not in str(caught.value)
    assert "task-unknown" in (Path(receipt.vault_path) / "errors.log").read_text()


@pytest.mark.parametrize("request_", [{"op": "peek"}, {"op": "open_sealed"}, [1], "x", 7])
def test_no_other_request_is_answered(start, receipt, request_):
    client = start()
    write_frame(client._sock, request_)
    reply = read_frame(client._sock)
    assert reply == {"error": "GRADER_ERROR"}


def test_a_reply_tells_grades_and_counts_and_has_one_size(start, receipt):
    client, sizes = start(), set()
    for answer in ("the-quick-brown-answer-0", "wrong"):
        (request,) = requests_for(receipt, {"q0": answer})
        frame = {"op": "open_sealed", "answers": [["d" * 64, request.task_id, json.dumps(answer)]]}
        write_frame(client._sock, frame)
        reply = read_frame(client._sock)
        assert isinstance(reply, dict)
        assert sorted(reply) == ["canary_hits", "grades", "merkle_root", "n_openings"]
        sizes.add(len(json.dumps(reply)))
    assert len(sizes) == 1


def test_an_answer_that_cannot_be_read_is_wrong_and_harms_no_other(start, receipt):
    client = start()
    requests = requests_for(receipt, {"q0": "x", "q1": "the-quick-brown-answer-1"})
    deep = "[" * 100_000 + "]" * 100_000
    texts = [deep, json.dumps(requests[1].answer)]
    answers = [[r.digest, r.task_id, text] for r, text in zip(requests, texts, strict=True)]
    write_frame(client._sock, {"op": "open_sealed", "answers": answers})
    reply = read_frame(client._sock)
    assert isinstance(reply, dict)
    assert [code for _, code in reply["grades"]] == ["w", "r"]


@pytest.mark.parametrize(
    "place", ["ledger.db", "trajectories/t.jsonl", "staged/h-1/prompt.md", "../../archive/e/note"]
)
def test_a_canary_anywhere_in_the_run_or_the_archive_is_counted(start, receipt, tmp_path, place):
    canary = hidden_of(receipt)[0]["canary"]
    path = tmp_path / "runs" / "r1" / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"the answer sheet says {canary[::-1]}")
    assert start().open_sealed(requests_for(receipt, {"q0": "x"})).canary_hits == 1


def test_a_grader_that_is_gone_is_told(receipt):
    ours, theirs = socket.socketpair()
    theirs.close()
    with pytest.raises(HarnessProError, match="grader"):
        GraderClient(ours).open_sealed(requests_for(receipt, {"q0": "x"}))
    ours.close()
