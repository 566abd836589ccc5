from threading import Event

import pytest

from harnesspro.config import RunConfig, RunHeader
from harnesspro.core.documents import CertificateSummary
from harnesspro.core.errors import IntegrityError
from harnesspro.core.records import Patch, Referee
from harnesspro.formats.native import apply_patch, harness_from_files
from harnesspro.loop.bench import Bench, Ports
from harnesspro.loop.opening import open_bench
from harnesspro.loop.round import ParentState, RoundState, _RoundLine
from harnesspro.stages.evaluate import Cut
from harnesspro.store.archive import FileArchive
from harnesspro.testing.doubles import (
    FixedClock,
    FolderTrees,
    MemoryLedger,
    NullSink,
    ScriptedMeter,
    ScriptedSandbox,
)
from tests.unit.backends.trials import backend
from tests.unit.builders import a_harness
from tests.unit.stages.trials import a_task

BASE = a_harness(samples=3)
ONCE = Patch(
    parent_id=BASE.harness_id,
    knobs={"samples": 1},
    direction="cost",
    proposer="operator:x",
    summary="ask once",
)
NOTHING_LEFT = CertificateSummary(leaked_bits=0.0, vault_openings=0, canary_hits=0)
STATE = ParentState(index=0, parent_id=BASE.harness_id)
KEY = f"000/{BASE.harness_id}"


class Stubborn:
    """A proposer that does something while it thinks."""

    name = "stubborn"

    def __init__(self, meanwhile=lambda: None):
        self.meanwhile, self.n_asked = meanwhile, 0

    def propose(self, question):
        self.n_asked += 1
        self.meanwhile()
        return (ONCE,)


def a_bench(folder, proposer, **told) -> Bench:
    """A bench over doubles; `told` says what the run is told from outside."""
    config = RunConfig(
        verb="improve",
        harness_ref="mine",
        tasks_ref="t",
        models={"writer": "m"},
        n_search=4,
        time_limit_s=60.0,
    )
    header = RunHeader(
        run_id="r",
        config=config,
        harness_name="small",
        base_harness_id=BASE.harness_id,
        created_at="2026-11-30",
        prices=(),
        isolation="S3",
        split_key="k",
    )
    ports = Ports(
        backend=backend(folder, sandbox=[]),
        sandbox=ScriptedSandbox([]),
        ledger=MemoryLedger(),
        meter=ScriptedMeter([]),
        trees=FolderTrees(folder),
        archive=FileArchive(folder / "archive", folder / "shipped"),
        grader=None,
        events=NullSink(),
        clock=told.get("clock", FixedClock()),
        voices={},
        proposers=(proposer,),
        read_harness=lambda files: harness_from_files(files, where="candidate"),
        apply_patch=apply_patch,
        keep_trajectory=lambda trajectory: None,
        write_report=lambda document: None,
        certify=lambda opening, n: NOTHING_LEFT,
        interrupted=told.get("interrupted", lambda: False),
        purse_empty=told.get("purse_empty", lambda: False),
        round_empty=Event(),
    )
    tasks = [a_task(f"t{i}") for i in range(6)]
    return open_bench(header, ports, base=BASE, tasks=tasks, run_dir=folder, firewall="F1")


def test_what_was_proposed_is_on_record_and_asked_once(tmp_path):
    proposer = Stubborn()
    bench = a_bench(tmp_path, proposer)
    for _ in range(2):
        assert _RoundLine(bench).propose(STATE) == {"proposed_for": [BASE.harness_id]}

    assert bench.ports.ledger.get("proposal", KEY) == [ONCE.model_dump(mode="json")]
    assert proposer.n_asked == 1


@pytest.mark.parametrize(
    ("word", "reason"), [("interrupted", "interrupted"), ("purse_empty", "budget")]
)
def test_a_round_stopped_in_mid_thought_records_nothing_so_that_it_is_asked_again(
    tmp_path, word, reason
):
    stopped: list[int] = []
    bench = a_bench(tmp_path, Stubborn(lambda: stopped.append(1)), **{word: lambda: bool(stopped)})
    with pytest.raises(Cut) as caught:
        _RoundLine(bench).propose(STATE)

    assert caught.value.reason == reason
    assert bench.ports.ledger.all("proposal") == []


def test_a_round_that_thinks_past_the_time_limit_is_cut(tmp_path):
    clock = FixedClock()

    def think():
        clock.at += 61.0

    with pytest.raises(Cut, match="time limit of 60 s"):
        _RoundLine(a_bench(tmp_path, Stubborn(think), clock=clock)).propose(STATE)


def test_parents_take_turns_until_the_room_is_used(tmp_path):
    bench = a_bench(tmp_path, Stubborn())
    line = _RoundLine(bench)
    line.propose(STATE)
    made = apply_patch(BASE, ONCE).harness_id

    for _ in range(2):  # a node that runs again makes the same again
        state = RoundState(index=0, parent_ids=[BASE.harness_id], n_new=3)
        assert line.admit(state) == {"candidate_ids": [made]}
    assert bench.ports.trees.files(made)["budgets.yaml"] == "samples: 1\n"


def test_what_opens_a_run_is_read_back_when_it_is_opened_again(tmp_path):
    first = a_bench(tmp_path, Stubborn())
    again = open_bench(
        first.header,
        first.ports,
        base=BASE,
        tasks=[a_task(f"t{i}") for i in reversed(range(9))],
        run_dir=tmp_path,
        firewall="F1",
    )
    assert (again.search, again.confirm) == (first.search, first.confirm)
    assert isinstance(again.referee, Referee)
    assert again.referee == first.referee


def test_a_run_whose_tasks_are_gone_is_refused(tmp_path):
    first = a_bench(tmp_path, Stubborn())
    with pytest.raises(IntegrityError, match="tasks the run began with are gone"):
        open_bench(
            first.header,
            first.ports,
            base=BASE,
            tasks=[a_task(f"t{i}") for i in range(4)],
            run_dir=tmp_path,
            firewall="F1",
        )
