"""What a coding task asks for: the function, its parameters, its words, its examples.

Read from the public input alone. Part of the program that runs in the sandbox: standard library
only.
"""

from __future__ import annotations

import ast
import re
import warnings
from typing import Any, NamedTuple

_FENCE = re.compile(r"```(?:python|py)?[ \t]*\n(.*?)```", re.DOTALL)
_OPENING = re.compile(r"^(?:import|from|def|class|@|async def)\b", re.MULTILINE)
_NAMED_CALL = re.compile(r"`(\w+\([^`()]*\))`")
_LONGEST = 50_000


class Parameter(NamedTuple):
    """One parameter, in order; `annotation` is its source text."""

    name: str
    annotation: str | None
    required: bool


class Asked(NamedTuple):
    """The function that a task asks for."""

    name: str
    parameters: tuple[Parameter, ...]
    returns: str | None
    """Source text of the return annotation."""
    doc: str
    preamble: str
    """The source before the function: imports and helpers an answer may rely on."""
    open_ended: bool
    """Takes `*args` or `**kwargs`."""
    code: str | None = None
    """The code to be mended, where the task brings one."""

    @property
    def n_required(self) -> int:
        """How many arguments it must be given."""
        return sum(parameter.required for parameter in self.parameters)


def parsed(source: str) -> ast.Module | None:
    """The source as a tree; None where it is no Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source[:_LONGEST])
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def asked_of(task_input: Any, *, files: tuple[str, ...] = ()) -> Asked | None:
    """What is asked, or None where no function can be read from the input.

    The asked function is the one `entry_point` names, else the last at the top level. `files` are
    the texts of the task's own Python files, where a bug may sit.
    """
    fields = task_input if isinstance(task_input, dict) else {}
    wanted = fields.get("entry_point")
    code = _code_to_mend(fields, files)
    for text in (*_texts(task_input), *([code] if code else [])):
        for source in _sources(text):
            found = _asked_in(source, wanted, text)
            if found is not None:
                return found._replace(code=code if _defines(code, found.name) else None)
    return None


def _code_to_mend(fields: dict[str, Any], files: tuple[str, ...]) -> str | None:
    code = fields.get("code")
    if isinstance(code, str) and code.strip():
        return code
    return files[0] if len(files) == 1 else None


def _defines(code: str | None, name: str) -> bool:
    tree = parsed(code) if code else None
    return tree is not None and name in functions_of(tree)


def _texts(task_input: Any) -> list[str]:
    if isinstance(task_input, str):
        return [task_input]
    if not isinstance(task_input, dict):
        return []
    texts = {key: value for key, value in task_input.items() if isinstance(value, str)}
    first = [texts[key] for key in ("prompt", "request") if key in texts]
    rest = [value for key, value in texts.items() if key not in ("prompt", "request", "code")]
    return first + sorted(rest, key=len, reverse=True)


def _sources(text: str) -> list[str]:
    """Where the text may hold Python, most likely first."""
    found = [text, *_FENCE.findall(text)]
    opening = _OPENING.search(text)
    if opening:
        lines = text[opening.start() :].splitlines()
        whole = (lines[:end] for end in range(len(lines), max(0, len(lines) - 80), -1))
        found += ["\n".join(part) for part in whole]
    found += [f"def {call}:\n    pass" for call in _NAMED_CALL.findall(text)[:3]]
    return found


def _asked_in(source: str, wanted: Any, text: str) -> Asked | None:
    for ending in ("", "\n    pass\n"):
        whole = source.rstrip() + ending
        tree = parsed(whole) if "def " in source else None
        functions = {} if tree is None else functions_of(tree)
        if functions:
            name = wanted if wanted in functions else list(functions)[-1]
            return _asked(functions[name], whole, text)
    return None


def functions_of(tree: ast.Module) -> dict[str, ast.FunctionDef]:
    """The functions at the top level, by name; of two with one name the last."""
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}


def _asked(node: ast.FunctionDef, source: str, text: str) -> Asked:
    start = min([node.lineno, *(item.lineno for item in node.decorator_list)])
    return Asked(
        name=node.name,
        parameters=parameters_of(node),
        returns=_source_of(node.returns),
        doc=ast.get_docstring(node) or text,
        preamble="\n".join(source.splitlines()[: start - 1]).strip("\n"),
        open_ended=bool(node.args.vararg or node.args.kwarg),
    )


def parameters_of(node: ast.FunctionDef) -> tuple[Parameter, ...]:
    """The positional parameters of a function."""
    arguments = [*node.args.posonlyargs, *node.args.args]
    n_required = len(arguments) - len(node.args.defaults)
    return tuple(
        Parameter(argument.arg, _source_of(argument.annotation), index < n_required)
        for index, argument in enumerate(arguments)
    )


def _source_of(node: ast.expr | None) -> str | None:
    return None if node is None else ast.unparse(node)


def program_of(asked: Asked, answer: str) -> str | None:
    """The program an answer makes; None where it does not define the asked function.

    What the task imports or defines before the function stays usable.
    """
    tree = parsed(answer)
    if tree is None or asked.name not in functions_of(tree):
        return None
    if not asked.preamble.strip() or parsed(asked.preamble) is None:
        return answer
    together = f"{asked.preamble}\n{answer}"
    return together if parsed(together) is not None else answer
