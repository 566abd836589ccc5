"""`sim/planner` plays the planner brain: mostly useful, wrong at declared rates."""

from collections import Counter

import pytest
from pydantic import BaseModel, ValidationError

from harnesspro.core.errors import ConfigError
from harnesspro.core.ports import ChatRequest, Dropped
from harnesspro.formats.native import apply_patch
from harnesspro.proposers.planner import (
    PlannerPatch,
    PlannerProposer,
    PlannerReply,
    planner_question,
)
from harnesspro.providers.sim import SimProvider
from harnesspro.providers.sim_planner import PROSE_RATE, RANDOM_RATE, UNFIT_RATE
from harnesspro.sdk import find_json
from tests.unit.proposers.asking import PLANTED, a_finding, a_question, a_tried

JUNK = PLANTED.files["prompts/system.md"].split("\n\n")[1]
UNUSED = a_finding("unused_text", part="system", paragraph=JUNK)
N = 400


def said(question: BaseModel, seed: int) -> str:
    request = ChatRequest(
        model="sim/planner",
        messages=(
            {"role": "system", "content": "You improve a harness."},
            {"role": "user", "content": question.model_dump_json()},
        ),
        max_output_tokens=4000,
        seed=seed,
    )
    return SimProvider().complete(request, timeout_s=1).text


class SimImprover:
    """An `Improver` that asks the simulator directly, once."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def ask(self, agent, question, reply, *, key):
        try:
            return reply.model_validate(find_json(said(question, self.seed)))
        except ValidationError as error:
            return Dropped(agent=agent, reason=str(error))


def kind_of(question, patches) -> str:
    if not patches:
        return "none"
    (patch,) = patches
    try:
        apply_patch(question.parent, patch)
    except ConfigError:
        return "unfit"
    return "random" if patch.summary.startswith("try ") else "idea"


def test_it_is_wrong_at_the_declared_rates_and_else_has_an_idea_that_fits():
    question = a_question(findings=(UNUSED,))
    kinds = Counter(
        kind_of(question, PlannerProposer(SimImprover(seed), "cost").propose(question))
        for seed in range(N)
    )
    unfit = (1 - PROSE_RATE) * UNFIT_RATE
    random = (1 - PROSE_RATE) * (1 - UNFIT_RATE) * RANDOM_RATE
    assert kinds["none"] / N == pytest.approx(PROSE_RATE, abs=0.03)
    assert kinds["unfit"] / N == pytest.approx(unfit, abs=0.04)
    assert kinds["random"] / N == pytest.approx(random, abs=0.05)
    assert kinds["idea"] / N > 0.6


def ideas(direction, **question):
    asked = planner_question(a_question(**question), direction)
    found: list[PlannerPatch] = []
    for seed in range(60):
        value = find_json(said(asked, seed))
        if value is not None:
            found += PlannerReply.model_validate(value).patches
    return {patch.summary for patch in found}


def test_a_quoted_paragraph_is_dropped_first():
    assert any(
        summary.startswith("drop a paragraph of system")
        for summary in ideas("cost", findings=(UNUSED,))
    )


def test_directions_differ_in_what_they_think_of():
    assert "set stop_when_agreed to yes" in ideas("cost")
    assert "set constrain to schema" in ideas("success")


def test_what_was_tried_is_not_thought_of_again():
    history = (a_tried(), a_tried(stop_when_agreed="yes"))
    assert "set stop_when_agreed to yes" not in ideas("cost", history=history)
    assert "set constrain to schema" in ideas("cost", history=history)


def test_with_nothing_left_it_keeps():
    asked = planner_question(a_question(), "cost").model_copy(update={"knobs": (), "findings": ()})
    replies = [find_json(said(asked, seed)) for seed in range(40)]
    assert {"patches": [], "keep": True} in replies


def test_without_a_question_it_says_so():
    request = ChatRequest(
        model="sim/planner", messages=({"role": "user", "content": "Hi"},), max_output_tokens=50
    )
    text = SimProvider().complete(request, timeout_s=1).text
    assert text == "I see no planning question here."
