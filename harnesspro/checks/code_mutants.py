"""Programs one small step from a given one: the bugs people write.

Off by one, a comparison flipped or at its boundary, a wrong operator, a dropped branch, a result
that is not given back.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator

Change = Callable[[], None]
_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
}
_SWAPPED = {"min": "max", "max": "min", "any": "all", "all": "any", "upper": "lower"}
_SWAPPED |= {"lower": "upper", "append": "remove", "startswith": "endswith"}


def mutants_of(source: str) -> tuple[str, ...]:
    """Every program one step away, each once; empty where the source is no Python."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return ()
    n_nodes = sum(1 for _ in ast.walk(tree))
    found: dict[str, None] = {}
    for index in range(n_nodes):
        for change in range(len(_changes(_node(tree, index)))):
            whole = copy.deepcopy(tree)
            _changes(_node(whole, index))[change]()
            found[ast.unparse(ast.fix_missing_locations(whole))] = None
    found.pop(ast.unparse(tree), None)
    return tuple(found)


def _node(tree: ast.AST, index: int) -> ast.AST:
    return next(node for i, node in enumerate(ast.walk(tree)) if i == index)


def _changes(node: ast.AST) -> list[Change]:
    """What can be done to this one node, each a change in place."""
    return [*_of_operators(node), *_of_values(node), *_of_statements(node)]


def _to(node: ast.AST, field: str, value: object) -> Change:
    return lambda: setattr(node, field, value)


def _of_operators(node: ast.AST) -> Iterator[Change]:
    match node:
        case ast.Compare(ops=[first, *rest]):
            for new in _COMPARISONS.get(type(first), ()):
                yield _to(node, "ops", [new(), *rest])
        case ast.BinOp(op=ast.operator() as op) | ast.AugAssign(op=ast.operator() as op) if (
            type(op) in _OPERATORS
        ):
            yield _to(node, "op", _OPERATORS[type(op)]())
        case ast.BoolOp(op=ast.And()):
            yield _to(node, "op", ast.Or())
        case ast.BoolOp(op=ast.Or()):
            yield _to(node, "op", ast.And())


def _of_values(node: ast.AST) -> Iterator[Change]:
    match node:
        case ast.Constant(value=bool(value)):
            yield _to(node, "value", not value)
        case ast.Constant(value=int(value)):
            yield _to(node, "value", value + 1)
            yield _to(node, "value", value - 1)
        case ast.Call(func=ast.Name(id="range"), args=[*first, last]):
            for op in (ast.Add(), ast.Sub()):
                moved = ast.BinOp(left=last, op=op, right=ast.Constant(value=1))
                yield _to(node, "args", [*first, moved])
        case ast.Name(id=name) if name in _SWAPPED:
            yield _to(node, "id", _SWAPPED[name])
        case ast.Attribute(attr=name) if name in _SWAPPED:
            yield _to(node, "attr", _SWAPPED[name])


def _of_statements(node: ast.AST) -> Iterator[Change]:
    match node:
        case ast.If(test=test) | ast.IfExp(test=test):
            yield _to(node, "test", ast.UnaryOp(op=ast.Not(), operand=test))
            yield _to(node, "test", ast.Constant(value=False))
        case ast.Return(value=ast.expr()):
            yield _to(node, "value", ast.Constant(value=None))
        case ast.comprehension(ifs=[_, *_]):
            yield _to(node, "ifs", [])
        case ast.Slice(step=ast.expr()):
            yield _to(node, "step", None)
        case ast.Slice(lower=ast.expr()):
            yield _to(node, "lower", None)
