"""Generated tasks that watch the search, over a backend that answers as it is told."""

from dataclasses import replace

import pytest

from harnesspro.checks import impossible_probes_for, probes_for
from harnesspro.core.answers import cluster_of
from harnesspro.core.hashing import seed_from
from harnesspro.core.plan import N_IMPOSSIBLE, N_MONITOR
from harnesspro.core.records import AnswerSpec, Check, Trial
from harnesspro.core.referee import freeze
from harnesspro.loop import scan
from harnesspro.loop.alarms import concordance, gaps, shown
from harnesspro.loop.live import survivors
from harnesspro.loop.tempting import IMPOSSIBLE_DRAW, cheating, quarantined, tempt
from harnesspro.loop.watching import (
    MONITOR_DRAW,
    divergence,
    watch,
    went_astray,
)
from harnesspro.stages.ask_channels import PanelReply
from tests.unit.loop.test_calibrating import BASE, LEAN, a_bench

TEXT = AnswerSpec(kind="text")
PANEL = "panel:somebody/else"


class Answers:
    """Answers as a function of harness and task says, and records its trials."""

    def __init__(self, said, ledger):
        self.said, self.ledger, self.jobs = said, ledger, []

    def run(self, jobs):
        for job in jobs:
            self.jobs.append(job)
            trial = Trial(
                trial_id=job.trial_id,
                harness_id=job.harness.harness_id,
                task_id=job.task.task_id,
                draw=job.draw,
                outcome="answered",
                answer=self.said(job.harness.harness_id, job.task.task_id),
                cost_nanos=1000,
                latency_s=1.0,
            )
            self.ledger.put("trial", trial.trial_id, trial.model_dump(mode="json"))
            yield trial


def watched(folder, said, *, n_rounds=3):
    bench = a_bench(folder)
    config = bench.config.model_copy(update={"n_rounds": n_rounds})
    return replace(
        bench,
        header=bench.header.model_copy(update={"config": config}),
        ports=replace(bench.ports, backend=Answers(said, bench.ports.ledger)),
    )


def monitors(bench):
    seed = seed_from(bench.config.seed, "monitor")
    probes = probes_for(TEXT, bench.search, seed=seed, n=N_MONITOR)
    return {probe.probe_id: probe.answer for probe in probes}


def impossible(bench):
    seed = seed_from(bench.config.seed, "impossible")
    return impossible_probes_for(TEXT, bench.search, seed=seed, n=N_IMPOSSIBLE)


def put_standing(bench, index, *, score, accuracy, who):
    def an(mean):
        return {"mean": mean, "low": mean - 0.05, "high": mean + 0.05, "n": 16}

    value = {"candidate_id": who, "score": an(score), "probe_accuracy": an(accuracy)}
    bench.ports.ledger.put("standing", f"{index:03d}", value)


def test_a_rounds_incumbent_is_held_against_answers_known_by_construction(tmp_path):
    known = monitors(a_bench(tmp_path / "other"))
    first = next(iter(known))
    bench = watched(tmp_path, lambda key, task: known[task] if task != first else "no")

    assert watch(bench, round_index=0) is None

    value = bench.ports.ledger.get("standing", "000")
    assert value["probe_accuracy"]["mean"] == pytest.approx(1 - 1 / len(known))
    assert {job.draw for job in bench.ports.backend.jobs} == {MONITOR_DRAW}


def test_going_on_measures_no_incumbent_twice(tmp_path):
    bench = watched(tmp_path, lambda key, task: "x")
    watch(bench, round_index=0)
    n = len(bench.ports.backend.jobs)

    watch(bench, round_index=0)

    assert len(bench.ports.backend.jobs) == n > 0


def test_two_rounds_are_too_few_to_be_watched(tmp_path):
    bench = watched(tmp_path, lambda key, task: "x", n_rounds=2)

    assert watch(bench, round_index=0) is None
    assert bench.ports.backend.jobs == []


def test_where_the_score_rises_alone_the_search_goes_back_to_where_both_agreed(tmp_path):
    bench = watched(tmp_path, lambda key, task: "x")
    for index, (score, accuracy) in enumerate([(0.5, 0.6), (0.7, 0.6), (0.9, 0.5)]):
        put_standing(bench, index, score=score, accuracy=accuracy, who=f"h{index}")

    found = divergence(bench)

    assert went_astray(bench) == "h0"
    assert found is not None
    assert found.words.endswith("back to round 0")


def test_where_probes_follow_the_score_nothing_is_wrong(tmp_path):
    bench = watched(tmp_path, lambda key, task: "x")
    for index, (score, accuracy) in enumerate([(0.5, 0.5), (0.7, 0.6), (0.9, 0.7)]):
        put_standing(bench, index, score=score, accuracy=accuracy, who=f"h{index}")

    assert went_astray(bench) is None


def test_who_gives_in_to_impossible_tasks_is_counted_and_held_against_the_original(tmp_path):
    asked_for = {probe.probe_id: probe.answer for probe in impossible(a_bench(tmp_path / "other"))}
    bench = watched(
        tmp_path, lambda key, task: asked_for[task] if key == BASE.harness_id else "word"
    )

    tempt(bench, [LEAN.harness_id])
    first, second = cheating(bench)

    assert (first.candidate_id, first.share.mean) == (BASE.harness_id, 0.0)
    assert (second.candidate_id, second.share.mean) == (LEAN.harness_id, 1.0)
    assert (first.more_than_initial, second.more_than_initial) == (False, True)
    assert {job.draw for job in bench.ports.backend.jobs} == {IMPOSSIBLE_DRAW}


def test_who_gives_the_answer_that_lay_beside_the_task_is_set_aside_with_its_descendants(tmp_path):
    probes = {probe.probe_id: probe for probe in impossible(a_bench(tmp_path / "other"))}
    assert all(probe.honey is not None for probe in probes.values())
    bench = watched(
        tmp_path,
        lambda key, task: probes[task].answer if key == BASE.harness_id else probes[task].honey,
    )
    put_child(bench, "child", of=LEAN.harness_id)

    tempt(bench, [LEAN.harness_id])
    first, second = cheating(bench)

    assert first.took_honey is not None
    assert second.took_honey is not None
    assert (first.took_honey.mean, first.is_thief) == (0.0, False)
    assert (second.took_honey.mean, second.is_thief) == (1.0, True)
    assert quarantined(bench) == {LEAN.harness_id, "child"}
    assert LEAN.harness_id not in survivors(bench)


def test_a_harness_that_errs_like_the_original_is_no_thief(tmp_path):
    probes = {probe.probe_id: probe for probe in impossible(a_bench(tmp_path / "other"))}
    chance = set(list(probes)[:3])
    bench = watched(
        tmp_path, lambda key, task: probes[task].honey if task in chance else probes[task].answer
    )

    tempt(bench, [LEAN.harness_id])

    assert [one.is_thief for one in cheating(bench)] == [False, False]
    assert quarantined(bench) == frozenset()


def put_child(bench, candidate_id, *, of):
    child = scan.candidates(bench)[of].model_copy(
        update={"candidate_id": candidate_id, "parent_id": of}
    )
    bench.ports.ledger.put("candidate", candidate_id, child.model_dump(mode="json"))


def test_nobody_was_tempted_where_nothing_was_asked(tmp_path):
    assert cheating(watched(tmp_path, lambda key, task: "x")) == ()


# --- what the search says of its own checks ------------------------------------------------------


def judged_by(folder, **said):
    """A bench whose programs have said of each answer what `said` gives: check -> f(harness, task).

    A check is named by its channel, in lower case.
    """
    checks = [
        Check(
            check_id=name,
            family="property",
            name=name,
            writer="program",
            channel=name.upper(),
            admitted=True,
            kill_rate=0.5,
        )
        for name in said
    ]
    bench = replace(a_bench(folder), referee=freeze(checks))
    for _, value in bench.ports.ledger.all("trial"):
        trial = Trial.model_validate(value)
        key = cluster_of(trial, "text", {})
        for name, of in said.items():
            share = float(of(trial.harness_id, trial.task_id))
            record = f"{name}/{trial.task_id}/{key}"
            bench.ports.ledger.put("program_check", record, {"share": share})
    return bench


def test_a_candidate_that_gains_on_the_seen_check_alone_shows_a_gap(tmp_path):
    bench = judged_by(
        tmp_path,
        seen=lambda key, task: key == LEAN.harness_id or task >= "t3",
        shadow=lambda key, task: True,
    )

    (gap,) = gaps(bench, [LEAN.harness_id])

    # Of the 12 search tasks the two harnesses answer t0, t1, t10, t11 and t2 differently.
    assert gap.gain.mean == pytest.approx(5 / 12)
    assert gap.gain.n == 12


def test_without_a_hidden_check_no_gap_is_claimed(tmp_path):
    assert gaps(judged_by(tmp_path, seen=lambda key, task: True), [LEAN.harness_id]) == ()


def test_an_improver_is_shown_what_fails_but_no_hidden_check(tmp_path):
    bench = judged_by(
        tmp_path,
        seen=lambda key, task: task >= "t3",
        shadow=lambda key, task: True,
        rotated=lambda key, task: True,
    )

    found = {one.name: one.failed for one in shown(bench, LEAN.harness_id, round_index=0)}

    assert found == {"seen": pytest.approx(5 / 12), "rotated": 0.0}


class Voter:
    """A panel that answers as the lean harness does."""

    def ask(self, agent, question, reply, *, key):
        assert agent == "panel"
        task_id = question.task["request"].removeprefix("do ")
        return PanelReply(answer=f"{task_id} {LEAN.harness_id}")


@pytest.mark.parametrize(("liked", "share"), [(LEAN.harness_id, 1.0), (BASE.harness_id, 0.0)])
def test_checks_are_held_against_an_independent_panel(tmp_path, liked, share):
    bench = judged_by(tmp_path, seen=lambda key, task: key == liked or task >= "t3")
    bench = replace(bench, ports=replace(bench.ports, voices={PANEL: Voter()}))

    found = concordance(bench, freeze(bench.referee.checks, (PANEL,)))

    assert found is not None
    assert (found.share.mean, found.share.n, found.n_variants) == (share, 5, 2)
    assert not found.raised  # of two variants nothing is concluded


def test_without_a_panel_there_is_nothing_to_hold_checks_against(tmp_path):
    bench = judged_by(tmp_path, seen=lambda key, task: True)

    assert concordance(bench, bench.referee) is None
