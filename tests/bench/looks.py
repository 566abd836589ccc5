"""Second looks at calls of functions, without gold: what the same model says of an answer asked otherwise.

`ask` puts the questions that are not on file yet; `scores` reads the replies. The model is the one
that answered, so no look here is an independent model; each stands in for one.
"""

from __future__ import annotations

import importlib.util
import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from harnesspro.checks.calls import asked_text, offered_functions
from harnesspro.checks.grounding import one_stem, words_of
from harnesspro.core.answers import cluster_of
from harnesspro.core.hashing import canonical_json, seed_from
from harnesspro.core.ports import ChatRequest, ModelProvider
from harnesspro.core.records import AnswerSpec, Task, Trial
from harnesspro.formats.content import harness_path
from harnesspro.formats.native import load_harness
from harnesspro.stages.ask_channels import JudgeQuestion, PanelQuestion
from tests.bench.in_process import MODEL, Graded, run_task

SPEC = AnswerSpec(kind="json", answer_schema="task")
NONE = "none"
_TO_A_REQUEST = (
    "You are given a function and one call of it. Write the request of a user that this call answers "
    "exactly: one or two plain sentences that name every value passed and nothing else. "
    "Reply with the request alone."
)
_ONE_ALONE = (
    "A request and one function are given. If the function does what the request asks, reply with its "
    "call, every value taken from the request; leave out arguments that are not required and that the "
    'request does not give. If it does something else, reply {"name": "none", "arguments": {}}. '
    "Reply with one JSON object only."
)
_STOP = frozenset(
    words_of("a an the of in at on for to and or by with is are what me my i you please")
)

Row = dict[str, Any]
Scores = Mapping[tuple[str, str], float]
"""(task_id, cluster) -> how right the look finds that answer."""


@dataclass(frozen=True, slots=True)
class Given:
    """A task with its distinct answers, by cluster."""

    task: Task
    answers: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Look:
    """One way of asking again."""

    questions: Callable[[Given], Iterator[Row]]
    """What is to be asked of a task; a row with `of` is about that one answer."""
    reply: Callable[[Given, Row, ModelProvider], Any]
    score: Callable[[Given, str, Sequence[Row]], float | None]
    """Of a cluster, from the rows of its task; None where they say nothing."""


def given(tasks: Sequence[Graded], answers: Sequence[Row]) -> list[Given]:
    """The tasks to which the rows on file hold two answers or more."""
    found: dict[str, dict[str, Any]] = {}
    known = {graded.task.task_id: graded.task for graded in tasks}
    for row in answers:
        kind, _, task_id = row["item"].partition("/")
        if kind == "real" and row["outcome"] == "answered" and task_id in known:
            distinct = found.setdefault(task_id, {})
            distinct.setdefault(_key(known[task_id], row["answer"]), row["answer"])
    return [Given(known[key], distinct) for key, distinct in found.items() if len(distinct) > 1]


def ask(look: str, given: Given, known: set[str], provider: ModelProvider) -> Iterator[Row]:
    """The rows of one look at one task that are not among the `known` keys, in order."""
    for question in LOOKS[look].questions(given):
        row = {"look": look, "task_id": given.task.task_id, **question}
        if key_of(row) not in known:
            yield {**row, "reply": LOOKS[look].reply(given, question, provider)}


def key_of(row: Row) -> str:
    """What was asked, without what was replied."""
    return canonical_json({key: value for key, value in row.items() if key != "reply"})


def scores(look: str, tasks: Sequence[Given], rows: Sequence[Row]) -> Scores:
    """What a look says of every answer it speaks of."""
    by_task: dict[str, list[Row]] = {}
    for row in rows:
        if row["look"] == look:
            by_task.setdefault(row["task_id"], []).append(row)
    found = {
        (given.task.task_id, cluster): LOOKS[look].score(
            given, cluster, by_task.get(given.task.task_id, [])
        )
        for given in tasks
        for cluster in given.answers
    }
    return {place: score for place, score in found.items() if score is not None}


# --- from the call back to a request -----------------------------------------------------------


def _each_answer(given: Given) -> Iterator[Row]:
    for cluster in sorted(given.answers):
        yield {"of": given.answers[cluster]}


def _told_back(given: Given, row: Row, provider: ModelProvider) -> str:
    """The request as the model makes it from the function called and its call; it sees no other."""
    call = row["of"]
    function = offered_functions(given.task).get(call["name"], {})
    text = f"Function:\n{json.dumps(function)}\n\nCall:\n{json.dumps(call)}"
    return _say(_TO_A_REQUEST, text, provider, n_tokens=120)


def _likeness(given: Given, cluster: str, rows: Sequence[Row]) -> float | None:
    told = [row for row in rows if _key(given.task, row["of"]) == cluster]
    return alike(asked_text(given.task), told[0]["reply"]) if told else None


def _own_words(given: Given, cluster: str, rows: Sequence[Row]) -> float | None:
    """What a round trip is worth without a model: the call's own words against the request's."""
    call = given.answers[cluster]
    return alike(asked_text(given.task), f"{call['name']} {json.dumps(call['arguments'])}")


def alike(told: str, again: str) -> float:
    """F1 of the telling words of two texts, words of one stem being one word."""
    ours, theirs = (set(words_of(text)) - _STOP for text in (told, again))
    if not ours or not theirs:
        return 0.0
    precision = sum(_among(word, ours) for word in theirs) / len(theirs)
    recall = sum(_among(word, theirs) for word in ours) / len(ours)
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _among(word: str, words: set[str]) -> bool:
    return word in words or any(one_stem(word, other) for other in words)


# --- one function at a time --------------------------------------------------------------------


def _each_function(given: Given) -> Iterator[Row]:
    for name in offered_functions(given.task):
        yield {"function": name}


def _alone(given: Given, row: Row, provider: ModelProvider) -> Any:
    function = offered_functions(given.task)[row["function"]]
    schema = given.task.answer_schema(SPEC) or {}
    own = [b for b in schema["oneOf"] if b["properties"]["name"]["const"] == row["function"]]
    none = {
        "type": "object",
        "properties": {
            "name": {"const": NONE},
            "arguments": {"type": "object", "maxProperties": 0},
        },
        "required": ["name", "arguments"],
        "additionalProperties": False,
    }
    text = f"Request: {asked_text(given.task)}\n\nFunction:\n{json.dumps(function)}"
    said = _say(_ONE_ALONE, text, provider, n_tokens=200, schema={"oneOf": [*own, none]})
    try:
        return json.loads(said)
    except ValueError:  # cut at the token limit
        return None


def _share_of_calls(given: Given, cluster: str, rows: Sequence[Row]) -> float | None:
    calls = [r["reply"] for r in rows if r["reply"] is not None and r["reply"].get("name") != NONE]
    cast = [_key(given.task, call) for call in calls]
    return cast.count(cluster) / len(cast) if cast else None


# --- the product's own judge and panel, on the same model --------------------------------------


def _once(given: Given) -> Iterator[Row]:
    yield {}


def _all_answers(given: Given) -> Iterator[Row]:
    """In an order drawn for the task."""
    answers = [given.answers[cluster] for cluster in sorted(given.answers)]
    random.Random(seed_from(0, given.task.task_id)).shuffle(answers)
    yield {"answers": answers}


def _judged(given: Given, row: Row, provider: ModelProvider) -> Any:
    question = JudgeQuestion(task=given.task.input, answers=tuple(row["answers"]))
    answer = _agent("judge", question.model_dump(mode="json"), given, provider)
    return answer["scores"] if answer else None


def _score_given(given: Given, cluster: str, rows: Sequence[Row]) -> float | None:
    for row in rows:
        for answer, score in zip(row["answers"], row["reply"] or [], strict=False):
            if _key(given.task, answer) == cluster:
                return float(score)
    return None


def _answered(given: Given, row: Row, provider: ModelProvider) -> Any:
    question = PanelQuestion(
        task=given.task.input,
        answer_kind=SPEC.kind,
        answer_schema=given.task.answer_schema(SPEC),
    )
    answer = _agent("panel", question.model_dump(mode="json"), given, provider)
    return answer["answer"] if answer else None


def _vote(given: Given, cluster: str, rows: Sequence[Row]) -> float | None:
    cast = [_key(given.task, row["reply"]) for row in rows if row["reply"] is not None]
    return float(cast[0] == cluster) if cast else None


def _agent(name: str, question: Any, given: Given, provider: ModelProvider) -> Any:
    folder = harness_path(f"builtin:{name}")
    task = Task(task_id=given.task.task_id, input={"question": question, "repair": ""})
    run = run_task(
        load_harness(folder),
        Graded(task, None),
        provider,
        draw="bench/0",
        temperature=0.0,
        solve=_entry(folder),
    )
    if run.result["outcome"] == "crashed":
        raise RuntimeError(f"{name}: {run.result['fault']}")
    return run.result["answer"] if run.result["outcome"] == "answered" else None


@cache
def _entry(folder: Path) -> Callable[[Any, Any], Any]:
    """The agent's own `solve`, whatever other `solver` was imported before."""
    spec = importlib.util.spec_from_file_location(f"{folder.name}_solver", folder / "solver.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    solve: Callable[[Any, Any], Any] = module.solve
    return solve


LOOKS: Mapping[str, Look] = {
    "round-trip": Look(_each_answer, _told_back, _likeness),
    "one-function": Look(_each_function, _alone, _share_of_calls),
    "judge": Look(_all_answers, _judged, _score_given),
    "panel": Look(_once, _answered, _vote),
    "own-words": Look(lambda given: iter(()), lambda *_: None, _own_words),
}


# --- asking ------------------------------------------------------------------------------------


def _say(
    system: str,
    text: str,
    provider: ModelProvider,
    *,
    n_tokens: int,
    schema: Mapping[str, Any] | None = None,
) -> str:
    shape = {"type": "json_schema", "json_schema": {"name": "reply", "schema": schema}}
    request = ChatRequest(
        model=MODEL,
        messages=({"role": "system", "content": system}, {"role": "user", "content": text}),
        max_output_tokens=n_tokens,
        temperature=0.0,
        seed=7,
        response_format=shape if schema else None,
    )
    return provider.complete(request, timeout_s=300.0).text


def _key(task: Task, answer: Any) -> str:
    trial = Trial(
        trial_id="look",
        harness_id="look",
        task_id=task.task_id,
        draw="look",
        outcome="answered",
        answer=answer,
        cost_nanos=0,
        latency_s=0.0,
    )
    return cluster_of(trial, SPEC.kind)
