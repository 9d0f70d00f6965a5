"""``if`` in a graph: on Python values, on sizes, and on tensor values."""

import ast
from dataclasses import dataclass
from typing import Any

from legato.core.ir_helpers import present
from legato.core.mlir import arith, ir, scf, tensor
from legato.dialects import tir
from legato.dialects.relax import dims
from legato.frontends.script.graph.matching import Restart
from legato.frontends.script.graph.parser import GraphParser
from legato.frontends.script.language.source import Misuse
from legato.frontends.script.language.types import ShapeInfo
from legato.frontends.script.program import cast, plain
from legato.frontends.script.tvm.values import describe

PREDICATES = {ast.Lt: "slt", ast.LtE: "sle", ast.Gt: "sgt", ast.GtE: "sge", ast.Eq: "eq", ast.NotEq: "ne"}


@dataclass(frozen=True)
class SizeTest:
    """A condition on sizes, ``n % 16 == 0``, that is evaluated when the graph is called."""

    parts: tuple[Any, ...]  # (predicate, size, size), or ("and" | "or" | "not", tests...)


def compared(node: ast.Compare, left: Any, right: Any) -> Any:
    """The comparison of two sizes: a bool, or a SizeTest where it depends on symbols."""
    form = left - right if isinstance(left, dims.Dim) else -(right - left)
    op = type(node.ops[0])
    if isinstance(form, int):
        return {ast.Lt: form < 0, ast.LtE: form <= 0, ast.Gt: form > 0, ast.GtE: form >= 0, ast.Eq: form == 0, ast.NotEq: form != 0}[op]
    return SizeTest((PREDICATES[op], left, right))


def combined(op: str, tests: list[Any]) -> Any:
    """``and``, ``or`` and ``not`` (``op``) of bools and SizeTests. Misuse for tensors."""
    for test in tests:
        if not isinstance(test, (bool, int, SizeTest)):
            raise Misuse(f"'{op}' takes what is known when the graph is parsed, and tests of sizes, not {describe(test)}; "
                          f"of tensors by R.logical_{op}")
    if all(not isinstance(t, SizeTest) for t in tests):
        return not tests[0] if op == "not" else all(tests) if op == "and" else any(tests)
    return SizeTest((op, *(t if isinstance(t, SizeTest) else bool(t) for t in tests)))


def condition(parser: GraphParser, node: ast.expr) -> Any:
    """The value of a condition: a bool, or an SSA value of type i1."""
    test = parser.expression(node)
    if isinstance(test, (bool, int)) or test is None:
        return bool(test)
    if isinstance(test, SizeTest):
        return test_of_sizes(parser, test)
    if not isinstance(test, ir.Value):
        raise parser.error(f"a condition is a tensor of type bool without dimensions, or a test of sizes, not {describe(test)}",
                                node)
    if test.type.rank or test.type.element_type != ir.IntegerType.get_signless(1):
        raise parser.error("a condition is a tensor of type bool without dimensions: R.Tensor((), \"bool\"); this is "
                                f"{test.type}. R.max(x > 0.0, axis=...) and R.reshape(x, ()) make one of several", node)
    element = tensor.ExtractOp(plain(test), []).result
    zero = arith.ConstantOp(element.type, 0).result
    return arith.CmpIOp(arith.CmpIPredicate.ne, element, zero).result


def test_of_sizes(parser: GraphParser, test: Any) -> ir.Value:
    """A SizeTest, or a bool, as an SSA value of type i1."""
    bit = ir.IntegerType.get_signless(1)
    if isinstance(test, bool):
        return arith.ConstantOp(bit, int(test)).result
    op, *parts = test.parts
    if op not in ("and", "or", "not"):
        left, right = (dims.materialize(dims.as_size(p), parser.main) for p in parts)
        return arith.CmpIOp(getattr(arith.CmpIPredicate, op), left, right).result
    first, *others = (test_of_sizes(parser, p) for p in parts)
    if op == "not":
        return arith.XOrIOp(first, arith.ConstantOp(bit, 1).result).result
    for other in others:
        first = (arith.AndIOp if op == "and" else arith.OrIOp)(first, other).result
    return first


def branch(parser: GraphParser, node: ast.If) -> None:
    """``if cond: ... else: ...``: an ``scf.if`` whose results are the names that either branch assigns and that have a value in both."""
    test = condition(parser, node.test)
    if isinstance(test, bool):
        for statement in node.body if test else node.orelse:
            parser.statement(statement)
        return
    before = dict(parser.scope)
    trial = ir.Operation.create("scf.if", [], [test], regions=2)
    found = []
    try:
        for region, statements in zip(trial.regions, (node.body, node.orelse)):
            with ir.InsertionPoint(region.blocks.append()):
                found.append(statements_of_branch(parser, statements, dict(before)))
    except BaseException:
        trial.erase()
        raise
    parser.scope = before
    names = [n for n in dict.fromkeys([*found[0], *found[1]]) if all(n in f for f in found)
             and (found[0][n] is not before.get(n) or found[1][n] is not before.get(n))]
    for name in {n for f in found for n in f} - set(names):
        if name not in before:
            parser.scope.pop(name, None)
    join(parser, trial, {n: (found[0][n], found[1][n]) for n in names}, node)


def statements_of_branch(parser: GraphParser, statements: list[ast.stmt], scope: dict[str, Any]) -> dict[str, Any]:
    """Builds a branch's statements; the scope at its end."""
    parser.scope = scope
    of_data = parser.facts.late | parser.facts.counted
    for statement in statements:
        if isinstance(statement, ast.Return):
            raise parser.error("a graph returns at its end: give a name a value in both branches, and return that", statement)
        try:
            parser.statement(statement)
        except Restart:
            raise parser.error("a size that is matched in a branch only cannot be checked when the function is called: match it "
                                    "before the branch", statement) from None
        if (parser.facts.late | parser.facts.counted) - of_data:
            raise parser.error("a tensor whose size depends on data cannot be made in a branch: make it before the branch",
                                    statement)
    return parser.scope


def join(parser: GraphParser, trial: ir.Operation, values: dict[str, tuple[Any, Any]], node: ast.If) -> None:
    """Replaces ``trial``, an scf.if without results, by one that yields each name's value. ``values``: in the two branches, by name."""
    leaves: list[tuple[ir.Value, ir.Value]] = []
    for name, (then, other) in values.items():
        try:
            pair_up(then, other, leaves)
        except Misuse as problem:
            raise parser.error(f"'{name}' {problem}", node) from None
    types = [then.type for then, _ in leaves]
    with ir.InsertionPoint(trial):
        made = scf.IfOp(trial.operands[0], [tir.plain_type(t) for t in types], has_else=True)
    for region, block, side in zip(trial.regions, (made.then_block, present(made.else_block)), (0, 1)):
        for op in list(region.blocks[0].operations):
            block.append(op)
        with ir.InsertionPoint(block):
            scf.YieldOp([plain(pair[side]) for pair in leaves])
    trial.erase()
    results = iter([cast(v, t) for v, t in zip(made.results, types)])
    for name, (then, _) in values.items():
        parser.scope[name] = rebuilt(then, results)


def pair_up(then: Any, other: Any, leaves: list[tuple[ir.Value, ir.Value]]) -> None:
    """Appends the pairs of tensors of two equally nested values to ``leaves``. Misuse where nesting or types differ."""
    if isinstance(then, ir.Value) and isinstance(other, ir.Value):
        if then.type != other.type:
            raise Misuse(f"is {then.type} where the condition holds, and {other.type} where not: branches give tensors of one type")
        leaves.append((then, other))
    elif isinstance(then, tuple) and isinstance(other, tuple) and len(then) == len(other):
        for a, b in zip(then, other):
            pair_up(a, b, leaves)
    elif isinstance(then, (ir.Value, tuple)) or isinstance(other, (ir.Value, tuple)) or not same(then, other):
        raise Misuse("is one thing where the condition holds, and another where not: the branches give tensors, or tuples of them")


def same(then: Any, other: Any) -> bool:
    """Whether two values that are no tensors are equal."""
    if isinstance(then, ShapeInfo) and isinstance(other, ShapeInfo):
        return then.sizes == other.sizes
    return then is other or (type(then) is type(other) and isinstance(then, (int, float, str)) and then == other)


def rebuilt(value: Any, results: Any) -> Any:
    """A value with its tensors replaced, in order, by ``results``."""
    if isinstance(value, ir.Value):
        return next(results)
    return tuple(rebuilt(v, results) for v in value) if isinstance(value, tuple) else value
