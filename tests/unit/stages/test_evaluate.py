import pytest

from harnesspro.core.errors import HarnessProError
from harnesspro.core.ports import TrialJob
from harnesspro.stages.evaluate import Cut, evaluate, jobs_for
from tests.unit.builders import a_harness
from tests.unit.stages.trials import HARNESS, a_task, a_trial

TASKS = [a_task("t1"), a_task("t2")]
MODELS = {"writer": "sim/small"}


class Backend:
    """Yields what it was given, and says whether it was left in good order."""

    def __init__(self, *trials):
        self.trials, self.n_yielded, self.closed = trials, 0, False

    def run(self, jobs):
        try:
            for trial in self.trials:
                self.n_yielded += 1
                yield trial
        finally:
            self.closed = True


class Sink:
    def __init__(self):
        self.events = []

    def emit(self, event, **fields):
        self.events.append({"event": event, **fields})


def jobs(n):
    tasks = [a_task(f"t{i}") for i in range(n)]
    return jobs_for([HARNESS], tasks, draws=("search/0",), models=MODELS)


def run(backend, n, *, sink=None, cut_now=lambda: None):
    return evaluate(jobs(n), backend=backend, events=sink or Sink(), cut_now=cut_now)


def void(task):
    return a_trial(task, outcome="void", fault="provider: 503")


def test_a_task_is_run_by_all_harnesses_side_by_side():
    lean = a_harness(samples=1)
    assert jobs_for((HARNESS, lean), TASKS, draws=("search/0", "search/1"), models=MODELS) == tuple(
        TrialJob(harness=harness, task=task, draw=draw, purse="target", models=MODELS)
        for task in TASKS
        for draw in ("search/0", "search/1")
        for harness in (HARNESS, lean)
    )


def test_the_trials_come_back_without_the_void_ones():
    one, two = a_trial("t1"), a_trial("t2", outcome="crashed")
    assert run(Backend(one, void("t3"), two), 3) == (one, two)


def test_every_trial_is_told_to_whoever_watches():
    sink = Sink()
    replayed = a_trial(n_calls=2, n_replayed=2, harness_id="v")
    paid = a_trial("t2", n_calls=2, n_replayed=1, paid_nanos=500)
    run(Backend(replayed, paid, void("t3")), 3, sink=sink)

    told = {"event": "trial.done", "cost_usd": 1e-6, "latency_s": 2.0, "outcome": "answered"}
    assert sink.events == [
        {"event": "trials.planned", "n": 3},
        told | {"paid_usd": 0.0, "harness_id": "v", "replayed": True},
        told | {"paid_usd": 5e-7, "harness_id": "h", "replayed": False},
        told | {"paid_usd": 0.0, "harness_id": "h", "replayed": False, "outcome": "void"},
    ]


def test_nothing_to_do_is_done():
    assert run(Backend(), 0, cut_now=lambda: Cut("time", "late")) == ()


def test_a_cut_ends_it_at_once_and_leaves_the_backend_in_good_order():
    backend = Backend(*(a_trial(f"t{i}") for i in range(5)))
    cut = Cut("time", "the time limit is reached")
    with pytest.raises(Cut, match="time limit") as caught:
        run(backend, 5, cut_now=lambda: cut if backend.n_yielded == 2 else None)

    assert (caught.value.reason, caught.value.detail) == ("time", "the time limit is reached")
    assert (backend.n_yielded, backend.closed) == (2, True)


def test_a_backend_that_ends_before_its_jobs_names_the_runs_own_reason():
    with pytest.raises(Cut, match="ended before all trials were run") as caught:
        run(Backend(a_trial()), 2)
    assert caught.value.reason == "interrupted"

    reasons = iter([None, Cut("budget", "the cap covers no further call")])
    with pytest.raises(Cut, match="covers no further call") as caught:
        run(Backend(a_trial()), 2, cut_now=lambda: next(reasons))
    assert caught.value.reason == "budget"


def test_a_void_trial_is_no_missing_trial():
    assert run(Backend(a_trial(), void("t2")), 2) == (a_trial(),)


@pytest.mark.parametrize(("n_jobs", "n_void_allowed"), [(2, 2), (8, 2), (12, 3), (40, 10)])
def test_more_than_a_quarter_of_voids_is_a_broken_ground(n_jobs, n_void_allowed):
    voids = [void(f"v{i}") for i in range(n_void_allowed)]
    fine = [a_trial(f"t{i}") for i in range(n_jobs - n_void_allowed)]
    assert len(run(Backend(*voids, *fine), n_jobs)) == n_jobs - n_void_allowed

    with pytest.raises(HarnessProError, match=r"\(last: provider: 503\)") as caught:
        run(Backend(*voids, void("one-more")), n_jobs)
    assert caught.value.found.startswith(f"{n_void_allowed + 1} of {n_jobs} trials failed")
