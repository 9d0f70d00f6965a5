"""``if`` in a graph's script: on what is known when it is parsed, on sizes, and on a tensor's value."""

import ast
from dataclasses import dataclass
from typing import Any

from legato.core.mlir import arith, ir, scf, tensor
from legato.dialects import tir
from legato.dialects.relax import dims
from legato.frontends.script.graph.sizes import GraphSizes, Restart
from legato.frontends.script.language.source import Problem
from legato.frontends.script.language.types import ShapeInfo
from legato.frontends.script.program import cast, plain
from legato.frontends.script.tvm.values import describe

PREDICATES = {ast.Lt: "slt", ast.LtE: "sle", ast.Gt: "sgt", ast.GtE: "sge", ast.Eq: "eq", ast.NotEq: "ne"}


@dataclass(frozen=True)
class SizeTest:
    """``n % 16 == 0``: what sizes are is known when the function is called."""

    parts: tuple[Any, ...]  # (predicate, size, size), or ("and" | "or" | "not", tests...)


class GraphBranches(GraphSizes):
    """Builds branches; each is a region of ``scf.if``, and the names that both give a value have one behind it."""

    def compared(self, node: ast.Compare, left: Any, right: Any) -> Any:
        """Two sizes compared: a SizeTest where it depends on symbols."""
        form = left - right if isinstance(left, dims.Dim) else -(right - left)
        op = type(node.ops[0])
        if isinstance(form, int):
            return {ast.Lt: form < 0, ast.LtE: form <= 0, ast.Gt: form > 0, ast.GtE: form >= 0, ast.Eq: form == 0, ast.NotEq: form != 0}[op]
        return SizeTest((PREDICATES[op], left, right))

    def combined(self, op: str, tests: list[Any]) -> Any:
        """``and``, ``or`` and ``not`` of what is known, and of tests of sizes."""
        for test in tests:
            if not isinstance(test, (bool, int, SizeTest)):
                raise Problem(f"'{op}' takes what is known when the graph is parsed, and tests of sizes, not {describe(test)}; "
                              f"of tensors by R.logical_{op}")
        if all(not isinstance(t, SizeTest) for t in tests):
            return not tests[0] if op == "not" else all(tests) if op == "and" else any(tests)
        return SizeTest((op, *(t if isinstance(t, SizeTest) else bool(t) for t in tests)))

    def condition(self, node: ast.expr) -> Any:
        """A bool, or a value of type i1."""
        test = self.expression(node)
        if isinstance(test, (bool, int)) or test is None:
            return bool(test)
        if isinstance(test, SizeTest):
            return self.test_of_sizes(test)
        if not isinstance(test, ir.Value):
            raise self.source.error(f"a condition is a tensor of type bool without dimensions, or a test of sizes, not {describe(test)}",
                                    node)
        if test.type.rank or test.type.element_type != ir.IntegerType.get_signless(1):
            raise self.source.error("a condition is a tensor of type bool without dimensions: R.Tensor((), \"bool\"); this is "
                                    f"{test.type}. R.max(x > 0.0, axis=...) and R.reshape(x, ()) make one of several", node)
        element = tensor.ExtractOp(plain(test), []).result
        zero = arith.ConstantOp(element.type, 0).result
        return arith.CmpIOp(arith.CmpIPredicate.ne, element, zero).result

    def test_of_sizes(self, test: Any) -> ir.Value:
        bit = ir.IntegerType.get_signless(1)
        if isinstance(test, bool):
            return arith.ConstantOp(bit, int(test)).result
        op, *parts = test.parts
        if op not in ("and", "or", "not"):
            left, right = (dims.materialize(dims.as_size(p), self.main) for p in parts)
            return arith.CmpIOp(getattr(arith.CmpIPredicate, op), left, right).result
        first, *others = (self.test_of_sizes(p) for p in parts)
        if op == "not":
            return arith.XOrIOp(first, arith.ConstantOp(bit, 1).result).result
        for other in others:
            first = (arith.AndIOp if op == "and" else arith.OrIOp)(first, other).result
        return first

    def branch(self, node: ast.If) -> None:
        """``if cond: ... else: ...``. Behind it stand the names that both branches give a value, or one gives and that had one before."""
        test = self.condition(node.test)
        if isinstance(test, bool):
            for statement in node.body if test else node.orelse:
                self.statement(statement)
            return
        before = dict(self.scope)
        trial = ir.Operation.create("scf.if", [], [test], regions=2)
        found = []
        try:
            for region, statements in zip(trial.regions, (node.body, node.orelse)):
                with ir.InsertionPoint(region.blocks.append()):
                    found.append(self.statements_of_branch(statements, dict(before)))
        except BaseException:
            trial.erase()
            raise
        self.scope = before
        names = [n for n in dict.fromkeys([*found[0], *found[1]]) if all(n in f for f in found)
                 and (found[0][n] is not before.get(n) or found[1][n] is not before.get(n))]
        for name in {n for f in found for n in f} - set(names):
            if name not in before:
                self.scope.pop(name, None)
        self.join(trial, {n: (found[0][n], found[1][n]) for n in names}, node)

    def statements_of_branch(self, statements: list[ast.stmt], scope: dict[str, Any]) -> dict[str, Any]:
        """What the names stand for behind a branch."""
        self.scope = scope
        of_data = self.late | self.counted
        for statement in statements:
            if isinstance(statement, ast.Return):
                raise self.source.error("a graph returns at its end: give a name a value in both branches, and return that", statement)
            try:
                self.statement(statement)
            except Restart:
                raise self.source.error("a size that is matched in a branch only cannot be checked when the function is called: match it "
                                        "in front of the branch", statement) from None
            if (self.late | self.counted) - of_data:
                raise self.source.error("a tensor whose size depends on data cannot be made in a branch: make it in front of the branch",
                                        statement)
        return self.scope

    def join(self, trial: ir.Operation, values: dict[str, tuple[Any, Any]], node: ast.If) -> None:
        """The scf.if that gives each name's value, of one branch or the other."""
        leaves: list[tuple[ir.Value, ir.Value]] = []
        for name, (then, other) in values.items():
            try:
                pair_up(then, other, leaves)
            except Problem as problem:
                raise self.source.error(f"'{name}' {problem}", node) from None
        types = [then.type for then, _ in leaves]
        with ir.InsertionPoint(trial):
            made = scf.IfOp(trial.operands[0], [tir.plain_type(t) for t in types], has_else=True)
        for region, block, side in zip(trial.regions, (made.then_block, made.else_block), (0, 1)):
            for op in list(region.blocks[0].operations):
                block.append(op)
            with ir.InsertionPoint(block):
                scf.YieldOp([plain(pair[side]) for pair in leaves])
        trial.erase()
        results = iter([cast(v, t) for v, t in zip(made.results, types)])
        for name, (then, _) in values.items():
            self.scope[name] = rebuilt(then, results)


def pair_up(then: Any, other: Any, leaves: list[tuple[ir.Value, ir.Value]]) -> None:
    """The tensors of two values of one form, side by side. Problem where the forms, or types, are not one."""
    if isinstance(then, ir.Value) and isinstance(other, ir.Value):
        if then.type != other.type:
            raise Problem(f"is {then.type} where the condition holds, and {other.type} where not: branches give tensors of one type")
        leaves.append((then, other))
    elif isinstance(then, tuple) and isinstance(other, tuple) and len(then) == len(other):
        for a, b in zip(then, other):
            pair_up(a, b, leaves)
    elif isinstance(then, (ir.Value, tuple)) or isinstance(other, (ir.Value, tuple)) or not same(then, other):
        raise Problem("is one thing where the condition holds, and another where not: the branches give tensors, or tuples of them")


def same(then: Any, other: Any) -> bool:
    if isinstance(then, ShapeInfo) and isinstance(other, ShapeInfo):
        return then.sizes == other.sizes
    return then is other or (type(then) is type(other) and isinstance(then, (int, float, str)) and then == other)


def rebuilt(value: Any, results: Any) -> Any:
    """A value of the same form, of other tensors."""
    if isinstance(value, ir.Value):
        return next(results)
    return tuple(rebuilt(v, results) for v in value) if isinstance(value, tuple) else value
