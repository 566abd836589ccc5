import json
from collections.abc import Callable
from functools import partial
from threading import Lock
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from harnesspro.core.answers import NO_ANSWER, cluster
from harnesspro.core.ports import Dropped
from harnesspro.core.records import AnswerSpec
from harnesspro.stages.ask_channels import (
    MOST_CHARS,
    ChannelBench,
    Differing,
    JudgeQuestion,
    JudgeReply,
    PanelQuestion,
    PanelReply,
    ask_channels,
    differing,
    opinions_on_record,
    shuffled,
    votes_on_record,
)
from harnesspro.testing.doubles import MemoryLedger
from tests.unit.stages.trials import a_task, a_trial

JUDGE, PANEL = "judge:sim/a", "panel:sim/b"
SPEC = AnswerSpec(kind="json", answer_schema={"type": "object"})


class Voice:
    """An improver that replies by a function, from any thread, and keeps what it was asked."""

    def __init__(self, says: Callable[[Any], BaseModel | Dropped]) -> None:
        self.says, self.asked, self.lock = says, list[tuple[str, Any, str]](), Lock()

    def ask(self, agent, question, reply, *, key):
        with self.lock:
            self.asked.append((agent, question, key))
        said = self.says(question)
        assert isinstance(said, reply | Dropped)
        return said


def likes_long(question):
    return JudgeReply(scores=tuple(len(str(answer)) / 100 for answer in question.answers))


def key_of(task, answer):
    return cluster("json", "answered", answer)


def a_question(name="t1", *answers):
    found = answers or ({"a": 1}, {"a": 22})
    return Differing(a_task(name), {key_of(None, answer): answer for answer in found})


def bench(ledger=None, concurrency=1, **voices):
    names = {"judge": JUDGE, "panel": PANEL}
    return ChannelBench(
        voices={names[kind]: voice for kind, voice in voices.items()},
        ledger=ledger or MemoryLedger(),
        spec=SPEC,
        cluster_of=key_of,
        concurrency=concurrency,
    )


def test_only_tasks_whose_given_answers_differ_are_asked_about():
    trials = [
        a_trial("t1", 1, harness_id="a"),
        a_trial("t1", 1.0, harness_id="b"),
        a_trial("t2", 1, harness_id="a"),
        a_trial("t2", harness_id="b", outcome="malformed"),
        a_trial("t3", 1, harness_id="a"),
        a_trial("t3", 2, harness_id="b"),
        a_trial("t3", outcome="crashed", harness_id="c"),
    ]
    clusters = {t.trial_id: cluster("json", t.outcome, t.answer) for t in trials}
    tasks = {name: a_task(name) for name in ("t1", "t2", "t3")}

    (found,) = differing(trials, tasks, clusters=clusters)
    assert found.task == tasks["t3"]
    assert found.answers == {key_of(None, 1): 1, key_of(None, 2): 2}
    assert NO_ANSWER not in found.answers


def test_a_judge_sees_task_and_answers_alone_in_the_order_drawn_for_the_task():
    question, voice = a_question(), Voice(likes_long)
    ask_channels([question], bench(judge=voice))

    ((agent, asked, key),) = voice.asked
    assert agent == "judge"
    assert asked == JudgeQuestion(
        task={"request": "do t1"},
        answers=tuple(question.answers[place] for place in shuffled(question)),
    )
    assert key.startswith(f"{JUDGE}/t1/")
    assert set(asked.model_dump()) == {"task", "files", "answers"}


def test_scores_are_recorded_under_the_cluster_they_were_given_to():
    question, under_test = a_question("a/b"), bench(judge=Voice(likes_long))
    ask_channels([question], under_test)

    assert opinions_on_record(under_test.ledger) == {
        (JUDGE, "a/b", place): len(str(answer)) / 100 for place, answer in question.answers.items()
    }
    assert votes_on_record(under_test.ledger) == {}


def test_the_order_does_not_depend_on_how_the_answers_came_and_falls_either_way():
    one = a_question("t1", 1, 2, 3)
    other = Differing(one.task, dict(reversed(one.answers.items())))
    assert shuffled(one) == shuffled(other)

    first = [shuffled(a_question(f"t{n}"))[0] == min(a_question().answers) for n in range(40)]
    assert 10 <= sum(first) <= 30


def test_what_is_on_record_is_not_asked_again():
    ledger, question = MemoryLedger(), a_question()
    ask_channels([question], bench(ledger, judge=Voice(likes_long), panel=Voice(answers({"a": 1}))))
    silent = Voice(lambda question: pytest.fail("asked again"))
    ask_channels([question], bench(ledger, judge=silent, panel=silent))
    assert silent.asked == []


def test_a_new_answer_is_judged_beside_the_old_ones_whose_scores_stand():
    ledger = MemoryLedger()
    ask_channels([a_question("t1", 1, 2)], bench(ledger, judge=Voice(likes_long)))
    before = opinions_on_record(ledger)
    moody = Voice(lambda question: JudgeReply(scores=(1.0,) * len(question.answers)))
    ask_channels([a_question("t1", 1, 2, 3)], bench(ledger, judge=moody))

    ((_, asked, _),) = moody.asked
    assert len(asked.answers) == 3
    assert opinions_on_record(ledger) == {**before, (JUDGE, "t1", key_of(None, 3)): 1.0}


def answers(value):
    return lambda question: PanelReply(answer=value)


def test_a_panel_answers_the_task_itself_and_votes_for_the_cluster_of_its_answer():
    voice = Voice(answers({"a": 22.0}))
    under_test = bench(panel=voice)
    ask_channels([a_question()], under_test)

    question = PanelQuestion(
        task={"request": "do t1"}, answer_kind="json", answer_schema={"type": "object"}
    )
    assert voice.asked == [("panel", question, f"{PANEL}/t1")]
    assert votes_on_record(under_test.ledger) == {PANEL: {"t1": key_of(None, {"a": 22})}}
    assert opinions_on_record(under_test.ledger) == {}


def test_who_drops_out_leaves_no_word_and_may_be_asked_again():
    dropped = Dropped(agent="judge", reason="the run was stopped")
    short = JudgeReply(scores=(1.0,))
    ledger = MemoryLedger()
    for said in (dropped, short):
        voices = {"judge": Voice(partial(say, said)), "panel": Voice(drop)}
        ask_channels([a_question()], bench(ledger, **voices))
    assert (opinions_on_record(ledger), votes_on_record(ledger)) == ({}, {})

    ask_channels([a_question()], bench(ledger, judge=Voice(likes_long)))
    assert len(opinions_on_record(ledger)) == 2


def say(said, question):
    return said


def drop(question):
    return Dropped(agent="panel", reason="the run was stopped")


def test_a_question_too_long_is_not_asked_and_says_so_on_record():
    long = "x" * MOST_CHARS
    under_test = bench(judge=Voice(drop), panel=Voice(answers(long)))
    ask_channels([a_question("t1", long, "short")], under_test)

    assert under_test.voices[JUDGE].asked == []
    assert votes_on_record(under_test.ledger)[PANEL]["t1"] == key_of(None, long)
    ((key, value),) = under_test.ledger.all("dropped")
    assert key.startswith(f"judge/{JUDGE}/t1/")
    assert value["reason"].endswith("characters, and 200000 are asked at most")


def test_many_tasks_are_asked_about_at_once_and_all_are_recorded():
    questions = [a_question(f"t{n}") for n in range(30)]
    under_test = bench(concurrency=4, judge=Voice(likes_long), panel=Voice(answers({"a": 1})))
    ask_channels(questions, under_test)

    assert len(opinions_on_record(under_test.ledger)) == 60
    assert len(votes_on_record(under_test.ledger)[PANEL]) == 30


@pytest.mark.parametrize("scores", [[1.1], [-0.1], ["nan"], [None], "1", {}])
def test_a_score_that_is_none_is_refused(scores):
    with pytest.raises(ValidationError):
        JudgeReply.model_validate({"scores": scores})


@pytest.mark.parametrize("reply", [{}, {"answer": None}, {"answer": 1, "why": "x"}])
def test_a_panels_reply_holds_an_answer_and_nothing_else(reply):
    with pytest.raises(ValidationError):
        PanelReply.model_validate(reply)


def test_files_of_a_task_are_shown():
    task = a_task("t1", files={"a.txt": "seven"})
    voice = Voice(likes_long)
    ask_channels([Differing(task, a_question().answers)], bench(judge=voice))
    assert json.loads(voice.asked[0][1].model_dump_json())["files"] == {"a.txt": "seven"}
