import itertools
from dataclasses import replace

import pytest

from harnesspro.checks import admit, kinds, passes, probes_for
from harnesspro.core.records import AnswerSpec, Task

TEXT = AnswerSpec(kind="text")
SUMS = [Task(task_id=f"t{i}", input=f"Calculate {i} + {i}.") for i in range(11, 19)]
PROBES = probes_for(TEXT, SUMS, seed=1, n=60)


@pytest.fixture
def with_test(monkeypatch):
    """Text with one test alone."""

    def set_up(test):
        kind = replace(kinds.KINDS["text"], tests={"own": ("property", test)})
        monkeypatch.setitem(kinds.KINDS, "text", kind)
        (measured,) = admit(kind.checks(), PROBES, TEXT, seed=1)
        return measured

    return set_up


def test_a_check_that_raises_is_not_admitted(with_test):
    measured = with_test(lambda task, spec, answer: len(answer) > int("x"))

    assert (measured.admitted, measured.reason) == (False, "raises ValueError on an answer")


def test_a_check_that_changes_its_mind_is_not_admitted(with_test):
    turns = itertools.count()
    measured = with_test(lambda task, spec, answer: next(turns) % 2 == 0)

    assert (measured.admitted, measured.reason) == (
        False,
        "does not say the same of an answer in 3 runs",
    )


def test_a_check_that_refuses_true_and_wrong_answers_alike_is_not_admitted(with_test):
    right = {probe.task.task_id: probe.answer for probe in PROBES}
    strange = {PROBES[0].task.task_id, PROBES[1].task.task_id}
    measured = with_test(
        lambda task, spec, answer: task.task_id not in strange or answer != right[task.task_id]
    )
    assert (measured.admitted, measured.kill_rate) == (False, 0.0)

    measured = with_test(lambda task, spec, answer: task.task_id not in strange)
    assert not measured.admitted
    assert measured.reason.endswith("it hardly tells them apart")


def test_a_family_stops_what_one_of_its_checks_stops():
    measured = admit(kinds.checks_for(TEXT), PROBES, TEXT, seed=1)
    admitted = [check for check in measured if check.admitted]
    rates = {check.family: check.family_kill_rate for check in admitted}

    assert admitted
    for check in admitted:
        assert check.kill_rate is not None
        assert check.family_kill_rate is not None
        assert 0 < check.kill_rate <= check.family_kill_rate <= 1
        assert check.family_kill_rate == rates[check.family]
    assert all(check.family_kill_rate is None for check in measured if not check.admitted)


@pytest.mark.parametrize("kind", ["text", "number"])
def test_true_answers_pass_what_is_admitted_on_tasks_of_plain_arithmetic(kind):
    spec = AnswerSpec(kind=kind)
    probes = probes_for(spec, SUMS, seed=2, n=200)
    measured = admit(kinds.checks_for(spec), probes, spec, seed=1)

    assert "agrees_with_the_sum" in {check.name for check in measured if check.admitted}
    assert {probe.family for probe in probes} > {"other_numbers"}
    for probe, check in itertools.product(probes, measured):
        assert passes(check, probe.task, spec, probe.answer), (check.name, probe.task.input)


def test_sums_are_probed_only_where_the_tasks_are_sums():
    talk = [Task(task_id="t", input="Which lamp is it?")]
    assert "other_numbers" not in {p.family for p in probes_for(TEXT, talk, seed=1, n=100)}
