from harnesspro.operators import OPERATORS
from harnesspro.proposers.operators import OperatorProposer
from tests.unit.proposers.asking import PLANTED, a_finding, a_question, a_tried

AGREE = a_finding("samples_agree", knob="samples")
FORM = a_finding("form_loss", knob="constrain")


def test_every_patch_is_for_the_parent_and_from_an_operator_the_finding_justifies():
    patches = OperatorProposer().propose(a_question(findings=(AGREE, FORM)))
    assert patches
    for patch in patches:
        operator = OPERATORS[patch.proposer.removeprefix("operator:")]
        assert patch.parent_id == PLANTED.harness_id
        assert {f.removeprefix("f-") for f in patch.finding_ids} <= operator.detectors


def test_what_keeps_every_answer_comes_first_whatever_the_rank():
    for findings in ((AGREE, FORM), (FORM, AGREE)):
        first, *others = OperatorProposer().propose(a_question(findings=findings))
        assert first.proposer == "operator:stop_when_agreed"
        assert all(patch.proposer != "operator:stop_when_agreed" for patch in others)


def test_the_rest_take_turns_in_the_rank_of_the_findings():
    for findings in ((AGREE, FORM), (FORM, AGREE)):
        _, *others = OperatorProposer().propose(a_question(findings=findings))
        assert [patch.finding_ids for patch in others[:2]] == [
            (finding.finding_id,) for finding in findings
        ]


def test_the_same_change_is_offered_once():
    retry = a_finding("retry_waste", knob="retries")
    patches = OperatorProposer().propose(a_question(findings=(FORM, retry)))
    assert len({patch.patch_id for patch in patches}) == len(patches)
    assert [patch.knobs for patch in patches].count({"constrain": "schema"}) == 1


def test_a_patch_on_record_is_left_out():
    first, *others = OperatorProposer().propose(a_question(findings=(AGREE, FORM)))
    history = (a_tried(patch_id=first.patch_id),)
    again = OperatorProposer().propose(a_question(findings=(AGREE, FORM), history=history))
    assert again == tuple(others)


def test_no_finding_makes_no_patch():
    assert OperatorProposer().propose(a_question()) == ()
