from dataclasses import replace

import pytest

from harnesspro.core.controls import AT_RANDOM, BEST_OF_TWO
from harnesspro.core.records import Trial
from harnesspro.loop.controls import CONTROL_DRAW, SECOND, controls, measure_controls
from harnesspro.loop.random_search import (
    candidates_usd,
    n_tried,
    search_at_random,
    spent_at_random,
)
from harnesspro.proposers.random_settings import random_settings
from tests.unit.loop.test_calibrating import BASE, a_bench


def a_trial(task, draw, answer):
    return Trial(
        trial_id=f"{draw}/{task.task_id}",
        harness_id=BASE.harness_id,
        task_id=task.task_id,
        draw=draw,
        outcome="answered",
        answer=answer,
        cost_nanos=3000,
        latency_s=1.0,
    )


def a_measured_bench(folder, *, again="b"):
    """The initial harness answered every confirm task `a`, and `again` when asked again."""
    bench = a_bench(folder)
    for task in bench.confirm:
        for draw, answer in (("confirm/0", "a"), (CONTROL_DRAW, again)):
            trial = a_trial(task, draw, answer)
            bench.ports.ledger.put("trial", trial.trial_id, trial.model_dump(mode="json"))
    return bench


def test_without_a_second_draw_there_is_no_control(tmp_path):
    bench = a_bench(tmp_path)

    assert controls(bench, (), None) == ()


def test_it_costs_both_draws_and_is_graded_by_the_answers_taken(tmp_path):
    bench = a_measured_bench(tmp_path)
    grades = {}
    for index, task in enumerate(bench.confirm):
        grades[BASE.harness_id, task.task_id] = index < 4
        grades[SECOND, task.task_id] = True

    (control,) = controls(bench, (), grades)

    assert control.name == BEST_OF_TWO
    assert control.cost_usd_per_task.mean == pytest.approx(6e-6)
    # The referee has no check, so of equals the first draw's answers are kept.
    assert control.answers_changed is not None
    assert control.answers_changed.mean == 0.0
    assert control.accuracy is not None
    assert control.accuracy.mean == pytest.approx(0.4)
    assert "(2.00 times), right on 4 of 10" in control.words
    assert (control.lead.mean, control.lead.low) == (0.0, 0.0)  # nobody was picked


def test_ungraded_it_claims_no_accuracy(tmp_path):
    (control,) = controls(a_measured_bench(tmp_path), (), None)

    assert control.accuracy is None
    assert "right on" not in control.words


class Cheap:
    """Answers every task alike for a fixed price, and records its trials."""

    def __init__(self, ledger):
        self.ledger = ledger

    def run(self, jobs):
        for job in jobs:
            trial = a_trial(job.task, job.draw, "a").model_copy(
                update={
                    "trial_id": job.trial_id,
                    "harness_id": job.harness.harness_id,
                    "cost_nanos": 500,
                }
            )
            self.ledger.put("trial", trial.trial_id, trial.model_dump(mode="json"))
            yield trial


def test_a_search_by_chance_costs_what_the_candidates_did_and_its_best_is_confirmed(tmp_path):
    bench = a_measured_bench(tmp_path)
    backend = Cheap(bench.ports.ledger)
    bench = replace(bench, ports=replace(bench.ports, backend=backend))

    search_at_random(bench)
    spent, budget = spent_at_random(bench), candidates_usd(bench)
    _, control = controls(bench, (), None)

    assert budget == pytest.approx(12 * 1000e-9)  # the lean candidate on 12 search tasks
    assert budget <= spent < budget + 12 * 500e-9
    assert n_tried(bench) == 2
    assert control.name == AT_RANDOM
    assert control.cost_usd_per_task.mean == pytest.approx(500e-9)
    assert control.words.startswith("of 2 settings of the dials drawn by chance")

    search_at_random(bench)
    assert n_tried(bench) == 2  # going on tries nothing new


def test_settings_by_chance_are_distinct_and_never_the_one_it_came_with():
    drawn = [patch.knobs for patch in random_settings(BASE, seed=1)]

    assert sorted(knobs["samples"] for knobs in drawn) == [1, 2, 4, 5]
    assert [p.knobs for p in random_settings(BASE, seed=1)] == drawn


def test_nothing_is_measured_where_it_was_not_asked_for(tmp_path):
    bench = a_bench(tmp_path)

    measure_controls(bench, ())

    assert bench.ports.ledger.all("vote") == []
    assert controls(bench, (), None) == ()
