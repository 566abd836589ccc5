import pytest

from harnesspro.core.records import (
    Candidate,
    Patch,
    Refusal,
    ReplaceFile,
    ReplaceText,
    SetKey,
)
from harnesspro.formats.native import apply_patch
from harnesspro.proposers.question import Question
from harnesspro.stages.propose import Admission, Admitted, admit, propose
from tests.unit.builders import a_harness
from tests.unit.stages.trials import a_task

PARENT = a_harness(samples=3, retries=2)
QUESTION = Question(
    parent=PARENT,
    base=PARENT,
    findings=(),
    history=(),
    round_index=0,
    n_rounds=2,
    seed=0,
    models={"writer": "sim/small"},
)


class Proposer:
    """Has these patches and keeps what it was asked."""

    def __init__(self, *patches):
        self.patches, self.asked, self.name = patches, [], "scripted"

    def propose(self, question):
        self.asked.append(question)
        return self.patches


def a_patch(*edits, proposer="operator:x", summary="turn a dial", direction="cost", **knobs):
    return Patch(
        parent_id=PARENT.harness_id,
        edits=edits,
        knobs=knobs,
        direction=direction,
        proposer=proposer,
        summary=summary,
    )


def admission(*, known=(), search=(), unseen=()):
    return Admission(
        apply_patch=apply_patch,
        search_tasks=search,
        unseen_tasks=unseen,
        known_ids=frozenset(known),
    )


def admitted(*patches, n_new=9, **held):
    return admit(patches, PARENT, admission(**held), generation=2, round_index=1, n_new=n_new)


def quoting(text):
    return ReplaceText(path="prompts/system.md", old="Be brief.", new=text)


ONCE, TWICE, CALM = a_patch(samples=1), a_patch(samples=2), a_patch(retries=0)


def proposed(*proposers, directions=("cost", "success")):
    return propose(QUESTION, proposers, directions=directions)


def test_proposers_take_turns_and_each_is_asked_once():
    eager, shy = Proposer(ONCE, TWICE), Proposer(CALM)

    assert proposed(eager, shy) == (ONCE, CALM, TWICE)
    assert eager.asked == shy.asked == [QUESTION]


def test_the_same_patch_from_two_proposers_stands_once_under_the_first_name():
    same = a_patch(samples=1, proposer="knobs", summary="other words")
    assert proposed(Proposer(ONCE), Proposer(same, CALM)) == (ONCE, CALM)


def test_without_ideas_there_are_no_patches():
    assert proposed(Proposer(), Proposer()) == ()
    assert proposed() == ()


def test_only_patches_in_the_wanted_direction_are_tried_and_others_take_no_turn():
    dial = a_patch(direction="knobs", samples=2)
    right = a_patch(direction="success", samples=5)
    kept = a_patch(direction="skeleton", samples=4)
    both = (Proposer(right, ONCE, kept), Proposer(dial))

    assert proposed(*both, directions=("cost",)) == (ONCE, dial, kept)
    assert proposed(*both, directions=("success",)) == (right, kept)
    assert proposed(*both) == (right, dial, ONCE, kept)


def test_a_patch_that_holds_up_is_a_candidate():
    made = apply_patch(PARENT, ONCE)
    candidate = Candidate(
        candidate_id=made.harness_id,
        parent_id=PARENT.harness_id,
        generation=2,
        round_index=1,
        patch=ONCE,
        summary="turn a dial",
        proposer="operator:x",
    )
    assert admitted(ONCE) == ((Admitted(candidate, made),), ())


def test_only_so_many_are_admitted_and_the_rest_is_not_even_looked_at():
    broken = a_patch(samples=99)
    kept, refused = admitted(ONCE, TWICE, broken, n_new=2)

    assert [one.candidate.patch for one in kept] == [ONCE, TWICE]
    assert refused == ()
    assert admitted(ONCE, n_new=0) == ((), ())


def test_content_on_record_is_not_tried_twice_and_takes_no_room():
    again = a_patch(
        SetKey(path="budgets.yaml", key="note", value=1), samples=1, summary="and a note"
    )
    known = apply_patch(PARENT, ONCE).harness_id
    kept, refused = admitted(ONCE, again, again, CALM, known=(known,), n_new=2)

    assert [one.candidate.patch for one in kept] == [again, CALM]
    assert refused == ()


def test_a_patch_that_does_not_fit_is_refused_with_the_reason_and_takes_no_room():
    wrong, gone = a_patch(samples=99), a_patch(quoting("x").model_copy(update={"old": "No."}))
    kept, refused = admitted(wrong, gone, ONCE, n_new=1)

    assert [one.candidate.patch for one in kept] == [ONCE]
    assert refused == (
        Refusal(patch=wrong, reason="operator:x: knob samples: 99; expected [1, 5]"),
        Refusal(
            patch=gone,
            reason="prompts/system.md: 0 occurrences of the text to replace; expected exactly one",
        ),
    )


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (SetKey(path="solver.py", key="a", value=1), "solver.py: not YAML"),
        (SetKey(path="budgets.yaml", key="samples.x", value=1), "a parent that is no mapping"),
        (ReplaceFile(path="budgets.yaml", text="a: [\n"), "a text that is no YAML"),
        (ReplaceFile(path="budgets.yaml", text="a: " + "[" * 500), "a text that is no YAML"),
        (ReplaceFile(path="budgets.yaml", text="retries: 2\nday: 2026-01-31\n"), "no JSON"),
    ],
)
def test_a_part_that_would_be_broken_is_a_refusal_and_does_not_end_the_run(edit, reason):
    knobs = {"samples": 1} if isinstance(edit, ReplaceFile) else {}
    kept, refused = admitted(a_patch(edit, **knobs))
    assert (kept, len(refused)) == ((), 1)
    assert reason in refused[0].reason


def test_a_patch_that_quotes_more_of_what_it_was_shown_than_of_what_it_was_not_is_refused():
    text = "the answer for the blue lamp is seven"
    task = a_task(input={"request": f"Say it: {text}."})
    quote = a_patch(quoting(f"Be brief; {text}."))

    kept, refused = admitted(quote, search=(task,))
    assert kept == ()
    assert "it quotes what it was shown" in refused[0].reason
    assert admitted(quote, unseen=(task,))[1] == ()
    assert admitted(quote)[1] == ()


def test_a_patch_that_changes_nothing_is_refused():
    assert admitted(a_patch(quoting("Be brief.")))[1][0].reason == "nothing changed"
