"""Findings together: ranked, and never claiming a dollar twice."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harnesspro.core.findings import (
    Detector,
    Place,
    diagnose,
    finding_of,
    patterns,
    per_thousand_tasks,
)
from harnesspro.core.records import Span
from tests.unit.builders import a_finding, a_harness, a_step, a_trajectory

HARNESS = a_harness()


def claiming(name, *claims, lost=0.0):
    """A detector with one finding that claims (trial, step, nanos)."""
    spans = [Span(trial_id=trial, step=step, wasted_nanos=nanos) for trial, step, nanos in claims]
    finding = finding_of(
        HARNESS,
        detector=name,
        pattern=f"pattern of {name}",
        advice="",
        place=Place(),
        evidence=spans,
        lost_success=lost,
    )
    return {name: lambda harness, trajectories: (finding,)}


def a_trial(*costs, task="t1", outcome="answered"):
    return a_trajectory(*[a_step(cost=cost) for cost in costs], task=task, outcome=outcome)


def test_the_dearest_claim_on_a_step_comes_first_and_the_next_gets_what_is_left():
    detectors = {
        **claiming("small", ("trial-t1", 0, 60)),
        **claiming("large", ("trial-t1", 0, 70), ("trial-t1", 1, 10)),
    }
    found = diagnose(HARNESS, [a_trial(100, 100)], detectors)
    assert [(one.detector, one.wasted_nanos) for one in found] == [("large", 80), ("small", 30)]
    assert found[1].evidence == (Span(trial_id="trial-t1", step=0, wasted_nanos=30),)


def test_findings_rank_by_dollars_left_then_by_lost_success():
    detectors = {
        **claiming("a", ("trial-t1", 0, 100)),
        **claiming("b", ("trial-t1", 0, 90)),
        **claiming("c", ("trial-t1", 1, 5)),
        **claiming("d", ("trial-t1", 1, 0), lost=0.5),
    }
    found = diagnose(HARNESS, [a_trial(100, 100)], detectors)
    assert [one.detector for one in found] == ["a", "c", "d", "b"]
    assert (found[3].wasted_nanos, found[3].detail["claimed_nanos"]) == (0, 90)


def test_detail_tells_the_spend_the_trials_and_what_else_was_found():
    detectors = {**claiming("b", ("trial-t1", 0, 1)), **claiming("a", ("trial-t1", 0, 2))}
    found = diagnose(HARNESS, [a_trial(7, 5), a_trial(3, task="t2")], detectors)
    assert {tuple(one.detail.items()) for one in map(_hashable, found)} == {
        (
            ("spend_nanos", 15),
            ("n_trials", 2),
            ("also_found", ("a", "b")),
            ("claimed_nanos", claimed),
        )
        for claimed in (1, 2)
    }


def _hashable(finding):
    detail = {**finding.detail, "also_found": tuple(finding.detail["also_found"])}
    return finding.model_copy(update={"detail": detail})


def test_void_trials_are_shown_to_no_detector_and_count_nowhere():
    seen: list[str] = []

    def look(harness, trajectories):
        seen.extend(one.trial.task_id for one in trajectories)
        return claiming("x", ("trial-t1", 0, 1))["x"](harness, trajectories)

    (finding,) = diagnose(
        HARNESS, [a_trial(7), a_trial(9, task="t2", outcome="void")], {"look": look}
    )
    assert seen == ["t1"]
    assert finding.detail["spend_nanos"] == 7


def test_spans_on_no_real_step_are_dropped_and_a_finding_without_evidence_with_them():
    detectors = {
        **claiming("half", ("trial-t1", 0, 1), ("trial-t1", 9, 50)),
        **claiming("none", ("elsewhere", 0, 50)),
    }
    (finding,) = diagnose(HARNESS, [a_trial(7)], detectors)
    assert (finding.detector, finding.wasted_nanos, len(finding.evidence)) == ("half", 1, 1)


@settings(deadline=None)
@given(
    costs=st.lists(st.integers(0, 50), min_size=1, max_size=4),
    claims=st.lists(
        st.lists(st.tuples(st.integers(0, 4), st.integers(0, 80)), min_size=1, max_size=5),
        max_size=5,
    ),
)
def test_claims_on_a_step_never_exceed_its_cost_and_nothing_is_lost_that_fits(costs, claims):
    detectors: dict[str, Detector] = {}
    for i, spans in enumerate(claims):
        detectors |= claiming(f"d{i}", *[("trial-t1", step, nanos) for step, nanos in spans])
    found = diagnose(HARNESS, [a_trial(*costs)], detectors)
    claimed, wanted = [0] * 5, [0] * 5
    for finding in found:
        assert finding.wasted_nanos == sum(span.wasted_nanos for span in finding.evidence)
        for span in finding.evidence:
            claimed[span.step] += span.wasted_nanos
    for spans in claims:
        for step, nanos in spans:
            wanted[step] += nanos
    available = costs + [0] * 5
    assert claimed == [min(wanted[i], available[i]) for i in range(5)]
    assert sum(one.wasted_nanos for one in found) <= sum(costs)
    assert [one.wasted_nanos for one in found] == sorted(
        (one.wasted_nanos for one in found), reverse=True
    )


def test_patterns_are_named_once_in_order():
    findings = [a_finding("b"), a_finding("a"), a_finding("b", part="system")]
    assert patterns(findings) == ("pattern of b", "pattern of a")


def test_the_same_observation_has_the_same_id_and_another_place_another():
    ids = [
        finding.finding_id
        for finding in (
            a_finding("a", wasted=1),
            a_finding("a", wasted=2),
            a_finding("a", part="system"),
            a_finding("b"),
        )
    ]
    assert ids[0] == ids[1]
    assert len(set(ids)) == 3


def test_waste_is_told_for_a_thousand_tasks():
    assert per_thousand_tasks(a_finding("a", wasted=3_000_000), 30) == 0.1


def test_no_trials_have_no_rate():
    with pytest.raises(ValueError, match="n_trials: 0; expected at least 1"):
        per_thousand_tasks(a_finding("a"), 0)
