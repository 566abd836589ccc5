"""No gate lets through more than its nominal share, no interval covers less, power is as planned."""

import numpy as np
import pytest

from harnesspro.core.records import Calibration
from harnesspro.core.stats import lower_bound
from tests.sim import coverage as cov
from tests.sim import operating as op
from tests.sim.calibrating import trusted_in_runs
from tests.sim.not_worse import EASIER, HITS, TASKS, TILTS, most_better, most_passed
from tests.sim.operating import GOOD, accepted_though_consistent, rate
from tests.sim.worlds import ALPHA, Change, Eye, draw_referees, passes_referee

TOLERANCE, SAMPLING = 0.02, 0.01
AT_THE_MARGIN = [Change(0.05), Change(0.08, 0.03), Change(0.10, 0.05)]


@pytest.mark.parametrize("n", [60, 134, 500])
@pytest.mark.parametrize("change", AT_THE_MARGIN)
@pytest.mark.parametrize("tasks", [Eye(0.8), Eye(0.8, 0.1)])
@pytest.mark.parametrize("gate", [passes_referee, op.passes_agreement_gate])
def test_no_route_passes_a_loss_at_the_margin_in_more_than_alpha(n, change, tasks, gate):
    """The referee is right on .9 of probes and .8 of tasks, the most that the discount allows for."""
    assert rate(gate, change, probes=GOOD, tasks=tasks, n=n, n_runs=800) <= ALPHA + SAMPLING


@pytest.mark.parametrize("n", [60, 134, 500])
@pytest.mark.parametrize("changed", [0.1, 0.3])
@pytest.mark.parametrize("tilt", [0.0, 0.1])
def test_better_is_said_of_no_gain_in_at_most_alpha(n, changed, tilt):
    eye, change = Eye(0.88, tilt), Change(changed / 2, changed / 2)

    assert rate(op.better, change, probes=eye, tasks=eye, n=n, n_runs=800) <= ALPHA


@pytest.mark.parametrize("easier", EASIER)
@pytest.mark.parametrize("hit", HITS)
@pytest.mark.parametrize("tilt", TILTS)
@pytest.mark.parametrize("most", [most_passed, most_better])
def test_a_lean_that_probes_show_opens_no_gate_of_the_referee(most, tilt, hit, easier):
    found = [most(hit, tilt, easier, n=n, n_runs=800) for n in TASKS]

    assert max(found) <= ALPHA


@pytest.mark.parametrize("tilt", TILTS)
def test_the_upper_bound_of_the_tilt_covers(tilt):
    assert cov.tilt_covers(Eye(0.85, tilt), n_runs=2000) >= 0.93


@pytest.mark.parametrize("n", [60, 134, 500])
@pytest.mark.parametrize("tasks", [Eye(1.0), Eye(1.0, -0.1), Eye(0.9)])
def test_a_loss_of_just_the_margin_is_rejected_in_at_most_alpha(n, tasks):
    found = rate(op.rejects, Change(0.08, 0.03), probes=GOOD, tasks=tasks, n=n, n_runs=800)

    assert found <= ALPHA + 0.01


@pytest.mark.parametrize("n", [134, 240])
def test_over_three_picks_at_the_margin_hardly_any_is_accepted(n):
    """Fixed order under 200 tasks, Holm from there on."""
    assert op.any_accepted(n, n_runs=40) <= 4 / 40


@pytest.mark.parametrize("n", [100, 240])
def test_a_harness_no_worse_is_vetoed_in_at_most_a_tenth(n):
    assert op.falsely_vetoed(n, 0.2, n_runs=300) <= 0.10 + TOLERANCE


def test_a_harness_much_worse_on_probes_is_vetoed():
    assert op.vetoed(240, lost=0.10, won=0.02, n_runs=100) >= 0.9


@pytest.mark.parametrize(("name", "change", "promised"), op.POWER_ROWS)
def test_a_good_referee_passes_as_often_as_said(name, change, promised):
    """Hit rate .9 on probes and tasks; what is lost and gained was chosen to come nearest."""
    found = [
        rate(passes_referee, change, probes=GOOD, tasks=GOOD, n=n, n_runs=600) for n in op.SIZES
    ]

    assert found == pytest.approx(op.REACHED.get(name, promised), abs=0.06), name


@pytest.mark.parametrize("change", [Change(0.10), Change(0.13, 0.03)])
def test_a_leaning_referee_that_shows_it_on_probes_hardly_passes_ten_points(change):
    """Hit rate .75 and tilt .3 on tasks, easier probes by the discount."""
    found = [
        rate(passes_referee, change, probes=Eye(0.85, 0.3), tasks=Eye(0.75, 0.3), n=n, n_runs=800)
        for n in (134, 500)
    ]

    assert max(found) <= 0.01 + 0.01


def test_a_consistently_wrong_variant_fools_only_a_panel_of_the_initial_harness_itself():
    """Truly seven points worse. The second configuration is forbidden, and this is why."""
    n_runs = 300
    checks_alone = accepted_though_consistent(134, base_votes=False, n_runs=n_runs)
    with_the_base = accepted_though_consistent(134, base_votes=True, n_runs=n_runs)

    assert checks_alone <= 0.02 + 0.02
    assert lower_bound(round(with_the_base * n_runs), n_runs, alpha=0.05) > ALPHA
    assert with_the_base > 3 * checks_alone


@pytest.mark.parametrize("n", [30, 100])
def test_intervals_cover_what_they_say_less_two_points(n):
    sampling = 0.015

    assert cov.score_difference_covers(n, n_runs=150) >= 0.93 - sampling
    assert cov.ratio_covers(n, 1.0, n_runs=100) >= 0.93 - sampling


@pytest.mark.parametrize("n", [30, 100])
def test_power_at_the_minimum_detectable_gain_is_as_planned(n):
    assert cov.planned_power(n, n_runs=400) == pytest.approx(0.8, abs=0.06)


@pytest.mark.parametrize(
    ("eps", "fewest"),
    [(0.05, (59, 93, 124, 153, 208)), (0.03, (99, 157, 208, 257, 348))],
)
def test_the_fewest_tasks_for_so_many_changed_answers(eps, fewest):
    assert tuple(op.fewest_tasks(c, eps=eps) for c in (0, 1, 2, 3, 5)) == fewest


def test_at_ten_points_fewer_tasks_do():
    assert tuple(op.fewest_tasks(c, eps=0.10) for c in (0, 1, 2)) == (29, 46, 61)


# --- trust -------------------------------------------------------------------------------------


def test_of_hit_rate_070_at_most_one_in_a_hundred_is_trusted_and_of_090_nearly_all():
    assert cov.trusted_share(Eye(0.7), n_runs=4000) <= 0.01
    assert cov.trusted_share(Eye(0.9), n_runs=4000) >= 0.95


def test_measuring_in_batches_until_settled_gives_the_same_trust():
    assert trusted_in_runs(Eye(0.7), n_runs=200) <= 0.01
    assert trusted_in_runs(Eye(0.9), n_runs=100) >= 0.95


def test_every_drawn_referee_carries_its_calibration():
    (referee,) = draw_referees(np.random.default_rng(0), GOOD, n_runs=1)

    assert isinstance(referee.calibration, Calibration)
    assert referee.discordant_hit_rate is not None
    assert referee.trusted == (referee.discordant_hit_rate.low >= 0.75)
