"""Whether the words of a request speak for a call: its function, its places, its options, its numbers.

Each test passes where the words say nothing; none looks at what other answers there are.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import combinations
from typing import Any

from pydantic import JsonValue

from harnesspro.checks.calls import asked_text, offered_functions, parameters_of, texts_of
from harnesspro.checks.grounding import number_of, one_stem, source_of, words_of
from harnesspro.core.hashing import canonical_json
from harnesspro.core.records import AnswerSpec, Task

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_EMPTY_WORDS = frozenset(
    words_of(
        "a an the of in at on for to and or by with is are be was were it its this that these those "
        "from as if into per get gets find finds give gives given calculate calculates compute return "
        "returns using use used based specific particular certain any all some can could would should "
        "will may please me my i you your we our what which who when where how many much want need "
        "like do does function method value values number string provided provide following list "
        "about between over than more has have had let us also not no"
    )
)
_CLEARLY = 1.0
"""So many telling words more must speak for another function."""
_SAME_SENSE = (
    frozenset(words_of("from start origin source departure begin beginning initial")),
    frozenset(words_of("to end destination target arrival final finish")),
)
_BEFORE = frozenset(("from", "to"))
_NUMERAL = re.compile(r"(?<![\w.^])(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?!\.?\w)")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n")
_SCALES = (1, 60, 3600, 1000, 0.001, 24, 7, 12, 100, 0.01)
"""What a number is multiplied by when its unit is changed."""
_TAKEN_BACK = re.compile(r"\b(not|instead|rather|correction|wait|sorry|actually|i mean)\b", re.I)

Placed = tuple[str, JsonValue, Sequence[int]]
"""An argument, its value, and where the request tells that value."""


# --- the function ------------------------------------------------------------------------------


def names_its_function(task: Task, spec: AnswerSpec, answer: JsonValue) -> bool:
    """No other function offered has clearly more of the request's words in its name and description.

    A word weighs log(n / k) where k of the n functions have it. Silent where one is offered.
    """
    name = answer.get("name") if isinstance(answer, dict) else None
    weights = _weights(task)
    if not isinstance(name, str) or name not in weights or len(weights) < 2:
        return True
    return weights[name] > max(weights.values()) - _CLEARLY * math.log(len(weights))


def _weights(task: Task) -> Mapping[str, float]:
    """Function -> weight of the request's words that it has."""
    functions = {
        name: f"{name} {function.get('description') or ''}"
        for name, function in offered_functions(task).items()
    }
    return _weighed(canonical_json(functions), asked_text(task)) if functions else {}


@lru_cache(maxsize=512)
def _weighed(functions_text: str, request: str) -> Mapping[str, float]:
    functions = {
        name: frozenset(filter(_tells, words_of(_spaced(text))))
        for name, text in json.loads(functions_text).items()
    }
    asked = set(filter(_tells, words_of(request)))
    spoken = {
        name: {word for word in asked if _has(words, word)} for name, words in functions.items()
    }
    count = {word: sum(word in has for has in spoken.values()) for word in asked}
    return {
        name: sum(math.log(len(functions) / count[word]) for word in sorted(has))
        for name, has in spoken.items()
    }


def _spaced(name: str) -> str:
    return _CAMEL.sub(" ", name).replace("_", " ")


def _tells(word: str) -> bool:
    return word not in _EMPTY_WORDS and not word.isdecimal()


def _has(words: frozenset[str], word: str) -> bool:
    return word in words or any(one_stem(word, other) for other in words)


# --- the places --------------------------------------------------------------------------------


def in_their_places(task: Task, spec: AnswerSpec, answer: JsonValue) -> bool:
    """No value told once is passed twice, and no two would both be nearer to their names exchanged.

    The names of an argument are those of its words that the other has not and the request has; "from"
    and "to" stand for what starts and ends. Silent where a value or a name is not told.
    """
    if parameters_of(task.answer_schema(spec), answer) is None:
        return True
    assert isinstance(answer, dict)
    arguments = answer["arguments"]
    assert isinstance(arguments, dict)
    text = words_of(asked_text(task))
    told: list[Placed] = [
        (key, value, places)
        for key, value in arguments.items()
        if isinstance(value, str | int | float) and not isinstance(value, bool)
        if (places := _places(text, value))
    ]
    return not any(_doubled(a, b) or _crossed(text, a, b) for a, b in combinations(told, 2))


def _doubled(a: Placed, b: Placed) -> bool:
    """Whether one telling serves two arguments."""
    return words_of(str(a[1])) == words_of(str(b[1])) and len(a[2]) == 1


def _crossed(text: Sequence[str], a: Placed, b: Placed) -> bool:
    """Whether both values stand strictly nearer to the other one's name."""
    if isinstance(a[1], str) != isinstance(b[1], str) or a[1] == b[1]:
        return False
    own_a, own_b = _names(a[0], but=b[0]), _names(b[0], but=a[0])
    here = _distance(text, own_a, a[2]), _distance(text, own_b, b[2])
    there = _distance(text, own_b, a[2]), _distance(text, own_a, b[2])
    return there[0] < here[0] and there[1] < here[1]


def _names(key: str, *, but: str) -> frozenset[str]:
    words = frozenset(words_of(_spaced(key))) - frozenset(words_of(_spaced(but)))
    return words.union(*(same for same in _SAME_SENSE if words & same))


def _places(text: Sequence[str], value: str | float) -> list[int]:
    """Where its words stand in a row, or a number stands as a word."""
    words = words_of(str(value))
    n = len(words)
    rows = [i for i in range(len(text) - n + 1) if n and text[i : i + n] == words]
    if isinstance(value, str):
        return rows
    return rows + [i for i, word in enumerate(text) if word.isalpha() and number_of(word) == value]


def _distance(text: Sequence[str], names: frozenset[str], places: Sequence[int]) -> float:
    """The least number of words between a place and a name; infinite where none is told.

    What is "from" or "to" somewhere stands behind that word.
    """
    named = [i for i, word in enumerate(text) if word in names]
    apart = (j - i if text[i] in _BEFORE else abs(j - i) for i in named for j in places)
    return min((gap for gap in apart if gap > 0), default=math.inf)


# --- what the request tells --------------------------------------------------------------------


def takes_the_option_told(task: Task, spec: AnswerSpec, answer: JsonValue) -> bool:
    """Where the request names exactly one option of an argument's enum, no other one is passed."""
    told = source_of(asked_text(task))
    for value, schema in _arguments(task, spec, answer):
        options = schema.get("enum")
        if not isinstance(options, list) or value not in options or told.has(value):
            continue
        named = [o for o in options if isinstance(o, str) and told.names(o)]
        if len(named) == 1:
            return False
    return True


def uses_the_numbers(task: Task, spec: AnswerSpec, answer: JsonValue) -> bool:
    """Of the sentence that names most of the values passed, every numeral is passed, in some unit.

    Silent where the request takes something back, or no sentence names a value.
    """
    text = asked_text(task)
    if parameters_of(task.answer_schema(spec), answer) is None or _TAKEN_BACK.search(text):
        return True
    assert isinstance(answer, dict)
    values = list(texts_of(answer["arguments"]))
    passed = source_of("\n".join(values))
    sentences = _SENTENCE_END.split(text)
    named = [sum(source_of(one).names(value) for value in values) for one in sentences]
    most = max(named)
    told = [one for one, n in zip(sentences, named, strict=True) if n == most]
    return most == 0 or any(not _left_out(one, passed.numbers) for one in told)


def _left_out(sentence: str, passed: frozenset[float]) -> bool:
    told = [float(numeral.replace(",", "")) for numeral in _NUMERAL.findall(sentence)]
    return not all(
        any(math.isclose(number * scale, own) for scale in _SCALES for own in passed)
        for number in told
    )


def _arguments(
    task: Task, spec: AnswerSpec, answer: JsonValue
) -> Iterator[tuple[JsonValue, Mapping[str, Any]]]:
    """The values passed, each with its schema."""
    parameters = parameters_of(task.answer_schema(spec), answer)
    if parameters is None:
        return
    assert isinstance(answer, dict)
    arguments, known = answer["arguments"], parameters.get("properties")
    assert isinstance(arguments, dict)
    for key, value in arguments.items():
        schema = known.get(key) if isinstance(known, dict) else None
        if isinstance(schema, dict):
            yield value, schema
