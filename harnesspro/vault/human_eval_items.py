"""Turns tests written as Python asserts into calls and what each call should give.

A program of its own, run in the sandbox as `python human_eval_items.py FOLDER WORK`: the reference
solution and the test's own code run here, once, when a task set is made. Standard library and
`values`, which lies beside it.
"""

from __future__ import annotations

import ast
import json
import random
import sys
from collections.abc import Callable
from typing import Any

CALL, RECORD = "__call__", "__record__"


class UnsplitError(Exception):
    """A test that does more than compare what a call gave with something known before."""


class Split(ast.NodeTransformer):
    """Replaces each assert by a record of the call, the relation and the value compared with."""

    def visit_Assert(self, node: ast.Assert) -> ast.stmt:
        """`assert candidate(1) == 2` becomes `__record__('equal', __call__(1), 2, 0)`."""
        if "candidate" not in names(node.test):
            return ast.copy_location(ast.Pass(), node)
        relation, call, value, tolerance = parts(node.test)
        if "candidate" in names(value) | names(tolerance):
            raise UnsplitError(ast.unparse(node.test))
        asked = ast.Call(ast.Name(CALL, ast.Load()), call.args, call.keywords)
        arguments = [ast.Constant(relation), asked, value, tolerance]
        record = ast.Expr(ast.Call(ast.Name(RECORD, ast.Load()), arguments, []))
        return ast.fix_missing_locations(ast.copy_location(record, node))


def names(node: ast.AST) -> set[str]:
    """Every name in an expression."""
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def parts(test: ast.expr) -> tuple[str, ast.Call, ast.expr, ast.expr]:
    """Relation, call, the value it should have to it, and a tolerance.

    Raises:
        UnsplitError: not of a form that can be taken apart.
    """
    nothing = ast.Constant(None)
    match test:
        case ast.Call(func=ast.Name("candidate")):
            return "true", test, nothing, nothing
        case ast.UnaryOp(ast.Not(), ast.Call(func=ast.Name("candidate")) as call):
            return "false", call, nothing, nothing
        case ast.Compare(
            ast.Call(func=ast.Name("candidate")) as call, [ast.Eq() | ast.Is()], [value]
        ):
            return "equal", call, value, nothing
        case ast.Compare(
            ast.Call(func=ast.Name("tuple"), args=[ast.Call(func=ast.Name("candidate")) as call]),
            [ast.Eq()],
            [value],
        ):
            return "items", call, value, nothing
        case ast.Compare(
            ast.Call(
                func=ast.Name("abs"),
                args=[ast.BinOp(ast.Call(func=ast.Name("candidate")) as call, ast.Sub(), value)],
            ),
            [ast.Lt()],
            [tolerance],
        ):
            return "near", call, value, tolerance
    raise UnsplitError(ast.unparse(test))


def item(row: dict[str, Any], encode: Callable[[Any], Any]) -> dict[str, Any]:
    """One task's checks, each with what the reference solution gives; or why it has none."""
    checks: list[dict[str, Any]] = []
    space: dict[str, Any] = {"__name__": "reference"}

    def record(relation: str, call: tuple[Any, Any], value: Any, tolerance: Any) -> None:
        args, kwargs = call
        check = {
            "args": encode(args),
            "kwargs": encode(kwargs),
            "relation": relation,
            "value": encode(value),
            "tolerance": tolerance,
        }
        given = encode(space[row["entry_point"]](*args, **kwargs))
        checks.append({"check": check, "given": given})

    def opaque(*_: object, **__: object) -> None:
        raise UnsplitError("a call whose value the test works on")

    try:
        exec(row["prompt"] + row["canonical_solution"], space)  # noqa: S102 - in the sandbox
        tree = Split().visit(ast.parse(row["test"]))
        space |= {CALL: lambda *args, **kwargs: (args, kwargs), RECORD: record}
        exec(compile(tree, row["task_id"], "exec"), space)  # noqa: S102 - in the sandbox
        random.seed(row["task_id"])
        space["check"](opaque)
    except UnsplitError as error:
        return {"task_id": row["task_id"], "checks": [], "refused": str(error)}
    return {"task_id": row["task_id"], "checks": checks, "refused": ""}


def main(folder: str, work: str) -> None:
    """Read `task.json`, write `answer.json`."""
    sys.path.insert(0, folder)
    from values import encode  # type: ignore[import-not-found]

    with open(f"{work}/task.json", encoding="utf-8") as file:
        rows = json.load(file)["rows"]
    items = [item(row, encode) for row in rows]
    with open(f"{work}/answer.json", "w", encoding="utf-8") as file:
        json.dump(items, file)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
