"""The referee held against probes, over a backend and a judge whose quality is known."""

from collections import Counter
from dataclasses import replace
from threading import Event
from typing import Any

import numpy as np
import pytest

from harnesspro.checks import probes_for
from harnesspro.config import RunConfig, RunHeader
from harnesspro.core.documents import CertificateSummary
from harnesspro.core.hashing import seed_from
from harnesspro.core.ports import Dropped
from harnesspro.core.records import Candidate, Patch, Trial
from harnesspro.core.referee import freeze
from harnesspro.formats.native import apply_patch, harness_from_files
from harnesspro.loop.bench import Bench, Ports
from harnesspro.loop.calibrating import calibrated
from harnesspro.stages.ask_channels import JudgeReply
from harnesspro.store.archive import FileArchive
from harnesspro.testing.doubles import (
    FixedClock,
    FolderTrees,
    MemoryLedger,
    NullSink,
    ScriptedMeter,
    ScriptedSandbox,
)
from tests.unit.builders import a_harness
from tests.unit.stages.trials import a_task

BASE = a_harness(kind="text", samples=3)
ONCE = Patch(
    parent_id=BASE.harness_id,
    knobs={"samples": 1},
    direction="cost",
    proposer="operator:x",
    summary="ask once",
)
LEAN = apply_patch(BASE, ONCE)
JUDGE = "judge:somebody/else"
N_PROBES = 600


def uniform(*labels):
    return np.random.default_rng(seed_from(*labels)).random()


def wrong(right, key):
    """As long as the right answer, so that its length tells nothing; each harness errs its own way."""
    return right[:-1] + ("#" if key == BASE.harness_id else "%")


class KnownBackend:
    """Answers rightly with a share by harness, each probe by chance; counts what it was asked."""

    def __init__(self, right_answers, share_right):
        self.right_answers, self.share_right = right_answers, share_right
        self.n_run = 0

    def run(self, jobs):
        for job in jobs:
            self.n_run += 1
            key = job.harness.harness_id
            good = uniform(key, job.task.task_id) < self.share_right[key]
            right = self.right_answers.get(job.task.task_id, "42")
            yield Trial(
                trial_id=job.trial_id,
                harness_id=key,
                task_id=job.task.task_id,
                draw=job.draw,
                outcome="answered",
                answer=right if good else wrong(right, key),
                cost_nanos=1000 if key == LEAN.harness_id else 3000,
                latency_s=1.0,
            )


class KnownJudge:
    """Prefers the right answer with a known chance."""

    def __init__(self, right_by_input, share_right):
        self.right_by_input, self.share_right = right_by_input, share_right
        self.asked: Counter[str] = Counter()

    def ask(self, agent, question, reply, *, key):
        assert agent == "judge"
        self.asked[key] += 1
        right = self.right_by_input[str(question.task)]
        sees = uniform("judge", str(question.task)) < self.share_right
        return JudgeReply(scores=tuple(float((a == right) == sees) for a in question.answers))


class DeafJudge:
    """Never gives a usable reply."""

    def ask(self, agent, question, reply, *, key):
        return Dropped(agent=agent, reason="no JSON")


def a_bench(
    folder, *, judge_right=0.95, n_probes=N_PROBES, channels=(JUDGE,), voice=None, cap=None
) -> Bench:
    """After the rounds: the initial harness and one lean candidate measured on search tasks."""
    config = RunConfig(
        verb="improve",
        harness_ref="mine",
        tasks_ref="t",
        models={"writer": "m"},
        n_search=12,
        channels=channels,
        n_probes=n_probes,
        budget_usd=cap,
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
    search = tuple(a_task(f"t{i}") for i in range(12))
    spec = BASE.manifest.answer
    pool = probes_for(spec, search, seed=seed_from(config.seed, "probes"), n=3 * N_PROBES)
    answers = {probe.probe_id: probe.answer for probe in pool}
    shares = {BASE.harness_id: 0.6, LEAN.harness_id: 0.6}
    judge = voice or KnownJudge({str(p.task.input): p.answer for p in pool}, judge_right)
    trees = FolderTrees(folder)
    ports = Ports(
        backend=KnownBackend(answers, shares),
        sandbox=ScriptedSandbox([]),
        ledger=MemoryLedger(),
        meter=ScriptedMeter([]),
        trees=trees,
        archive=FileArchive(folder / "archive", folder / "shipped"),
        grader=None,
        events=NullSink(),
        clock=FixedClock(),
        proposers=(),
        voices={JUDGE: judge},
        read_harness=lambda files: harness_from_files(files, where="candidate"),
        apply_patch=apply_patch,
        keep_trajectory=lambda trajectory: None,
        write_report=lambda document: None,
        certify=lambda opening, n: CertificateSummary(
            leaked_bits=0.0, vault_openings=0, canary_hits=0
        ),
        interrupted=lambda: False,
        purse_empty=lambda: False,
        round_empty=Event(),
    )
    bench = Bench(
        header=header,
        ports=ports,
        base=BASE,
        search=search,
        confirm=tuple(a_task(f"c{i}") for i in range(10)),
        sealed=(),
        referee=freeze(()),
        started_at=0.0,
        spent_s=0.0,
        run_dir=folder,
        firewall="F1",
    )
    return _measured(bench)


def _measured(bench: Bench) -> Bench:
    """Put both harnesses' search trials and the race on record."""
    ledger = bench.ports.ledger
    for harness, patch in ((BASE, None), (LEAN, ONCE)):
        bench.ports.trees.put(harness, message="")
        candidate = Candidate(
            candidate_id=harness.harness_id,
            parent_id=None if patch is None else BASE.harness_id,
            generation=int(patch is not None),
            round_index=0,
            patch=patch,
            summary="one",
            proposer="user",
        )
        ledger.put("candidate", harness.harness_id, candidate.model_dump(mode="json"))
        for task in bench.search:
            trial = Trial(
                trial_id=f"{harness.harness_id}/{task.task_id}",
                harness_id=harness.harness_id,
                task_id=task.task_id,
                draw="search/0",
                outcome="answered",
                answer=f"{task.task_id} {harness.harness_id if task.task_id < 't3' else ''}",
                cost_nanos=1000 if patch else 3000,
                latency_s=1.0,
            )
            ledger.put("trial", trial.trial_id, trial.model_dump(mode="json"))
    ledger.put("race", "000", {"promoted": [LEAN.harness_id], "open": [], "dropped": {}})
    return bench


def n_run(bench: Any) -> int:
    """Trials run so far."""
    n: int = bench.ports.backend.n_run
    return n


def asked_of(bench: Any) -> dict[str, int]:
    """How often the judge was asked each question."""
    return dict(bench.ports.voices[JUDGE].asked)


def test_a_good_judge_is_heard_and_the_referee_trusted(tmp_path):
    bench = calibrated(a_bench(tmp_path))

    referee = bench.referee
    assert [channel.admitted for channel in referee.channels] == [True]
    assert referee.discordant_hit_rate is not None
    assert referee.discordant_hit_rate.n >= 100
    assert referee.discordant_hit_rate.mean == pytest.approx(0.95, abs=0.06)
    assert referee.trusted


def test_a_judge_that_guesses_is_not_heard_and_no_further_probe_is_paid_for(tmp_path):
    bench = a_bench(tmp_path, judge_right=0.5)
    referee = calibrated(bench).referee

    assert [channel.admitted for channel in referee.channels] == [False]
    assert not referee.trusted
    assert referee.calibration is not None
    assert referee.calibration.reason == "no channel tells right answers from wrong ones on probes"
    assert n_run(bench) < 2 * 200


def test_a_judge_that_never_replies_is_silent(tmp_path):
    referee = calibrated(a_bench(tmp_path, voice=DeafJudge())).referee

    assert [(channel.admitted, channel.silent) for channel in referee.channels] == [(False, 1.0)]
    assert not referee.trusted


def test_going_on_asks_and_measures_nothing_twice(tmp_path):
    bench = a_bench(tmp_path)
    first = calibrated(bench)
    before = n_run(bench), asked_of(bench)
    again = calibrated(bench)

    assert again.referee == first.referee
    assert (n_run(bench), asked_of(bench)) == before
    assert set(asked_of(bench).values()) == {1}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"n_probes": 0}, "--probes 0 forbids it"),
        ({"channels": ()}, "no check was admitted and no independent model was named"),
        ({"cap": 1e-4}, "the cap of $0.0001 leaves room for the final measurement only"),
        ({"n_probes": None}, "with 10 confirm tasks even a good referee would seldom let a change"),
    ],
)
def test_where_it_cannot_matter_nothing_is_measured_and_the_reason_is_kept(
    tmp_path, changes, reason
):
    bench = a_bench(tmp_path, **changes)
    referee = calibrated(bench).referee

    assert referee.calibration is not None
    assert referee.calibration.reason.startswith(reason)
    assert (referee.trusted, n_run(bench)) == (False, 0)


def test_without_a_candidate_there_is_nobody_to_judge(tmp_path):
    bench = a_bench(tmp_path)
    bench.ports.ledger.put(
        "race", "001", {"promoted": [], "open": [], "dropped": {LEAN.harness_id: "x"}}
    )

    referee = calibrated(replace(bench)).referee

    assert referee.calibration is not None
    assert referee.calibration.reason == "no candidate was left to judge"
