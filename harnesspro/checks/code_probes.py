"""New coding tasks whose right program is known: to write a function, or to mend a bug in it.

The truth comes from `code_library`. Only its functions and their mutants, which end by themselves,
are run here; what anyone answers runs in the sandbox.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from pydantic import JsonValue

from harnesspro.checks.code_inputs import inputs_of
from harnesspro.checks.code_library import REFERENCES, Reference
from harnesspro.checks.code_mutants import mutants_of
from harnesspro.checks.code_task import asked_of
from harnesspro.checks.code_values import TooBigError, canonical, encode
from harnesspro.checks.kind import request_key
from harnesspro.core.records import AnswerSpec, Probe, Task

ENDINGS = (
    "",
    "_of",
    "_in",
    "_for",
    "_now",
    "_here",
    "_again",
    "_at_once",
    "_for_report",
    "_of_batch",
)
N_MUTANTS = 4
_N_EXAMPLES = 3
_RAISED = (
    ArithmeticError,
    LookupError,
    TypeError,
    ValueError,
    AttributeError,
    NameError,
    TooBigError,
)
_MEND = "This function has a bug: it does not do what its docstring says. Give it back mended.\n\n"


class Made(NamedTuple):
    """A function with its examples, and programs one step away that behave otherwise."""

    name: str
    source: str
    prompt: str
    """The source up to the end of its docstring."""
    wrong: tuple[str, ...]


@cache
def made(reference: Reference, name: str, k: int) -> Made:
    """The function under this name; its examples are what it gives itself."""
    bare = reference.source(name, k)
    asked = asked_of(bare)
    assert asked is not None
    inputs = inputs_of(asked, ())
    given = behaviour_of(bare, name, inputs)
    telling = [(args, words) for args, words in zip(inputs, given, strict=True) if any(args)]
    spread = telling[:: max(1, len(telling) // _N_EXAMPLES)][:_N_EXAMPLES]
    examples = "".join(
        f"\n    >>> {name}({', '.join(map(repr, args))})\n    {_run(bare, name, args)!r}\n"
        for args, _ in spread
    )
    source = reference.source(name, k, examples=examples)
    prompt = source[: source.rindex('"""') + 3] + "\n"
    wrong = (text for text in mutants_of(source) if behaviour_of(text, name, inputs) != given)
    return Made(name, source, prompt, tuple(wrong))


def behaviour_of(source: str, name: str, inputs: Sequence[tuple[Any, ...]]) -> list[Any]:
    """What a function of the library or its mutant gives on every input, or raises."""
    found: list[Any] = []
    for args in inputs:
        try:
            found.append(canonical(encode(_run(source, name, args))))
        except _RAISED as error:
            found.append(["raised", type(error).__name__])
    return found


def _run(source: str, name: str, args: tuple[Any, ...]) -> Any:
    return _loaded(source, name)(*(list(x) if isinstance(x, list) else x for x in args))


@cache
def _loaded(source: str, name: str) -> Any:
    names: dict[str, Any] = {}
    exec(source, names)  # noqa: S102 - the library's own text, never an answer
    return names[name]


def probe(spec: AnswerSpec, task: Task, rng: np.random.Generator) -> tuple[Task, JsonValue] | None:
    """A function to write or to mend, in the shape of the given task; None for another language.

    Tasks that bring `code` to be mended are followed by such; of others every second is mended, its
    code in the request.
    """
    if spec.language not in (None, "python"):
        return None
    reference = REFERENCES[int(rng.integers(len(REFERENCES)))]
    name = reference.name + ENDINGS[int(rng.integers(len(ENDINGS)))]
    function = made(reference, name, int(rng.choice(reference.constants)))
    to_mend = function.wrong[int(rng.integers(len(function.wrong)))]
    has_code = isinstance(task.input, dict) and isinstance(task.input.get("code"), str)
    mends = has_code or rng.random() < 0.5
    made_input = _input(task, function, code=to_mend if mends else None)
    return task.model_copy(update={"input": made_input, "files": {}}), function.source


def _input(task: Task, function: Made, *, code: str | None) -> JsonValue:
    request = function.prompt if code is None else _MEND + code
    if not isinstance(task.input, dict):
        return request
    key = "prompt" if isinstance(task.input.get("prompt"), str) else request_key(task)
    kept = {name: value for name, value in task.input.items() if not isinstance(value, str)}
    made_input: dict[str, JsonValue] = {**kept, key: request}
    if "code" in task.input and code is not None:
        made_input |= {key: _MEND + function.prompt, "code": code}
    if "entry_point" in task.input:
        made_input["entry_point"] = function.name
    return made_input


def family_of(task: Task) -> str:
    """How a probe of this module was made."""
    text = str(task.input.values() if isinstance(task.input, dict) else task.input)
    return "injected_bug" if _MEND.strip() in text else "known_program"


def mutants(spec: AnswerSpec, probe: Probe, rng: np.random.Generator) -> Sequence[JsonValue]:
    """Programs one step away that behave otherwise, one that does not parse, one misnamed."""
    source = str(probe.answer)
    asked = asked_of(source)
    assert asked is not None
    inputs = inputs_of(asked, ())
    given = behaviour_of(source, asked.name, inputs)
    near = list(mutants_of(source))
    rng.shuffle(near)
    wrong = (text for text in near if behaviour_of(text, asked.name, inputs) != given)
    found: list[JsonValue] = [text for text, _ in zip(wrong, range(N_MUTANTS), strict=False)]
    return [*found, source.rstrip() + "\n    return (\n", _renamed(source)]


def _renamed(source: str) -> str:
    tree = ast.parse(source)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            node.name = f"my_{node.name}"
    return ast.unparse(tree)
