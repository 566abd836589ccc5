"""What can be said of an answer that is code by running it, and how it behaves on inputs.

The program's own process reads the task and decides; the answer runs in children that only ever
send back values. Part of the program that runs in the sandbox: standard library only.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import sys
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from harnesspro.checks.code_caller import Call, Lab, Nursery, Words, calls_of, shield
from harnesspro.checks.code_examples import Example, examples_of
from harnesspro.checks.code_inputs import inputs_of
from harnesspro.checks.code_relations import Relation, relations_of
from harnesspro.checks.code_task import Asked, asked_of, functions_of, parsed, program_of
from harnesspro.checks.code_types import Kind, fits, kind_of_annotation, kind_of_value, merged
from harnesspro.checks.code_values import canonical, decode, equal, spelled

PASSES, FAILS, SAYS_NOTHING = 0, 1, 77
BEHAVIOUR = "behaviour"
"""Asked for like a check: what the function gives on every input."""
LEAST_INPUTS, _MOST_RELATED = 20, 12


class Bench:
    """One answer to one task; every run is made once, when it is first asked for."""

    def __init__(self, asked: Asked, answer: str, *, nursery: Nursery) -> None:
        """`nursery` is where the processes that hold code come from."""
        self.asked, self.nursery = asked, nursery
        self.source = program_of(asked, answer)
        self.examples = examples_of(asked.name, asked.doc)
        self.inputs = inputs_of(asked, self.examples)
        self._labs: list[Lab] = []

    def lab(self, source: str, name: str, *, hash_seed: int = 1) -> Lab:
        """A place to call a function of this source."""
        made = Lab(self.nursery, source=source, name=name, hash_seed=hash_seed)
        self._labs.append(made)
        return made

    @cached_property
    def first(self) -> Lab | None:
        """The answer, loaded; None where it does not load."""
        lab = self.lab(self.source, self.asked.name) if self.source is not None else None
        return lab if lab is not None and lab.load() else None

    @cached_property
    def outcomes(self) -> list[Words]:
        """What came of every input; empty where the answer does not load."""
        return self.first.run(calls_of(self.inputs)) if self.first else []

    @cached_property
    def again(self) -> list[Words]:
        """The same inputs in another process, whose sets have another order."""
        if not self.first or self.source is None:
            return []
        lab = self.lab(self.source, self.asked.name, hash_seed=2)
        return lab.run(calls_of(self.inputs))

    @cached_property
    def shown(self) -> list[Words]:
        """What came of every example of the docstring."""
        return _run(self.first, self.examples) if self.first else []

    def end(self) -> None:
        """Nothing is left running."""
        for lab in self._labs:
            lab.end()


def _values(outcomes: Sequence[Words]) -> list[Any]:
    return [decode(words["value"]) for words in outcomes if "value" in words]


# --- checks: a share in [0, 1], None where there is nothing to say --------------------------------


def example(bench: Bench) -> float | None:
    """Share of the docstring's examples that hold."""
    if not bench.examples:
        return None
    return sum(map(_holds, bench.examples, bench.shown)) / len(bench.examples)


def _run(lab: Lab, examples: Sequence[Example]) -> list[Words]:
    return lab.run([Call(each.args, each.kwargs) for each in examples])


def _holds(each: Example, words: Words) -> bool:
    if each.raises is not None:
        return bool(words.get("raised") == each.raises)
    return "value" in words and equal(decode(words["value"]), each.expected)


def returns_its_type(bench: Bench) -> float | None:
    """Whether every value is of the annotated kind, or else of the kind the examples show.

    Made inputs may lie outside what the function is for: None for some of them is let pass.
    """
    kind = kind_of_annotation(bench.asked.returns)
    if kind[0] == "any":
        kind = _shown_kind(bench.examples)
    values = _values(bench.outcomes)
    if kind[0] == "any" or not values:
        return None
    made = [value for value in values if value is not None]
    return float(bool(made) and all(fits(kind, value) for value in (*made, *_values(bench.shown))))


def _shown_kind(examples: Sequence[Example]) -> Kind:
    """The outermost kind of what the examples give; `("any",)` where they do not agree on one."""
    kind = merged(kind_of_value(each.expected) for each in examples if each.raises is None)
    mixed = kind[0] in ("union", "none") or len(examples) < 2
    any_kind: Kind = ("any",)
    inner = {"list": 1, "set": 1, "dict": 2}.get(kind[0], 0)
    if kind[0] == "tuple":
        return any_kind if mixed else ("tuple_of", any_kind)
    return any_kind if mixed else (kind[0], *[any_kind] * inner)


def gives_the_same_twice(bench: Bench) -> float | None:
    """Whether another process gives the same on every input."""
    if not bench.outcomes:
        return None
    return float(_vector(bench.outcomes) == _vector(bench.again))


def keeps_its_arguments(bench: Bench) -> float | None:
    """Whether arguments are as they were, unless the function gives nothing back."""
    values = _values(bench.outcomes)
    if not values or all(value is None for value in values):
        return None
    return float(not any("changed" in words for words in bench.outcomes))


def takes_the_inputs_shown(bench: Bench) -> float | None:
    """Share of the examples' inputs it answers, rather than raising or hanging."""
    wanted = [each.raises is None for each in bench.examples]
    if not any(wanted):
        return None
    values = ["value" in words for words in bench.shown]
    return sum(value for value, is_wanted in zip(values, wanted, strict=False) if is_wanted) / sum(
        wanted
    )


def answers_some_input(bench: Bench) -> float | None:
    """Whether it answers at least one input that was made, with or without examples."""
    if bench.first is None:
        return 0.0
    return float(any("value" in words for words in bench.outcomes)) if bench.inputs else None


def keeps_its_words(bench: Bench) -> float | None:
    """Share of the relations the docstring promises that hold on every input."""
    relations = relations_of(bench.asked)
    found = [held for each in relations if (held := _relation(bench, each)) is not None]
    return sum(found) / len(found) if found else None


def _relation(bench: Bench, relation: Relation) -> bool | None:
    """Whether it holds wherever both results are values; None where it never applies."""
    given = [
        (args, decode(words["value"]))
        for args, words in zip(bench.inputs, bench.outcomes, strict=False)
        if "value" in words
    ]
    if relation.follow is None:
        return all(relation.holds(value, value) for _, value in given) if given else None
    changed = [(relation.follow(args), value) for args, value in given]
    pairs = [(args, value) for args, value in changed if args is not None][:_MOST_RELATED]
    if not pairs or bench.first is None:
        return None
    outcomes = bench.first.run(calls_of([args for args, _ in pairs]))
    return all(
        "value" in words and relation.holds(value, decode(words["value"]))
        for (_, value), words in zip(pairs, outcomes, strict=True)
    )


def still_works(bench: Bench) -> float | None:
    """Of code to be mended: share of what works already that goes on working.

    That is every example that held, and every other function of the code on inputs of its own.
    """
    code = bench.asked.code
    if code is None or bench.source is None:
        return None if code is None else 0.0
    before = _run(bench.lab(code, bench.asked.name), bench.examples)
    held = list(map(_holds, bench.examples, before))
    kept = list(map(_holds, bench.examples, bench.shown))
    shares = [sum(map(min, held, kept)) / sum(held)] if any(held) else []
    shares += [_as_before(bench, code, bench.source, name) for name in _others(code, bench.asked)]
    return sum(shares) / len(shares) if shares else None


def _others(code: str, asked: Asked) -> list[str]:
    tree = parsed(code)
    names = functions_of(tree) if tree else {}
    return [name for name in names if name != asked.name and not name.startswith("_")][:4]


def _as_before(bench: Bench, code: str, source: str, name: str) -> float:
    asked = asked_of({"prompt": code, "entry_point": name})
    if asked is None:
        return 1.0
    inputs = calls_of(inputs_of(asked, examples_of(name, asked.doc), n=12))
    before = bench.lab(code, name).run(inputs)
    return float(_vector(before) == _vector(bench.lab(source, name).run(inputs)))


CHECKS: dict[str, tuple[str, Callable[[Bench], float | None]]] = {
    "examples_hold": ("example", example),
    "returns_its_type": ("property", returns_its_type),
    "gives_the_same_twice": ("property", gives_the_same_twice),
    "keeps_its_arguments": ("property", keeps_its_arguments),
    "takes_the_inputs_shown": ("property", takes_the_inputs_shown),
    "answers_some_input": ("property", answers_some_input),
    "keeps_its_words": ("metamorphic", keeps_its_words),
    "still_works": ("must_still_work", still_works),
}
"""Check name -> its family and what decides it."""


# --- behaviour ---------------------------------------------------------------------------------


def _vector(outcomes: Sequence[Words]) -> list[Any]:
    return [
        {name: canonical(value) if name in ("value", "changed") else value for name, value in each}
        for each in (sorted(words.items()) for words in outcomes)
    ]


def behaviour(bench: Bench) -> Any:
    """`{"key": hash of what every input gave}`, or `{"none": why}` where only text tells."""
    if len(bench.inputs) < LEAST_INPUTS:
        return {"none": "too few inputs"}
    if bench.first is None:
        return {"none": "does not load"}
    vector = _vector(bench.outcomes)
    if vector != _vector(bench.again):
        return {"none": "differs from run to run"}
    if not any("value" in words for words in vector):
        return {"none": "gave no value on any input"}
    return {"key": hashlib.sha256(spelled(vector).encode()).hexdigest()}


# --- the program -------------------------------------------------------------------------------


def signed(key: str, body: str) -> str:
    """The mark of a report that only the holder of the key can make."""
    return hmac.new(key.encode(), body.encode(), hashlib.sha256).hexdigest()


def main(names: Sequence[str], *, program: str, folder: Path) -> int:
    """Decide the checks named; of one, the exit code says how.

    Where `task.json` holds a `key`, a report `{"body", "mark"}` goes to `answer.json`: `body` is
    JSON text, check name -> share or null. The key is gone from the folder before the answer runs.
    Where it holds `many`, a list of `{"input", "answer"}`, there is no other answer, `body` is a list,
    and the answers share a start: only such as trust each other may.
    """
    task = json.loads((folder / "task.json").read_text(encoding="utf-8"))
    key = task.pop("key", None)
    (folder / "task.json").unlink()
    shield()
    nursery = Nursery(program)
    found: Any
    try:
        if "many" in task:
            found = [_said(names, each["input"], each["answer"], nursery) for each in task["many"]]
        else:
            answer = (folder / "answer.py").read_text(encoding="utf-8", errors="replace")
            found = _said(names, task.get("input"), answer, nursery, files=_files(folder))
    finally:
        nursery.end()
    if key is not None:
        body = json.dumps(found)
        report = json.dumps({"body": body, "mark": signed(key, body)})
        _place(folder / "answer.json", report)
    return PASSES if "many" in task else _exit_code(found[names[0]])


def _files(folder: Path) -> tuple[str, ...]:
    return tuple(
        path.read_text(encoding="utf-8", errors="replace")
        for path in sorted(folder.rglob("*.py"))
        if path != folder / "answer.py"
    )


def _said(
    names: Sequence[str],
    task_input: Any,
    answer: str,
    nursery: Nursery,
    *,
    files: tuple[str, ...] = (),
) -> dict[str, Any]:
    asked = asked_of(task_input, files=files)
    if asked is None:
        return dict.fromkeys(names)
    bench = Bench(asked, answer, nursery=nursery)
    try:
        return {
            name: behaviour(bench) if name == BEHAVIOUR else CHECKS[name][1](bench)
            for name in names
        }
    finally:
        bench.end()


def _place(path: Path, text: str) -> None:
    """Whatever stands there makes way: nothing is followed or appended to."""
    if path.is_symlink() or path.exists():
        os.rename(path, f"{path}.aside")
    path.write_text(text, encoding="utf-8")


def _exit_code(share: Any) -> int:
    if share is None:
        return SAYS_NOTHING
    return PASSES if share == 1.0 or isinstance(share, dict) else FAILS


def start(program: str) -> None:
    """Run as the program itself."""
    sys.exit(main(sys.argv[1:], program=program, folder=Path.cwd()))
