"""What holds for every detector."""

import pytest

from harnesspro.detectors import DETECTORS
from tests.unit.builders import a_harness, a_step, a_trajectory

ODD_TRIALS = [
    a_trajectory(outcome="crashed"),
    a_trajectory(task="t2", outcome="limit"),
    a_trajectory(a_step("", n_in=0, n_out=0, cost=0), task="t3", outcome="malformed"),
    a_trajectory(a_step("", n_in=0, n_out=0, cost=0), task="t4", answer=""),
    a_trajectory(
        a_step(temperature="hot", max_output_tokens=None, messages="none", tools=[{"name": "f"}]),
        task="t5",
        answer=[1],
    ),
    a_trajectory(
        a_step(messages=[{"role": "user", "content": [{"type": "text", "text": "hi"}]}, "x"]),
        task="t6",
        answer=True,
    ),
]


@pytest.mark.parametrize("name", DETECTORS)
def test_nothing_run_is_nothing_found(name):
    assert DETECTORS[name](a_harness(), []) == ()


@pytest.mark.parametrize("name", DETECTORS)
def test_odd_trials_break_no_detector(name):
    for finding in DETECTORS[name](a_harness(kind="number"), ODD_TRIALS):
        assert finding.detector == name


@pytest.mark.parametrize("name", DETECTORS)
def test_a_lean_harness_is_left_alone(name):
    trials = [
        a_trajectory(
            a_step(prompt=f"{i} " + "question " * i, temperature=0, max_output_tokens=32),
            task=f"t{i}",
        )
        for i in range(12)
    ]
    harness = a_harness(samples=1, temperature=0, constrain="schema", max_output_tokens=32)
    assert DETECTORS[name](harness, trials) == ()
