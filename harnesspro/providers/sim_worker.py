"""`sim/small`: a worker whose success and length respond to the request, by a law.

The law. A task (its nonce) has a difficulty d, uniform in [0, 1). A draw is right iff
d + e < skill, with e ~ Normal(0, NOISE_SD * temperature) from the request's seed and content, and

    skill = 0.75 + 0.05 [told to go through the options] + 0.015 min(examples, 2)
            - 0.02 min(junk paragraphs, 3) - 0.06 [family `trace` and no room to think]
            - 0.02 [low effort]

A wrong draw names the task's one lure, or with chance 0.25 * temperature any other wrong option.
Room to think = a free text reply not bound to the answer alone. Such a reply goes through the
options aloud (about 70 tokens, twice that when told to reason at length, half at low effort) and
ends with the answer. Malformed draws (two options named at the end): by a weak request for form,
0.97 on the 8 % of tasks that invite it and 0.01 else; by a strict one 0.10 and 0; never where a
schema binds the reply. A reply longer than `max_output_tokens` is cut there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

from harnesspro.core.ports import ChatRequest
from harnesspro.providers.sim_tasks import family_of, lure_of, nonce_in, true_option, uniform

NOISE_SD = 0.07
FORM_PRONE_SHARE = 0.08

_OPTIONS_LINE = re.compile(r"^\s*options:\s*(.+)$", re.IGNORECASE | re.MULTILINE)
_GO_THROUGH = re.compile(
    r"\b(check|compare|weigh|consider|test)\b[^.\n]*\b(each|every|all|the)\b[^.\n]*\boptions?\b",
    re.IGNORECASE,
)
_AT_LENGTH = re.compile(
    r"step[ -]by[ -]step|at length|in detail|explain your|show your (work|reasoning)|think aloud",
    re.IGNORECASE,
)
_ANSWER_ONLY = re.compile(
    r"\b(only|just|nothing but)\b[^.\n]*\b(answer|options?|word|json|value)\b"
    r"|\b(answer|options?|word|json|value)\b[^.\n]*\b(only|alone|nothing else)\b"
    r"|\b(no|without|do not give|don't give)( any)? (explanation|reasoning|preamble|prose)"
    r"|\bdo not explain\b",
    re.IGNORECASE,
)
_STRICT_FORM = re.compile(
    r"\b(exactly|must|always)\b[^.\n]*\b(answers?|options?|reply|words?|line|json|form|format)\b"
    r"|`?answer: ?[`<{A-Z]",
    re.IGNORECASE,
)
_PURPOSE = re.compile(
    r"\b(cases?|questions?|options?|answers?|repl(y|ies)|words?|json|examples?|choose|explain"
    r"|think|reason|format)\b",
    re.IGNORECASE,
)
_EXAMPLE = re.compile(r"^\s*(#+ *)?example\b", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Features:
    """What the law reads in a request."""

    goes_through_options: bool
    at_length: bool
    answer_only: bool
    strict_form: bool
    n_examples: int
    n_junk: int
    bound: bool
    """A schema binds the reply and leaves no free text in it."""
    low_effort: bool
    temperature: float

    @property
    def thinks(self) -> bool:
        """Whether there is room to think."""
        return not self.answer_only and not self.bound


def features_of(request: ChatRequest) -> Features:
    """Read the request; instructions are all text but the case itself."""
    told = "\n\n".join(_instructions(request))
    schema = schema_of(request)
    return Features(
        goes_through_options=bool(_GO_THROUGH.search(told)),
        at_length=bool(_AT_LENGTH.search(told)),
        answer_only=bool(_ANSWER_ONLY.search(told)),
        strict_form=bool(_STRICT_FORM.search(told)),
        n_examples=len(_EXAMPLE.findall(told)),
        n_junk=sum(_is_junk(paragraph) for paragraph in re.split(r"\n\s*\n", told)),
        bound=schema is not None and not _has_free_text(schema),
        low_effort=request.effort in ("minimal", "low", "none"),
        temperature=1.0 if request.temperature is None else request.temperature,
    )


def skill(features: Features, family: str) -> float:
    """The difficulty below which a noiseless draw is right."""
    return (
        0.75
        + 0.05 * features.goes_through_options
        + 0.015 * min(features.n_examples, 2)
        - 0.02 * min(features.n_junk, 3)
        - 0.06 * (family == "trace" and not features.thinks)
        - 0.02 * features.low_effort
    )


def reply_text(request: ChatRequest, salt: str) -> str:
    """The whole reply before any cut; `salt` is the draw's own randomness."""
    nonce, options = nonce_in(_all_text(request)), options_of(request)
    if nonce is None or len(options) < 2:
        return "I see no case with options here."
    features = features_of(request)
    choice = _choice(nonce, options, features, salt=salt)
    schema = schema_of(request)
    if schema is not None:
        aloud = " ".join(_aloud(options, features, salt=salt))
        return json.dumps(_filled(schema, choice=choice, aloud=aloud))
    if features.answer_only:
        last = f"The answer is {choice}."
    else:
        last = f"Taken together, the answer is {choice}."
    if uniform("form", nonce, salt) < _malformed_chance(nonce, features):
        other = next(option for option in options if option != choice)
        last = f"Hard to tell; it may be {choice}, or else {other}."
    if not features.thinks:
        return last
    return "\n".join([*_aloud(options, features, salt=salt), last])


def options_of(request: ChatRequest) -> list[str]:
    """The options the request names: in its text, else in the schema's enum."""
    found = _OPTIONS_LINE.findall(_all_text(request))
    if found:
        return [word.strip(" .`'\"") for word in found[-1].split(",")]
    return [str(value) for value in _enum_in(schema_of(request) or {})]


def schema_of(request: ChatRequest) -> Mapping[str, Any] | None:
    """The JSON Schema that binds the reply, or None."""
    form = request.response_format
    if not form or form.get("type") != "json_schema":
        return None
    wrapped = form.get("json_schema")
    schema = wrapped.get("schema") if isinstance(wrapped, dict) else None
    return schema if isinstance(schema, dict) else None


def _choice(nonce: str, options: Sequence[str], features: Features, *, salt: str) -> str:
    noise = 0.0
    if features.temperature > 0:
        level = min(max(uniform("noise", nonce, salt), 1e-9), 1 - 1e-9)
        noise = NormalDist(0, NOISE_SD * features.temperature).inv_cdf(level)
    right, lure = true_option(nonce, options), lure_of(nonce, options)
    if uniform("difficulty", nonce) + noise < skill(features, family_of(nonce)):
        return right
    strays = [option for option in options if option not in (right, lure)]
    if strays and uniform("stray", nonce, salt) < 0.25 * features.temperature:
        return strays[int(uniform("which", nonce, salt) * len(strays))]
    return lure


def _malformed_chance(nonce: str, features: Features) -> float:
    prone = uniform("form-prone", nonce) < FORM_PRONE_SHARE
    if features.strict_form or features.answer_only:
        return 0.10 if prone else 0.0
    return 0.97 if prone else 0.01


def _aloud(options: Sequence[str], features: Features, *, salt: str) -> list[str]:
    phrases = (
        "sits close to several of the notes, though not to all of them.",
        "shares a use with two of the notes and nothing with the rest.",
        "would need a longer way round, yet it is not ruled out.",
        "looks right at first and less so on a second reading.",
    )
    rounds = 2 if features.at_length else 1
    lines = [
        f"{'Again, ' * turn}{option} "
        f"{phrases[int(uniform('phrase', salt, turn, option) * len(phrases))]}"
        for turn in range(rounds)
        for option in options
    ]
    return lines[: len(lines) // 2] if features.low_effort else lines


def _instructions(request: ChatRequest) -> Iterator[str]:
    for message in request.messages:
        text = content_text(message)
        if message.get("role") == "system" or nonce_in(text) is None:
            yield text
        else:
            case = re.split(r"\n\s*\n", text)
            yield from (part for part in case if nonce_in(part) is None and "ptions:" not in part)


def _is_junk(paragraph: str) -> bool:
    """Twelve words or more, none of which has to do with the job."""
    return len(paragraph.split()) >= 12 and not _PURPOSE.search(paragraph)


def _all_text(request: ChatRequest) -> str:
    return "\n".join(content_text(message) for message in request.messages)


def content_text(message: Mapping[str, Any]) -> str:
    """A message's text, whether one string or a list of content parts."""
    content = message.get("content")
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def _enum_in(schema: Mapping[str, Any]) -> list[Any]:
    if isinstance(schema.get("enum"), list):
        return list(schema["enum"])
    for inner in _properties(schema).values():
        found = _enum_in(inner)
        if found:
            return found
    return []


def _properties(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema's properties that are schemas; a harness may send anything for one."""
    found = schema.get("properties")
    inner = found.items() if isinstance(found, dict) else ()
    return {key: value for key, value in inner if isinstance(value, dict)}


def _has_free_text(schema: Mapping[str, Any]) -> bool:
    if schema.get("type") == "string" and "enum" not in schema:
        return True
    return any(_has_free_text(value) for value in _properties(schema).values())


def _filled(schema: Mapping[str, Any], *, choice: str, aloud: str) -> Any:
    """A value that fits the schema: the choice where it may stand, thinking in free text."""
    if isinstance(schema.get("enum"), list) and schema["enum"]:
        return choice if choice in schema["enum"] else schema["enum"][0]
    if schema.get("type") == "object" or "properties" in schema:
        properties = _properties(schema)
        return {
            key: _filled(value, choice=choice, aloud=aloud) for key, value in properties.items()
        }
    empty = {"array": [], "integer": 0, "number": 0, "boolean": False, "null": None}
    return empty.get(str(schema.get("type")), aloud)
