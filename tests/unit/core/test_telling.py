"""The report in sentences: each says what was measured, and no more."""

from typing import Any

from harnesspro.core.documents import Power, SealedReport, Spend
from harnesspro.core.records import Calibration, Channel, Estimate, Refusal
from harnesspro.core.report import front_points
from harnesspro.core.telling import Story, words
from tests.unit.builders import a_finding
from tests.unit.core.charts import a_candidate, a_chart, a_law, a_verdict, rows


def a_story(**changes):
    base: dict[str, Any] = {
        "findings": (),
        "n_diagnosed_trials": 60,
        "diagnosed_usd": 0.12,
        "refusals": (),
        "dropped_ids": frozenset(),
        "spend": Spend(improver_usd=0.05, target_usd=0.45, paid_usd=0.0),
        "referee_reason": "no independent model votes.",
        "referee_trusted": False,
    }
    return Story(**(base | changes))


def said(chart, **changes):
    return words(chart, front_points(chart), a_story(**changes))


def ids(points):
    return [one.candidate_id for one in points]


NO_WASTE = "The detectors found no waste and no loss they could price."
NOT_TRUSTED = (
    "The referee is not trusted (no independent model votes), so this run claims cost and "
    "agreement only."
)
SPENT = "Spent $0.4500 on measuring and $0.0500 on thinking at list prices; $0 will be billed."


def test_a_run_that_found_nothing_says_so():
    assert said(a_chart(a_law())) == (
        "No change beat the harness as it came.",
        NO_WASTE,
        NOT_TRUSTED,
        SPENT,
    )


def test_a_run_with_an_accepted_pick_says_what_it_saves_and_when_it_has_paid_for_itself():
    half, third = rows(0.5), rows(1 / 3, changed=6)
    chart = a_chart(
        a_law(half=half, third=third),
        a_candidate("half"),
        a_candidate("third", summary="ask less."),
        confirm=a_law(n=64, half=rows(0.5, n=64)),
        verdicts=(a_verdict("half"),),
        base_disagreement=0.08,
    )

    assert said(chart) == (
        "Accepted: 50 % cheaper; 0 of 64 answers changed (the original disagrees with itself on "
        "10 %), so no more than 4.6 points of accuracy can be lost.",
        "Accept: ask once: cost 0.50 times the original's [0.48, 0.52]. 0 of 64 answers changed; "
        "not worse by more than 5 points, and it is cheaper. Shown by agreement, no judge needed; "
        "the smallest margin the data support is 4.6 points. The original disagrees with itself on 10 %.",
        "Observed, best of 2: ask less: 67 % cheaper, 10 % of answers changed on 60 search tasks "
        "(at most 22 %; the original disagrees with itself on 8.0 %).",
        NO_WASTE,
        NOT_TRUSTED,
        SPENT + " It has paid for itself after 500 tasks.",
    )


def test_a_run_that_only_observed_a_saving_does_not_call_it_accepted():
    verdict = a_verdict(
        "third",
        "inconclusive",
        n_changed=7,
        changed_upper=0.196,
        smallest_margin=0.196,
        not_worse=False,
        route="none",
        base_disagreement=None,
        cost_ratio=Estimate(mean=0.333, low=0.32, high=0.35, n=64),
        n_more_tasks=180,
        reason="7 of 64 answers changed; the margin is 5 points; about 180 more tasks would decide",
    )
    confirm = a_law(n=64, third=rows(1 / 3, changed=7, n=64))
    chart = a_chart(
        a_law(third=rows(1 / 3, changed=6)), "third", confirm=confirm, verdicts=(verdict,)
    )

    assert said(chart) == (
        "Nothing was accepted. Observed: 67 % cheaper with 11 % of answers changed; whether those "
        "answers are as good needs your checks, an independent model, or more tasks.",
        "Inconclusive: ask once: cost 0.33 times the original's [0.32, 0.35]. 7 of 64 answers "
        "changed; the margin is 5 points; about 180 more tasks would decide. Shown by neither "
        "agreement nor the referee; the smallest margin the data support is 19.6 points. How often the original disagrees with itself was not "
        "measured.",
        NO_WASTE,
        NOT_TRUSTED,
        SPENT,
    )


def test_the_headline_speaks_of_the_accepted_pick_that_saves_most():
    chart = a_chart(
        a_law(half=rows(0.5), fifth=rows(0.2, changed=1)),
        "half",
        "fifth",
        verdicts=(a_verdict("half"), a_verdict("fifth", n_changed=1, changed_upper=0.072)),
    )
    assert said(chart)[0] == (
        "Accepted: 80 % cheaper; 1 of 64 answers changed (the original disagrees with itself on "
        "10 %), so no more than 7.2 points of accuracy can be lost."
    )


BY_REFEREE = {
    "route": "referee",
    "n_changed": 9,
    "changed_upper": 0.23,
    "n_worse": 3,
    "n_better": 5,
    "loss_upper": 0.041,
    "tipping_hit_rate": 0.74,
}


def test_an_accepted_pick_that_the_referee_vouches_for_says_how_far_and_when_it_falls():
    verdict = a_verdict("half", **BY_REFEREE)
    chart = a_chart(a_law(half=rows(0.5, changed=9)), "half", verdicts=(verdict,))
    assert said(chart)[:2] == (
        "Accepted: 50 % cheaper; 9 of 64 answers changed (the original disagrees with itself on "
        "10 %), the referee finds 5 of the changed better and 3 worse and bounds the loss at 4.1 "
        "points; the verdict falls if it is right on under 74 % of such pairs.",
        "Accept: ask once: cost 0.50 times the original's [0.48, 0.52]. 0 of 64 answers changed; "
        "not worse by more than 5 points, and it is cheaper. Shown by the referee; the smallest "
        "margin the data support is 4.1 points. The original disagrees with itself on 10 %.",
    )


def test_a_point_that_costs_more_is_called_dearer():
    joint = a_law(trusted=True, dear=rows(1.2, changed=20, merit=1.0))
    joint.score[:, 1] += 0.3
    chart = a_chart(joint, "dear")

    assert ids(front_points(chart)) == ["base", "dear"]
    assert (
        "Observed, best of 1: ask once: 20 % dearer, 33 % of answers changed on 60 search "
        in (said(chart)[1])
    )


def test_findings_are_priced_for_a_thousand_tasks_and_end_as_sentences():
    wasteful = a_finding("retry_waste", wasted=30_000_000).model_copy(
        update={"pattern": "retries seldom help...", "advice": "retry once."}
    )
    lost = a_finding("form_loss").model_copy(
        update={"advice": "constrain the reply", "lost_success": 0.25}
    )

    assert said(a_chart(a_law()), findings=(wasteful, lost))[1:3] == (
        "Found: retries seldom help ($0.5000 per 1,000 tasks, 25 % of the spend). retry once.",
        "Found: pattern of form_loss. constrain the reply. It lost 25 % of trials.",
    )


def test_at_most_five_findings_are_told():
    findings = tuple(a_finding(f"d{i}", wasted=1) for i in range(7))
    told = [line for line in said(a_chart(a_law()), findings=findings) if line[:5] == "Found"]
    assert [line.split()[3] for line in told] == ["d0", "d1", "d2", "d3", "d4"]


def test_only_what_a_race_dropped_was_tried_in_vain():
    never_raced = a_candidate("late", summary="never came to it")
    dropped = a_candidate("bad", summary="shout at the model.")
    chart = a_chart(a_law(half=rows(0.5)), "half", dropped, never_raced)

    told = [line for line in said(chart, dropped_ids=frozenset({"bad"})) if "vain" in line]
    assert told == ["Tried in vain: shout at the model."]


def test_refusals_are_counted_and_the_first_is_told():
    first = Refusal(patch=_patch(a_candidate("a", summary="quote a task.")), reason="it quotes")
    chart = a_chart(a_law())

    assert said(chart, refusals=(first,))[2] == (
        "One patch was refused before it cost anything (quote a task: it quotes)."
    )
    assert said(chart, refusals=(first, first))[2] == (
        "2 patches were refused before they cost anything (the first: quote a task: it quotes)."
    )


def test_a_trusted_referee_is_said_to_be_trusted():
    lines = said(a_chart(a_law()), referee_trusted=True, referee_reason="it was right often")
    assert lines[2] == "The referee is trusted: it was right often."


CHANNELS = (
    Channel(name="checks", kind="checks", admitted=True, reason="beats taking any answer"),
    Channel(name="judge:x/y", kind="judge", reason="level with chance on 40 probes"),
)
CALIBRATION = Calibration(
    n_probes=140,
    n_discordant=120,
    hit_rate=Estimate(mean=0.9, low=0.836, high=0.945, n=100),
    tilt=Estimate(mean=0.02, low=-0.04, high=0.08, n=100),
    n_ties=2,
    reason="100 pairs of differing answers",
)


def test_how_good_the_referee_is_and_who_is_heard_are_said():
    lines = said(a_chart(a_law()), channels=CHANNELS, calibration=CALIBRATION)
    assert lines[2:5] == (
        NOT_TRUSTED,
        "Calibrated on generated tasks: right on 90 % of 100 pairs of differing answers (between "
        "84 % and 94 %), 2 ties counted half; its errors favour the change by 2.0 % (8.0 % of pairs "
        "at most).",
        "Of its channels, heard: checks; judge:x/y is not: level with chance on 40 probes.",
    )


def test_a_referee_that_was_not_put_to_probes_says_why():
    unmeasured = CALIBRATION.model_copy(
        update={"n_probes": 0, "hit_rate": None, "reason": "--probes 0 forbids it."}
    )
    assert said(a_chart(a_law()), calibration=unmeasured)[3] == (
        "Its hit rate was not measured: --probes 0 forbids it."
    )


def test_a_reason_that_holds_why_it_was_not_measured_is_said_once():
    unmeasured = CALIBRATION.model_copy(
        update={"n_probes": 0, "hit_rate": None, "reason": "only 4 of 60 probes gave a pair"}
    )
    reason = "it is not known: only 4 of 60 probes gave a pair"
    lines = said(a_chart(a_law()), calibration=unmeasured, referee_reason=reason)
    assert sum("only 4 of 60" in line for line in lines) == 1


def test_confirm_tasks_that_were_used_before_are_told_right_after_the_headline():
    power = Power(
        n_search=32,
        n_confirm=64,
        min_detectable_gain=0.1,
        agreement_bound_at_zero=0.046,
        n_reused=64,
        n_earlier_runs=2,
    )
    fresh = power.model_copy(update={"n_reused": 0, "n_earlier_runs": 0})
    lines = said(a_chart(a_law()), power=power)
    assert lines[1] == (
        "All 64 confirm tasks were already used by 2 earlier runs: the headline is new to this run, "
        "not to you."
    )
    assert said(a_chart(a_law()), power=fresh) == (lines[0], *lines[2:])


def test_after_the_opening_the_report_says_what_the_score_was_worth():
    sealed = SealedReport(
        n_tasks=64,
        n_harnesses=3,
        rank_correlation=1 / 3,
        discordant_hit_rate=Estimate(mean=0.6, low=0.4, high=0.78, n=20),
        auc=Estimate(mean=0.62, low=0.42, high=0.8, n=18),
    )
    lines = said(a_chart(a_law()), sealed=sealed, calibration=CALIBRATION)
    assert lines[4:9] == (
        "Accuracy was opened once in this run, after the verdicts, on 64 tasks.",
        "Where two answers differ and one is right, the score without gold preferred the right one "
        "on 60 % of 20 (at least 40 %): no better than chance is shown, so trust only cost and "
        "agreement here.",
        "That is less than the 90 % on generated tasks, which flatter the referee.",
        "Within a task it puts a right answer above a wrong one with 62 % [42 %, 80 %] (18 tasks "
        "with both).",
        "Score and accuracy put the 3 harnesses in orders that agree with tau +0.33; too few to say much.",
    )


def _patch(candidate):
    assert candidate.patch is not None
    return candidate.patch


def test_where_answers_are_tried_the_bound_is_said_to_be_a_little_too_low():
    half = rows(0.5)
    chart = a_chart(
        a_law(half=half),
        a_candidate("half"),
        confirm=a_law(n=64, half=rows(0.5, n=64)),
        verdicts=(a_verdict("half"),),
    )

    assert any("a little too low" in line for line in said(chart, answers_tried=True))
    assert not any("a little too low" in line for line in said(chart))
