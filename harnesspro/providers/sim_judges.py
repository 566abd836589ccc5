"""Simulated judges and panel members: opinions of declared quality, asked for in JSON.

A panel question is `{"task", "answer_kind", ...}`, its reply `{"answer": OPTION}`. A judge question
is `{"task", "answers": [...]}`, its reply `{"scores": [a number in [0, 1] an answer]}`. The same
question has the same reply: luck is a keyed hash of the judge's name and the case.

The law of a judge. With chance `hit` a case's right answer scores 0.9, else 0.1; every wrong option
scores between 0.3 and 0.5; so of pairs that differ, one of them right, it has `hit` the right way
round. On a probe `hit` is PROBE_BONUS higher. An answer that is none of the options (and not what a
probe asks for) scores 0. Where a judge is fooled it gives the lure of `sim/small` 1.0.

    sim/judge          hit 0.90
    sim/judge-70       hit 0.70
    sim/judge-fooled   hit 0.90, fooled on every case: it shares the misconceptions of `sim/small`
    sim/judge-exam     as `sim/judge` on probes, fooled on every task: no probe can show it
    sim/judge-half     hit 0.90, fooled on half of the cases: half invalid, and shared
    sim/judge-gamed    hit 0.90, fooled on the cases where going by the spelling leads astray
    sim/judge-tilted   hit 0.98 where the right answer is listed first, 0.70 where it is not

A worker (`sim/small`, `sim/other`, ...) asked as a judge scores its own answer 1 and others 0; asked
as a panel member it answers with skill 0.80, noise at the request's temperature, and no trouble
with form. A judge asked as a panel member names the option it scores highest. Of a task that is
no case of the simulator a judge says 0.5 of every answer.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from harnesspro.core.ports import ChatRequest
from harnesspro.providers.sim_request import Features
from harnesspro.providers.sim_tasks import Case, case_in, uniform
from harnesspro.providers.sim_worker import MINDS, choice_of, is_misled

PROBE_BONUS = 0.02

NO_CASE = "I see no case with options here."


@dataclass(frozen=True, slots=True)
class Judge:
    """What is declared of a simulated judge."""

    hit: float
    hit_later: float | None = None
    """Where the right answer is not the first listed; None: as `hit`."""
    fooled: Literal["never", "always", "on tasks", "on half", "where misled"] = "never"


JUDGES: Mapping[str, Judge] = {
    "sim/judge": Judge(0.90),
    "sim/judge-70": Judge(0.70),
    "sim/judge-fooled": Judge(0.90, fooled="always"),
    "sim/judge-exam": Judge(0.90, fooled="on tasks"),
    "sim/judge-half": Judge(0.90, fooled="on half"),
    "sim/judge-gamed": Judge(0.90, fooled="where misled"),
    "sim/judge-tilted": Judge(0.98, hit_later=0.70),
}


def opinion(request: ChatRequest, question: Mapping[str, Any], *, salt: str) -> str:
    """The reply to a panel or judge question; `salt` is a worker's luck."""
    case, answers = case_of(question["task"]), question.get("answers")
    if not isinstance(answers, list):
        return NO_CASE if case is None else json.dumps({"answer": _answer(request, case, salt)})
    if case is None:
        return json.dumps({"scores": [0.5] * len(answers)})
    if request.model in MINDS:
        own = _answer(request, case, salt)
        return json.dumps({"scores": [float(_is(answer, own)) for answer in answers]})
    return json.dumps({"scores": scores(request.model, case, answers)})


def case_of(task: object) -> Case | None:
    """The case a task's input holds, its options being `options` or its schema's `enum`."""
    if not isinstance(task, dict):
        return None
    schema = task.get("answer_schema")
    listed = task.get("options") or (schema.get("enum") if isinstance(schema, dict) else None)
    options = [str(option) for option in listed] if isinstance(listed, list) else []
    texts = [value for value in task.values() if isinstance(value, str)]
    return case_in("\n".join(texts), options)


def scores(model: str, case: Case, answers: Sequence[object]) -> list[float]:
    """What a judge says of each answer to a case."""
    judge = JUDGES[model]
    first = bool(answers) and _is(answers[0], case.right)
    hit = judge.hit if first or judge.hit_later is None else judge.hit_later
    hit = min(hit + PROBE_BONUS * case.is_probe, 1.0)
    of_right = 0.9 if uniform("judge", model, case.key) < hit else 0.1
    lure = case.lure() if is_fooled(judge, case) else None
    return [_score(model, case, answer, of_right=of_right, fooled_by=lure) for answer in answers]


def is_fooled(judge: Judge, case: Case) -> bool:
    """Whether a judge takes the lure of a case for right."""
    return {
        "never": False,
        "always": True,
        "on tasks": not case.is_probe,
        "on half": uniform("half", case.key) < 0.5,
        "where misled": is_misled(case.key),
    }[judge.fooled]


def _score(
    model: str, case: Case, answer: object, *, of_right: float, fooled_by: str | None
) -> float:
    if fooled_by is not None and _is(answer, fooled_by):
        return 1.0
    if _is(answer, case.right):
        return of_right
    if not any(_is(answer, option) for option in case.options):
        return 0.0
    return round(0.3 + 0.2 * uniform("wrong", model, case.key, _plain(answer)), 4)


def _answer(request: ChatRequest, case: Case, salt: str) -> str:
    if request.model in JUDGES:
        said = scores(request.model, case, case.options)
        return case.options[max(range(len(said)), key=said.__getitem__)]
    temperature = 1.0 if request.temperature is None else request.temperature
    features = Features(goes_through_options=True, temperature=temperature)
    return choice_of(case, features, mind=MINDS[request.model], salt=salt)


def _is(answer: object, option: str) -> bool:
    return _plain(answer) == option.casefold()


def _plain(answer: object) -> str:
    return str(answer).strip().casefold()
