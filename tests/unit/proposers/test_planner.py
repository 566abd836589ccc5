import pytest

from harnesspro.core.ports import Dropped
from harnesspro.core.records import Patch, ReplaceFile, ReplaceText
from harnesspro.proposers.planner import (
    PlannerKnob,
    PlannerPatch,
    PlannerProposer,
    PlannerQuestion,
    PlannerReply,
    edit_budget,
    planner_question,
)
from harnesspro.testing.doubles import ScriptedImprover
from tests.unit.proposers.asking import PLANTED, a_finding, a_question, a_tried

AGREE = a_finding("samples_agree", knob="samples", agreement_share=0.9)
STOP = PlannerPatch(
    knobs={"stop_when_agreed": "yes"},
    summary="stop once the vote is settled",
    hypothesis="two samples mostly agree",
    finding_ids=("f-samples_agree", "f-of-its-own-making"),
    expected_cost_ratio=0.7,
)


def planned(*patches, direction="cost", keep=False, **question):
    improver = ScriptedImprover([PlannerReply(patches=patches, keep=keep)])
    return PlannerProposer(improver, direction).propose(a_question(**question))


def test_a_planned_change_becomes_a_patch_of_the_parent():
    assert planned(STOP, findings=(AGREE,)) == (
        Patch(
            parent_id=PLANTED.harness_id,
            knobs={"stop_when_agreed": "yes"},
            direction="cost",
            proposer="planner:cost",
            summary="stop once the vote is settled",
            hypothesis="two samples mostly agree",
            finding_ids=("f-samples_agree",),
            expected_cost_ratio=0.7,
        ),
    )


def test_the_agent_is_asked_under_a_key_of_direction_round_and_parent():
    improver = ScriptedImprover([PlannerReply(keep=True)])
    PlannerProposer(improver, "success").propose(a_question(round_index=1))
    ((agent, question, key),) = improver.asked
    assert (agent, key) == ("planner", f"success/1/{PLANTED.harness_id}")
    assert isinstance(question, PlannerQuestion)
    assert question.direction == "success"


def test_the_planner_sees_texts_dials_prices_and_history_but_no_trial():
    asked = planner_question(a_question(findings=(AGREE,), history=(a_tried(samples=1),)), "cost")
    assert {part.path: part.text for part in asked.parts} == {
        part.path: PLANTED.files[part.path] for part in PLANTED.manifest.parts.values()
    }
    dials = {knob.name: knob for knob in asked.knobs}
    assert dials["samples"] == PlannerKnob(
        name="samples", part="budgets", value=3, low=1, high=5, whole=True
    )
    assert dials["constrain"] == PlannerKnob(
        name="constrain", part="budgets", value="none", choices=("none", "schema")
    )
    assert asked.findings[0].wasted_usd == 1e-6
    assert asked.history[0].knobs["samples"] == 1
    assert "trial" not in asked.model_dump_json()


def test_keep_and_a_dropped_reply_make_no_patch():
    assert planned(STOP, keep=True) == ()
    improver = ScriptedImprover([Dropped(agent="planner", reason="prose")])
    assert PlannerProposer(improver, "cost").propose(a_question()) == ()


def test_a_reply_that_is_no_planner_reply_makes_no_patch():
    improver = ScriptedImprover([{"patches": [{"summary": "x", "edits": [{"kind": "run"}]}]}])
    assert PlannerProposer(improver, "cost").propose(a_question()) == ()


def test_changes_beyond_the_budget_are_left_out_edits_first():
    edits = tuple(
        ReplaceText(path="prompts/system.md", old=old, new="") for old in ("Think", "Compare")
    )
    wide = PlannerPatch(edits=edits, knobs={"samples": 1, "retries": 0}, summary="much at once")
    (first,) = planned(wide, round_index=0)
    (last,) = planned(wide, round_index=2)
    assert (len(first.edits), first.knobs) == (2, {"samples": 1})
    assert (len(last.edits), last.knobs) == (1, {})


@pytest.mark.parametrize(("n_rounds", "budgets"), [(1, [3]), (2, [3, 1]), (3, [3, 2, 1])])
def test_the_edit_budget_falls_from_three_to_one(n_rounds, budgets):
    assert [edit_budget(index, n_rounds) for index in range(n_rounds)] == budgets


def test_dials_left_where_they_are_and_empty_patches_are_left_out():
    still = PlannerPatch(knobs={"samples": 3}, summary="nothing moves")
    assert planned(still, PlannerPatch(summary="nothing at all")) == ()


def test_what_is_on_record_is_left_out():
    (patch,) = planned(STOP)
    assert planned(STOP, history=(a_tried(patch_id=patch.patch_id),)) == ()


def test_an_absurd_forecast_is_dropped_and_the_patch_kept():
    (patch,) = planned(STOP.model_copy(update={"expected_cost_ratio": -3.0}))
    assert patch.expected_cost_ratio is None


def test_a_whole_file_can_be_planned():
    edit = ReplaceFile(path="prompts/format.md", text="Give the option alone.\n")
    (patch,) = planned(PlannerPatch(edits=(edit,), summary="ask for the answer alone"))
    assert patch.edits == (edit,)
