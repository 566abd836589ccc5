"""Checks of code: its form is decided here, what it does by a program that runs it in the sandbox."""

from __future__ import annotations

import ast

from pydantic import JsonValue

from harnesspro.checks import code_probes
from harnesspro.checks.code_program import check_program
from harnesspro.checks.code_suite import CHECKS
from harnesspro.checks.code_task import Asked, asked_of, functions_of, parameters_of, parsed
from harnesspro.checks.kind import CheckKind
from harnesspro.core.hashing import content_id
from harnesspro.core.records import AnswerSpec, Check, Task


def is_python(task: Task, spec: AnswerSpec, answer: JsonValue) -> bool:
    """A text that parses; another language's answers pass."""
    if spec.language not in (None, "python"):
        return True
    return isinstance(answer, str) and bool(answer.strip()) and parsed(answer) is not None


def defines_the_function(task: Task, spec: AnswerSpec, answer: JsonValue) -> bool:
    """The asked function at the top level, callable as asked; silent where none can be read."""
    files = tuple(text for name, text in sorted(task.files.items()) if name.endswith(".py"))
    asked = asked_of(task.input, files=files) if spec.language in (None, "python") else None
    if asked is None:
        return True
    tree = parsed(answer) if isinstance(answer, str) else None
    node = functions_of(tree).get(asked.name) if tree is not None else None
    return node is not None and _takes(node, asked)


def _takes(node: ast.FunctionDef, asked: Asked) -> bool:
    """As many arguments as asked by position; what it adds has defaults."""
    own = parameters_of(node)
    n_required = sum(parameter.required for parameter in own)
    needs_names = any(default is None for default in node.args.kw_defaults)
    fits = n_required <= asked.n_required and len(own) >= len(asked.parameters)
    return not needs_names and (fits or node.args.vararg is not None)


class CodeKind(CheckKind):
    """Besides what is decided here, checks that are one program, run in the sandbox."""

    def checks(self) -> tuple[Check, ...]:
        """The format checks, then one for each thing the program can decide."""
        return (*super().checks(), *program_checks())


def program_checks() -> tuple[Check, ...]:
    """The checks that run an answer, not yet measured; the same for every task."""
    return tuple(
        Check(
            check_id=content_id("c", "code", name),
            family=family,
            name=name,
            writer="program",
            program=check_program(),
        )
        for name, (family, _) in CHECKS.items()
    )


KIND = CodeKind(
    kind="code",
    tests={
        "is_python": ("format", is_python),
        "defines_the_function": ("format", defines_the_function),
    },
    empty="",
    makers={"injected_bug": code_probes.probe},
    mutants=code_probes.mutants,
)
