"""`sim/small` and its kin: workers whose success and length respond to the request, by a law.

The law. A case has a difficulty d: uniform in [0, 0.88) and heavy-tailed beyond, -0.05, 0 or +0.08
by family. A draw is right iff d + q + e < skill, with q ~ Normal(0, QUIRK_SD) from the case and the
way it is asked (all the law reads in a request but temperature: two ways of asking err on cases of
their own, the same way asked twice on the same ones), e ~ Normal(0, NOISE_SD * temperature) from the
request's seed and content, and

    skill = 0.75 + 0.05 [told to go through the options] + 0.02 min(examples, 2)
            - 0.02 min(junk paragraphs, 3) - 0.06 [family `trace` and no room to think]
            - 0.02 [low effort]

A wrong draw names the case's one lure, or with chance 0.25 * temperature any other wrong option.
Told to go by the spelling, it names the lure of MISLED_SHARE of the cases whatever the draw:
consistent, and wrong. Room to think = a free text reply not bound to the answer alone. Such a reply
goes through the options aloud (about 70 tokens, twice that when told to reason at length, half at
low effort) and ends with the answer. Malformed draws (two options named at the end): by a weak
request for form, 0.97 on the 8 % of cases that invite it and 0.01 else; by a strict one 0.10 and 0;
never where a schema binds the reply. A reply longer than `max_output_tokens` is cut there. At
temperature 0 the seed says nothing: the same request has the same reply.

Minds. `sim/small` is the law. `sim/heavy`: thinking aloud runs 4 u^(-1/1.2) times as long (40 at
most) on RAMBLE_SHARE of the cases, in lines that name no option. `sim/twin` shares difficulties and
lures with `sim/small`, with luck of its own: the same misconceptions. `sim/other` has difficulties
and lures of its own: where it errs tells nothing of where `sim/small` does.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from statistics import NormalDist
from typing import Any

from harnesspro.core.ports import ChatRequest
from harnesspro.providers.sim_request import (
    Features,
    all_text,
    features_of,
    has_free_text,
    options_of,
    properties,
    schema_of,
)
from harnesspro.providers.sim_tasks import Case, case_in, uniform

NOISE_SD = 0.07
QUIRK_SD = 0.15
STRAY_RATE = 0.25
FORM_PRONE_SHARE = 0.08
MISLED_SHARE = 0.25
RAMBLE_SHARE = 0.15

ALOUD = (
    "sits close to several of the notes, though not to all of them.",
    "shares a use with two of the notes and nothing with the rest.",
    "would need a longer way round, yet it is not ruled out.",
    "looks right at first and less so on a second reading.",
)
RAMBLING = "The notes may yet be read in another way, and the first reading need not hold."


@dataclass(frozen=True, slots=True)
class Mind:
    """What tells one simulated worker from another."""

    salt: str = ""
    """Of its difficulties and lures; equal salts have the same ones."""
    heavy: bool = False
    """Whether its thinking aloud is heavy-tailed."""


MINDS: Mapping[str, Mind] = {
    "sim/small": Mind(),
    "sim/heavy": Mind(heavy=True),
    "sim/twin": Mind(),
    "sim/other": Mind(salt="other"),
}


def skill(features: Features, family: str) -> float:
    """The difficulty below which a noiseless draw is right."""
    return (
        0.75
        + 0.05 * features.goes_through_options
        + 0.02 * min(features.n_examples, 2)
        - 0.02 * min(features.n_junk, 3)
        - 0.06 * (family == "trace" and not features.thinks)
        - 0.02 * features.low_effort
    )


def reply_text(request: ChatRequest, salt: str) -> str:
    """The whole reply before any cut; `salt` is the draw's own randomness."""
    case, mind = case_in(all_text(request), options_of(request)), MINDS[request.model]
    if case is None:
        return "I see no case with options here."
    features, schema = features_of(request), schema_of(request)
    choice = choice_of(case, features, mind=mind, salt=salt)
    if schema is not None and choice not in case.options:
        choice = case.lure(mind.salt)  # what an impossible probe asks for cannot be said
    aloud = _aloud(case, features, mind=mind, salt=salt) if _speaks(features, schema) else []
    if schema is not None:
        return json.dumps(_filled(schema, choice=choice, aloud=" ".join(aloud)))
    return "\n".join([*aloud, _last_line(case, features, choice=choice, salt=salt)])


def choice_of(case: Case, features: Features, *, mind: Mind, salt: str) -> str:
    """The option a draw settles on."""
    if features.shortcut and is_misled(case.key):
        return case.lure(mind.salt)
    noise = NOISE_SD * features.temperature * normal("noise", case.key, salt)
    lure = case.lure(mind.salt)
    taken = case.difficulty(mind.salt) + quirk(case, features, mind) + noise
    if taken < skill(features, case.family):
        return case.right
    strays = [option for option in case.options if option not in (case.right, lure)]
    if strays and uniform("stray", case.key, salt) < STRAY_RATE * features.temperature:
        return strays[int(uniform("which", case.key, salt) * len(strays))]
    return lure


def quirk(case: Case, features: Features, mind: Mind) -> float:
    """What a way of asking adds to a case's difficulty, for this mind."""
    way = astuple(replace(features, temperature=0.0))
    return QUIRK_SD * normal("quirk", mind.salt, case.key, *way)


def normal(*labels: object) -> float:
    """A standard normal number that depends on the labels alone."""
    return NormalDist().inv_cdf(min(max(uniform(*labels), 1e-9), 1 - 1e-9))


def is_misled(key: str) -> bool:
    """Whether going by the spelling leads astray on a case."""
    return uniform("misled", key) < MISLED_SHARE


def malformed_chance(features: Features, *, prone: bool) -> float:
    """How often a free text reply names two options at its end."""
    if features.strict_form or features.answer_only:
        return 0.10 if prone else 0.0
    return 0.97 if prone else 0.01


def ramble_factor(level: float) -> float:
    """How many times as long thinking aloud runs on a case that makes it ramble."""
    return float(min(4.0 * max(level, 1e-9) ** (-1 / 1.2), 40.0))


def _speaks(features: Features, schema: Mapping[str, Any] | None) -> bool:
    """Whether anything is said beside the answer."""
    return features.thinks if schema is None else has_free_text(schema)


def _last_line(case: Case, features: Features, *, choice: str, salt: str) -> str:
    prone = uniform("form-prone", case.key) < FORM_PRONE_SHARE
    if uniform("form", case.key, salt) < malformed_chance(features, prone=prone):
        other = next((option for option in case.options if option != choice), choice)
        return f"Hard to tell; it may be {choice}, or else {other}."
    if features.answer_only:
        return f"The answer is {choice}."
    return f"Taken together, the answer is {choice}."


def _aloud(case: Case, features: Features, *, mind: Mind, salt: str) -> list[str]:
    lines = [
        f"{'Again, ' * turn}{option} "
        f"{ALOUD[int(uniform('phrase', salt, turn, option) * len(ALOUD))]}"
        for turn in range(2 if features.at_length else 1)
        for option in case.options
    ]
    if features.low_effort:
        lines = lines[: len(lines) // 2]
    if mind.heavy and uniform("rambles", case.key) < RAMBLE_SHARE:
        factor = ramble_factor(uniform("ramble", case.key))
        lines += [RAMBLING] * round((factor - 1) * len(lines))
    return lines


def _filled(schema: Mapping[str, Any], *, choice: str, aloud: str) -> Any:
    """A value that fits the schema: the choice where it may stand, thinking in free text."""
    options: Sequence[Any] | None = schema.get("enum")
    if isinstance(options, list) and options:
        return choice if choice in options else options[0]
    if schema.get("type") == "object" or "properties" in schema:
        inner = properties(schema).items()
        return {key: _filled(value, choice=choice, aloud=aloud) for key, value in inner}
    empty = {"array": [], "integer": 0, "number": 0, "boolean": False, "null": None}
    return empty.get(str(schema.get("type")), aloud)
