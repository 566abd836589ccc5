"""The program that judges code in the sandbox, as one self-contained text.

It holds the sources of the modules it is made of and needs nothing but Python.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import resources

_PACKAGE = "harnesspro.checks"
_CHILD = ("code_values", "code_child")
_PARENT = (
    *_CHILD,
    *("code_task", "code_examples", "code_types", "code_inputs", "code_relations"),
    *("code_caller", "code_suite"),
)

_LOADER = '''\
"""Judges answer.py by task.json, both beside it: `python - CHECK...`; exit code 0 passes, 77 says
nothing of this task. The answer runs in processes of its own and decides nothing here."""

import sys
from types import ModuleType


def load(modules):
    for name, text in modules.items():
        sys.modules[name] = ModuleType(name)
        exec(compile(text, name, "exec"), sys.modules[name].__dict__)

'''


@cache
def check_program() -> str:
    """The text of the program; its arguments are names of checks, or `behaviour`."""
    start = f"sys.modules['{_PACKAGE}.code_suite'].start({child_program()!r})"
    return _bundle(_PARENT, start=start)


def takes_many(program: str) -> bool:
    """Whether one start of this program can judge several answers."""
    return program == check_program()


@cache
def child_program() -> str:
    """The text of the program from which the processes come that hold an answer's code."""
    return _bundle(_CHILD, start=f"sys.exit(sys.modules['{_PACKAGE}.code_child'].nursery())")


def _bundle(names: Sequence[str], *, start: str) -> str:
    texts = {f"{_PACKAGE}.{name}": _source(name) for name in names}
    return f"{_LOADER}\nload({texts!r})\n{start}\n"


def _source(name: str) -> str:
    return resources.files(_PACKAGE).joinpath(f"{name}.py").read_text(encoding="utf-8")
