"""What is told of recorded answers of a real model: the traps among the variants are never let through."""

from __future__ import annotations

import json
from argparse import Namespace
from pathlib import Path

import pytest

from harnesspro.core.records import Task
from harnesspro.testing.doubles import ScriptedProvider
from tests.bench import looks, real_answers, real_tables, recordings
from tests.bench.in_process import Graded
from tests.bench.materials import Reasoning, ToolCalls, back_named, renamed
from tests.bench.real_tables import duels, verdicts
from tests.bench.recordings import RECORDED, telling, unpack
from tests.bench.sheets import REFEREE, Sheet, sheet_of

FUNCTION = {
    "name": "book",
    "description": "Books a room.",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}, "nights": {"type": "integer"}},
        "required": ["city"],
    },
}
BRANCH = {
    "type": "object",
    "properties": {
        "name": {"const": "book"},
        "arguments": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "nights": {"type": "integer"}},
            "required": ["city"],
            "additionalProperties": False,
        },
    },
    "required": ["name", "arguments"],
}
TASK = Task(
    task_id="t",
    input={
        "request": "Book a room in Rome for 2 nights.",
        "functions": [FUNCTION],
        "answer_schema": {"oneOf": [BRANCH]},
    },
)
CALL = {"name": "book", "arguments": {"city": "Rome", "nights": 2}}
OTHER = {"name": "book", "arguments": {"city": "Room", "nights": 1}}


def a_row(variant: str, item: str, answer: object, **more: object) -> dict[str, object]:
    usage = {"in_tokens": 10, "out_tokens": 2, "seconds": 0.5}
    return {
        "variant": variant,
        "item": item,
        "outcome": "answered",
        "answer": answer,
        **usage,
        **more,
    }


@pytest.fixture(scope="module")
def calls() -> Sheet:
    return sheet_of(ToolCalls(None), unpack(RECORDED / "calls.jsonl.gz"), None)


@pytest.fixture(scope="module")
def puzzles() -> Sheet:
    return sheet_of(Reasoning(None), unpack(RECORDED / "reasoning.jsonl.gz"), None)


def test_of_real_calls_neither_the_trap_nor_the_gain_is_accepted_and_the_trap_is_not_drawn_as_equal(
    calls: Sheet,
) -> None:
    found = {
        drawn.verdict.candidate_id: (
            drawn.verdict.kind,
            drawn.n_right - drawn.base_right,
            drawn.drawn_as_equal,
        )
        for drawn in verdicts(ToolCalls(None), calls)
    }
    assert found == {
        "constrained": ("inconclusive", 7, False),
        "shortened": ("inconclusive", -15, False),
    }
    assert not calls.referee.trusted


def test_of_real_puzzles_the_trap_is_neither_accepted_nor_drawn_as_equal(puzzles: Sheet) -> None:
    trap = [
        d for d in verdicts(Reasoning(None), puzzles) if d.verdict.candidate_id == "answer-only"
    ]
    assert [(d.verdict.kind, d.n_right - d.base_right, d.drawn_as_equal) for d in trap] == [
        ("inconclusive", -15, False)
    ]


def test_at_an_absurd_margin_the_trap_among_real_calls_is_accepted(calls: Sheet) -> None:
    """So that it is not accepted at five points is the margin's doing."""
    kinds = {
        d.verdict.candidate_id: d.verdict.kind for d in verdicts(ToolCalls(None), calls, eps=0.65)
    }
    assert kinds == {"constrained": "accept", "shortened": "accept"}


def test_on_every_pair_a_channel_is_right_wrong_or_tied(calls: Sheet) -> None:
    for duel in duels(calls):
        for channel in calls.said:
            marks = duel.marks(channel)
            parts = (marks.right, marks.ties, marks.wrong_for_change, marks.wrong_against)
            assert sum(parts) == len(duel.pairs), (duel.base, duel.variant, channel)


def test_a_loss_that_the_interval_excludes_is_called_drawn_as_equal(calls: Sheet) -> None:
    (drawn,) = [
        d for d in verdicts(ToolCalls(None), calls) if d.verdict.candidate_id == "shortened"
    ]
    narrow = drawn.score.model_copy(update={"low": drawn.base_score - 0.01})
    changed = real_tables.Drawn(
        verdict=drawn.verdict,
        base_score=drawn.base_score,
        score=narrow,
        n_right=drawn.n_right,
        base_right=drawn.base_right,
    )
    assert (drawn.drawn_as_equal, changed.drawn_as_equal) == (False, True)


def test_the_tables_name_the_referee_and_every_variant(
    calls: Sheet, capsys: pytest.CaptureFixture[str]
) -> None:
    real_tables.print_channels(calls)
    real_tables.print_checks(calls)
    real_tables.print_verdicts(ToolCalls(None), calls)
    out = capsys.readouterr().out
    assert all(word in out for word in (*ToolCalls.variants, REFEREE, "inconclusive"))


# --- changed copies ----------------------------------------------------------------------------


def test_a_renamed_task_names_no_function_or_parameter_and_its_answer_comes_back_in_the_old_names() -> (
    None
):
    copy = renamed(Graded(TASK, None))
    answer = {"name": "tool_0", "arguments": {"arg_0": "Rome", "arg_1": 2}}
    given = copy.task.input
    assert isinstance(given, dict)
    assert given["functions"] == [
        {
            "name": "tool_0",
            "description": "Books a room.",
            "parameters": {
                "type": "object",
                "properties": {"arg_0": {"type": "string"}, "arg_1": {"type": "integer"}},
                "required": ["arg_0"],
            },
        }
    ]
    assert "city" not in str(given["answer_schema"])
    assert back_named(TASK, answer) == CALL


# --- recordings --------------------------------------------------------------------------------


def test_a_recording_comes_back_as_it_was_packed(tmp_path: Path) -> None:
    rows = [
        a_row("one", "real/t", CALL, right=True),
        a_row("two", "real/t", OTHER, right=False),
        a_row("two", "renamed/t", CALL),
    ]
    look = {"look": "round-trip", "task_id": "t", "of": CALL, "reply": "Rome, 2 nights"}
    size = recordings.pack(tmp_path / "r.gz", tasks=[TASK], answers=rows, looks=[look])
    found = unpack(tmp_path / "r.gz")
    assert size == (tmp_path / "r.gz").stat().st_size
    assert found.tasks == {"t": TASK}
    assert found.of_kind("renamed") == {("two", "t"): rows[2]}
    assert list(found.answers.values()) == rows
    assert found.looks == (look,)


def test_a_half_written_line_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "answers.jsonl").write_text('{"a": 1}\n{"a": 2')
    assert recordings.rows(tmp_path / "answers.jsonl") == [{"a": 1}]


def test_only_tasks_with_a_right_and_a_wrong_answer_are_telling() -> None:
    rows = [
        a_row("one", "real/mixed", CALL),
        a_row("two", "real/mixed", OTHER),
        a_row("one", "real/wrong", OTHER),
        a_row("two", "real/wrong", OTHER),
        a_row("two", "renamed/wrong", CALL),
    ]
    assert telling(rows, lambda task_id, answer: answer == CALL) == {"mixed"}


# --- second looks ------------------------------------------------------------------------------


def said(look: str, *rows: dict[str, object]) -> dict[object, float]:
    given = looks.given(
        [Graded(TASK, None)], [a_row("one", "real/t", CALL), a_row("two", "real/t", OTHER)]
    )
    found = looks.scores(look, given, [{"look": look, "task_id": "t", **row} for row in rows])
    answers = given[0].answers
    return {answers[cluster]["arguments"]["city"]: x for (_, cluster), x in found.items()}


def test_a_round_trip_scores_each_answer_by_how_far_its_request_is_the_true_one() -> None:
    found = said(
        "round-trip",
        {"of": CALL, "reply": "Book a room in Rome for 2 nights"},
        {"of": OTHER, "reply": "Tell a joke"},
    )
    assert found == {"Rome": 1.0, "Room": 0.0}


def test_likeness_is_the_f1_of_the_telling_words() -> None:
    assert looks.alike("Book a room in Rome", "the room in Paris") == pytest.approx(0.4)


def test_of_functions_asked_one_at_a_time_those_that_decline_cast_no_vote() -> None:
    none = {"name": "none", "arguments": {}}
    found = said(
        "one-function",
        {"function": "book", "reply": CALL},
        {"function": "call", "reply": none},
        {"function": "cut", "reply": None},
    )
    assert found == {"Rome": 1.0, "Room": 0.0}


def test_where_no_function_is_called_one_function_at_a_time_says_nothing() -> None:
    assert said("one-function", {"function": "book", "reply": None}) == {}


def test_a_judge_is_heard_in_the_order_it_was_asked() -> None:
    found = said("judge", {"answers": [OTHER, CALL], "reply": [0.2, 0.9]})
    assert found == {"Room": 0.2, "Rome": 0.9}


def test_a_panel_votes_for_its_own_answer() -> None:
    assert said("panel", {"reply": CALL}) == {"Rome": 1.0, "Room": 0.0}


def test_what_was_asked_is_known_by_its_question_alone() -> None:
    asked = {"look": "panel", "task_id": "t"}
    assert looks.key_of({**asked, "reply": 1}) == looks.key_of({**asked, "reply": None})


def test_judge_and_panel_are_asked_each_by_its_own_code() -> None:
    """Both come in a file of the same name, as the harness before them may have."""
    given = looks.Given(TASK, {"a": CALL, "b": OTHER})
    provider = ScriptedProvider([json.dumps({"answer": CALL}), '{"scores": [0.2, 0.9]}'])
    assert looks.LOOKS["panel"].reply(given, {}, provider) == CALL
    assert looks.LOOKS["judge"].reply(given, {"answers": [CALL, OTHER]}, provider) == [0.2, 0.9]
    assert [request.temperature for request in provider.requests] == [0.0, 0.0]


def test_a_recording_laid_out_is_what_it_was_packed_from(tmp_path: Path) -> None:
    place = tmp_path / "again"
    real_answers.unpack(None, Namespace(material="reasoning", to=place))
    kept = unpack(RECORDED / "reasoning.jsonl.gz")
    assert recordings.rows(place / recordings.ANSWERS) == list(kept.answers.values())
    assert recordings.rows(place / recordings.LOOKS) == list(kept.looks)
