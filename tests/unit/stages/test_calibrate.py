import pytest

from harnesspro.core.answers import NO_ANSWER
from harnesspro.core.calibration import ProbeAnswer
from harnesspro.core.records import Check, Estimate, Probe, Task, Trial
from harnesspro.core.referee import freeze
from harnesspro.stages.calibrate import Seen, form, merits_of, rows_of, shares

SURE = Estimate(mean=0.0, low=0.0, high=0.03, n=200)
OPENING = freeze(
    [
        Check(
            check_id="c",
            family="property",
            name="c",
            writer="schema",
            false_reject_rate=SURE,
            kill_rate=0.9,
            admitted=True,
        )
    ]
)
JUDGE, PANEL = "judge:sim/judge", "panel:sim/other"


def a_probe(index):
    name = f"p{index:03d}"
    return Probe(probe_id=name, task=Task(task_id=name, input="q"), answer="right")


def a_trial(probe, harness_id, answer):
    return Trial(
        trial_id=f"{probe.probe_id}/{harness_id}",
        harness_id=harness_id,
        task_id=probe.probe_id,
        draw="probe/0",
        outcome="malformed" if answer is None else "answered",
        answer=answer,
        latency_s=1.0,
        cost_nanos=1_000_000,
    )


def seen_of(trials, check=None, judge=None, votes=None):
    """Clusters are the answers themselves; `check` and `judge` say what they think of one."""
    said = {}
    for trial in trials:
        if trial.answer is not None:
            row = {} if check is None else {"c": check(trial.answer)}
            said[trial.task_id, trial.answer] = row | (
                {} if judge is None else {JUDGE: judge(trial.answer)}
            )
    return Seen(
        trials=trials,
        clusters={trial.trial_id: trial.answer or NO_ANSWER for trial in trials},
        passed=said,
        votes=votes or {},
        is_right=lambda probe, cluster: cluster == probe.answer,
    )


def world(n, check=None, judge=None):
    """Probes on which the variant errs on odd ones and the initial harness on even ones."""
    probes = [a_probe(index) for index in range(n)]
    trials = [
        a_trial(probe, key, "right" if (index + odd) % 2 else "wrong")
        for index, probe in enumerate(probes)
        for odd, key in enumerate(("base", "variant"))
    ]
    seen = seen_of(trials, check=check, judge=judge)
    rows = rows_of(probes, ("base", "variant"), seen, opening=OPENING, asked=[JUDGE])
    return rows, seen


def test_a_row_holds_every_answer_with_what_is_known_of_it():
    probe = a_probe(0)
    trials = [a_trial(probe, "base", "right"), a_trial(probe, "variant", None)]
    seen = seen_of(trials, check=lambda answer: 1.0)

    (row,) = rows_of([probe], ("base", "variant"), seen, opening=OPENING, asked=[])

    assert row.answers == (
        ProbeAnswer("base", "right", True, True, 7, 1.0, 0.001),
        ProbeAnswer("variant", NO_ANSWER, False, False, 0, 1.0, 0.001),
    )
    assert row.scores == {"checks": {"right": 1.0, NO_ANSWER: 0.0}}


def test_a_probe_only_one_harness_answered_is_no_row():
    probe = a_probe(0)
    seen = seen_of([a_trial(probe, "base", "right")], check=lambda answer: 1.0)

    assert rows_of([probe], ("base", "variant"), seen, opening=OPENING, asked=[]) == ()


def test_a_channel_that_has_no_word_on_one_of_the_answers_is_left_out():
    rows, _ = world(1, judge=lambda answer: 0.5)

    assert rows[0].scores == {JUDGE: {"right": 0.5, "wrong": 0.5, NO_ANSWER: 0.0}}


def test_a_panel_speaks_by_the_cluster_it_voted_for():
    probe = a_probe(0)
    trials = [a_trial(probe, "base", "right"), a_trial(probe, "variant", "wrong")]
    seen = seen_of(trials, votes={PANEL: {probe.probe_id: "right"}})

    (row,) = rows_of([probe], ("base", "variant"), seen, opening=OPENING, asked=[PANEL])

    assert row.scores == {PANEL: {"right": 1.0, "wrong": 0.0, NO_ANSWER: 0.0}}


def test_only_channels_that_tell_right_from_wrong_are_heard():
    rows, _ = world(60, check=lambda a: 1.0, judge=lambda a: 0.9 if a == "right" else 0.2)

    referee = form(rows, OPENING, asked=[JUDGE], seed=0)

    assert [check.check_id for check in referee.checks] == [JUDGE]
    assert {channel.name: channel.admitted for channel in referee.channels} == {
        "checks": False,
        JUDGE: True,
    }


def test_the_merits_follow_the_channels_that_are_heard():
    rows, seen = world(60, check=lambda a: 1.0, judge=lambda a: 0.9 if a == "right" else 0.2)
    referee = form(rows, OPENING, asked=[JUDGE], seed=0)

    merits = merits_of(rows, referee, passed=seen.passed, votes=seen.votes)

    assert merits["p000"]["right"] > merits["p000"]["wrong"]
    assert sum(merits["p000"].values()) < 1


def test_each_member_of_the_panel_has_one_vote():
    votes = {"panel:a": {"t": "x"}, "panel:b": {"t": "y"}, "panel:c": {"t": "x"}}

    cast = shares(["panel:a", "panel:b", "panel:c"], votes, "t")

    assert cast is not None
    assert cast == {
        "x": pytest.approx(2 / 3),
        "y": pytest.approx(1 / 3),
    }
    assert shares(["panel:a"], votes, "other") is None
