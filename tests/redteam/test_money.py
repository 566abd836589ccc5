"""Attacks on the count: what a variant costs is what went through the one door, nothing else."""

import json
import os
import socket
import threading
import time

import pytest

from harnesspro.core.ports import ChatRequest, TrialJob
from harnesspro.core.records import AnswerSpec, Task, Trial
from harnesspro.core.referee import freeze
from harnesspro.stages.score import table_of
from tests.redteam.bench import Ground, Instant, candidate, job, trial_ground
from tests.unit.broker.builders import MODEL

ONE_CALL = 15_000
"""Nano-dollars of a call to the instant model."""
BIG = "scripted/big"
HONEST = "def solve(task, h):\n    return h.ask('writer', 'hi').text\n"


@pytest.fixture(scope="module")
def ground():
    with trial_ground(Instant(), models=[BIG]) as ground:
        yield ground


def ran(ground: Ground, solver: str, **changes) -> Trial:
    (trial,) = ground.run(job(candidate(solver), **changes))
    return trial


SWAP = f"def solve(task, h):\n    return h.ask({BIG!r}, 'hi').text\n"


def test_case_24_another_model_than_the_runs(ground: Ground):
    trial = ran(ground, SWAP)
    assert (trial.outcome, trial.n_calls) == ("crashed", 0)
    assert "expected a role of this harness: writer" in (trial.fault or "")


def test_case_24_a_door_that_takes_any_models_name_lets_it_through(ground: Ground):
    open_door = {"writer": MODEL, BIG: BIG}
    harness = candidate(SWAP)
    roles = {**harness.manifest.roles, BIG: harness.manifest.roles["writer"]}
    loose = harness.model_copy(
        update={"manifest": harness.manifest.model_copy(update={"roles": roles})}
    )
    (trial,) = ground.run(job(loose, models=open_door))
    (step,) = ground.ledger.steps(trial.trial_id)
    assert (trial.outcome, step.model) == ("answered", BIG)


BEST_OF = """
def solve(task, h):
    best = [h.ask("writer", f"try {n}", effort="high").text for n in range(5)]
    return max(best)
"""


def test_case_24_best_of_five_behind_one_answer_costs_five_calls(ground: Ground):
    trial = ran(ground, BEST_OF)
    by_answers = ONE_CALL  # a judge that counts one call an answer
    assert (trial.n_calls, trial.cost_nanos) == (5, 5 * by_answers)
    assert [step.request["effort"] for step in ground.ledger.steps(trial.trial_id)] == ["high"] * 5


MANY_AT_ONCE = """
def solve(task, h):
    body = {"model": "writer", "messages": [{"role": "user", "content": "hi"}], "n": 5}
    return h.send(body)["choices"][4]["message"]["content"]
"""


def test_case_24_five_samples_in_one_request_are_not_carried(ground: Ground):
    trial = ran(ground, MANY_AT_ONCE)
    assert (trial.outcome, trial.n_calls, trial.cost_nanos) == ("crashed", 0, 0)
    assert "n: only 1 is carried" in (trial.fault or "")


def test_case_25_a_primed_cache_makes_nothing_cheaper(ground: Ground):
    first = ran(ground, HONEST + "# primes\n", draw="search/7")
    second = ran(ground, HONEST + "# is primed\n", draw="search/7")
    by_bill = [first.paid_nanos, second.paid_nanos]  # a judge that goes by the bill
    assert by_bill == [ONE_CALL, 0]
    assert [first.cost_nanos, second.cost_nanos] == [ONE_CALL, ONE_CALL]


HIRED = """
import json, subprocess, sys
HELPER = '''
import json, sys
sys.path[:0] = ["/judge"]
from harnesspro.sdk import Harness, SocketTransport
task = json.load(open("/work/task.json"))
h = Harness(task["harness"], SocketTransport(task["broker"], task["token"]))
print(h.ask("writer", sys.argv[1]).text)
'''
def solve(task, h):
    for name in ("a", "b", "c"):
        subprocess.run([sys.executable, "-S", "-c", HELPER, name], check=True)
    return h.ask("writer", "hi").text
"""


def test_case_25_sub_agents_in_other_processes_are_counted(ground: Ground):
    trial = ran(ground, HIRED)
    seen_by_the_harness = 1  # a judge that counts in the harness's own process
    assert (trial.outcome, trial.n_calls) == ("answered", 3 + seen_by_the_harness)
    assert trial.cost_nanos == 4 * ONE_CALL


ELSEWHERE = """
import socket
def solve(task, h):
    with socket.create_connection(("127.0.0.1", task["input"]["port"]), timeout=5) as wire:
        wire.sendall(b"ask")
        return wire.recv(10).decode()
"""


@pytest.mark.parametrize(("level", "outcome"), [("S3", "crashed"), ("S0", "answered")])
def test_case_25_another_endpoint(level: str, outcome: str):
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        trial_ground(Instant(), level=level) as ground,
    ):

        def serve() -> None:
            try:
                with server.accept()[0] as wire:
                    wire.recv(10)
                    wire.sendall(b"free")
            except OSError:
                return

        thread = threading.Thread(target=serve)
        thread.start()
        port = server.getsockname()[1]
        (trial,) = ground.run(
            job(candidate(ELSEWHERE), Task(task_id="task-0001", input={"port": port}))
        )
        server.shutdown(socket.SHUT_RDWR)
        thread.join(5)
    assert (trial.outcome, trial.cost_nanos) == (outcome, 0)


FORGED = """
import json, os
def solve(task, h):
    h.ask("writer", "the call that never was")
    h.notes.clear()
    for path in ("/work/task.json", "/run/broker.sock"):
        try:
            os.unlink(path)
        except OSError:
            pass
    claim = {"outcome": "answered", "answer": "yes", "notes": [], "n_calls": 0, "steps": []}
    claim |= {"cost_nanos": 0, "usage": {"uncached_in_tokens": 0, "out_tokens": 0}}
    with open("/work/answer.json", "w") as file:
        json.dump(claim, file)
    os._exit(0)
"""


def test_case_26_a_trace_deleted_and_a_count_forged(ground: Ground):
    trial = ran(ground, FORGED)
    assert (trial.outcome, trial.answer) == ("answered", "yes")
    assert (trial.n_calls, trial.cost_nanos, trial.usage.out_tokens) == (1, ONE_CALL, 5_000)
    (step,) = ground.ledger.steps(trial.trial_id)
    assert step.request["messages"] == [{"role": "user", "content": "the call that never was"}]


def test_case_26_a_judge_that_believes_the_result_file_is_forged_to(ground: Ground):
    harness = candidate(FORGED)
    ground.backend.trees.put(harness, message="a test")
    one = job(harness, draw="search/9")
    token = ground.meter.open_trial(_grant(one))
    result = ground.sandbox.run(ground.backend._spec(one, token, 0))
    metered = ground.meter.close_trial(token)
    claimed = json.loads(result.result or b"")
    assert (claimed["n_calls"], claimed["cost_nanos"]) == (0, 0)
    assert (metered.n_calls, metered.cost_nanos) == (1, ONE_CALL)


def _grant(one: TrialJob):
    from harnesspro.backends.local import _grant as grant_of

    return grant_of(one)


# --- against the rival's runs --------------------------------------------------------------------

PATIENT = """
import time
def solve(task, h):
    time.sleep(1.5)
    return h.ask("writer", "hi").text
"""
SABOTAGE = """
import os, signal, time
VICTIM = "{victim}".encode()
def solve(task, h):
    end = time.monotonic() + 1.2
    while time.monotonic() < end:
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{{pid}}/cmdline", "rb") as file:
                    if VICTIM in file.read():
                        os.kill(int(pid), signal.SIGKILL)
            except OSError:
                pass
        try:
            with open("/tmp/full", "ab") as file:
                file.write(bytes(1 << 20))
        except OSError:
            pass
        time.sleep(0.05)
    return "done"
"""


@pytest.mark.parametrize(("level", "outcome"), [("S3", "answered"), ("S0", "crashed")])
def test_case_28_the_rivals_runs_are_killed(level: str, outcome: str):
    victim = candidate(PATIENT)
    attacker = candidate(SABOTAGE.format(victim=victim.harness_id).replace("/tmp/full", os.devnull))
    with trial_ground(Instant(), level=level, concurrency=2) as ground:
        own, theirs = ground.run(job(attacker), job(victim))
    assert (own.outcome, theirs.outcome) == ("answered", outcome)


def test_case_28_a_disk_filled_beside_the_rival(ground: Ground):
    with trial_ground(Instant(), concurrency=2) as both:
        filler = candidate(SABOTAGE.format(victim="nobody"))
        own, theirs = both.run(job(filler), job(candidate(PATIENT)))
    assert (own.outcome, theirs.outcome) == ("answered", "answered")


def test_case_28_a_run_the_ground_took_is_no_loss():
    trials = [
        Trial(trial_id=f"t-{name}", harness_id=name, task_id="t", draw="search/0", **fields)
        for name, fields in {
            "attacker": {"outcome": "answered", "answer": "a"},
            "incumbent": {"outcome": "void", "fault": "sandbox: no space left"},
        }.items()
    ]
    table = table_of(
        trials,
        {"t": Task(task_id="t", input="q")},
        spec=AnswerSpec(kind="text"),
        referee=freeze([]),
        owner_results={},
    )
    careless = {t.harness_id: float(t.outcome == "answered") for t in trials}
    assert careless == {"attacker": 1.0, "incumbent": 0.0}
    assert list(table) == ["attacker"]


PLAYS_FAULT = """
from harnesspro.sdk import ModelFault
def solve(task, h):
    reply = h.ask("writer", f"draw {h.ask('writer', 'again').text}").text
    if reply != "win":
        raise ModelFault("broker: the model could not be reached")
    return reply
"""


def wins_at(n: int) -> Instant:
    """A model whose n-th reply alone wins."""
    said = iter(range(1_000))
    return Instant(lambda request: "win" if next(said) == n else "lose")


def test_case_29_an_outage_made_up_to_be_run_again():
    with trial_ground(wins_at(5)) as ground:
        trial = ran(ground, PLAYS_FAULT)
        assert (trial.outcome, trial.attempt, trial.n_calls) == ("crashed", 0, 2)


def test_case_29_a_judge_that_runs_again_whatever_calls_itself_an_outage_is_fooled():
    with trial_ground(wins_at(5)) as ground:
        trials = [ran(ground, PLAYS_FAULT, draw=f"search/{n}") for n in range(3)]
    kept = next(t for t in trials if not (t.fault or "").startswith("broker:"))
    assert (kept.outcome, kept.answer) == ("answered", "win")


def test_the_instant_model_is_asked_what_the_harness_sent():
    def say(request: ChatRequest) -> str:
        return str(request.messages[0]["content"])

    started = time.monotonic()
    with trial_ground(Instant(say)) as ground:
        assert ran(ground, HONEST).answer == "hi"
    assert time.monotonic() - started < 30
