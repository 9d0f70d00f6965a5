"""The blocks of a kernel's script: their axes, predicates, and inits."""

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from legato.core.mlir import ir, scf
from legato.dialects.tir import loops
from legato.dialects.tir.loops import OPAQUE, REDUCE, SPATIAL
from legato.frontends.script.kernel.notes import noted
from legato.frontends.script.kernel.regions import Region, Regions
from legato.frontends.script.kernel.values import Scalar, as_index, condition
from legato.frontends.script.language.source import Problem

AXES = {"spatial": SPATIAL, "S": SPATIAL, "reduce": REDUCE, "R": REDUCE, "opaque": OPAQUE, "O": OPAQUE}
BLOCK_WORDS = ("block", "sblock")
IGNORED = ("func_attr", "block_attr", "sblock_attr")


def axes_as_statements(node: ast.With, word: Callable[[ast.AST], str | None], loops_around: list[str]) -> ast.With:
    """TVM's oldest spelling, ``with T.block([16, T.reduce_axis(0, 8)], "C") as [vi, vk]``, with T.bind(vi, i), in the one of today."""
    call, target = node.items[0].context_expr, node.items[0].optional_vars
    names = target.elts if isinstance(target, (ast.List, ast.Tuple)) else [target] if target is not None else []
    if not isinstance(call, ast.Call) or not isinstance(call.args[0], ast.List) or not isinstance(call.func, ast.Attribute) or (
            len(names) != len(call.args[0].elts)):
        raise Problem("a block has a name: with T.block(\"C\"), and axes inside: vi = T.axis.spatial(16, i)")
    calls = [s.value for s in node.body if isinstance(s, ast.Expr) and isinstance(s.value, ast.Call) and word(s.value) == "bind"]
    bound = {c.args[0].id: c.args[1] for c in calls if len(c.args) == 2 and isinstance(c.args[0], ast.Name)}
    inner = loops_around[len(loops_around) - len(names):]
    statements: list[ast.stmt] = []
    for number, (name, extent) in enumerate(zip(names, call.args[0].elts)):
        kind = word(extent) if isinstance(extent, ast.Call) else None
        kind = kind if kind in ("reduce_axis", "range", "scan_axis", "opaque_axis") else None
        if not isinstance(name, ast.Name) or (name.id not in bound and len(inner) != len(names)):
            raise Problem("an axis is bound to a value: vi = T.axis.spatial(16, i)")
        value = bound.get(name.id) or ast.Name(inner[number], ast.Load())
        dom = extent if kind is None else extent.args[0] if len(extent.args) == 1 else ast.Tuple(list(extent.args), ast.Load())
        axis = ast.Attribute(ast.Attribute(call.func.value, "axis", ast.Load()), (kind or "spatial").removesuffix("_axis"), ast.Load())
        statements.append(ast.Assign([name], ast.Call(axis, [dom, value], [])))
    rest = [s for s in node.body if not (isinstance(s, ast.Expr) and word(s.value) == "bind")]
    made = ast.With([ast.withitem(ast.Call(call.func, call.args[1:], []), None)], [*statements, *rest])
    for one in (made, *statements):
        ast.copy_location(one, node)
        for inside in ast.walk(one):
            if not hasattr(inside, "lineno"):
                ast.copy_location(inside, node)
    return made


class Blocks(Regions):
    """Builds blocks at the insertion point; the statements in them are built by who inherits this (``statements``)."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.around: list[str] = []  # the names of the loops around
        self.fixed: set[str] = set()  # names of loops further out: what they stand for does not change inside

    def statements(self, nodes: list[ast.stmt]) -> None:
        """Builds statements, one after the other."""
        raise NotImplementedError

    @contextmanager
    def inside(self, **names: Any) -> Iterator[None]:
        """A scope: names that are given a meaning inside have none behind it; those of outside cannot change."""
        outer_scope, outer_fixed = self.scope, self.fixed
        self.scope, self.fixed = {**self.scope, **names}, set(self.scope)
        yield
        self.scope, self.fixed = outer_scope, outer_fixed

    def variable(self, node: ast.expr) -> str:
        if not isinstance(node, ast.Name):
            raise self.source.error("a variable's name is wanted here", node)
        return node.id

    def statement_With(self, node: ast.With) -> None:
        if len(node.items) > 1:  # one inside the other
            inner = ast.copy_location(ast.With(node.items[1:], node.body), node)
            node = ast.copy_location(ast.With(node.items[:1], [inner]), node)
        item = node.items[0]
        word = self.word(item.context_expr)
        if word is None:
            raise self.source.error("'with' opens a block: with T.block(\"C\")", item.context_expr)
        if word == "init":
            raise Problem("T.init() stands in a block, behind its axes")
        if word not in BLOCK_WORDS:
            self.open_scope(word, item, node)
            return
        call = item.context_expr
        if isinstance(call, ast.Call) and call.args and isinstance(call.args[0], ast.List):
            node = axes_as_statements(node, self.word, list(self.around))
            call = node.items[0].context_expr
        given = self.named(call, "name", "no_realize", "name_hint", "exec_scope") if isinstance(call, ast.Call) else {}
        name = given.get("name", given.get("name_hint", "block")) or "block"
        if not isinstance(name, str):
            raise Problem("a block's name is a text: with T.block(\"C\")")
        if name == "root" and not any(self.axis_words(s) for s in node.body):
            self.statements([s for s in node.body if not self.says_region(s)])
            return
        self.block(name, node)

    def says_region(self, statement: ast.stmt) -> bool:
        return isinstance(statement, ast.Expr) and self.word(statement.value) in ("reads", "writes")

    def open_scope(self, word: str, item: ast.withitem, node: ast.With) -> None:
        """What ``with`` opens besides blocks."""
        raise NotImplementedError

    def axis_words(self, statement: ast.stmt) -> list[str | None]:
        """The kinds of axes that an assignment makes (``remap`` is one)."""
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            return []
        calls = statement.value.elts if isinstance(statement.value, ast.Tuple) else [statement.value]
        words = [self.word(c) for c in calls]
        return [w.removeprefix("axis.") for w in words if w] if all(w and w.startswith("axis.") for w in words) else []

    def block(self, name: str, node: ast.With) -> None:
        axes: dict[str, tuple[str, int | None, Any]] = {}
        where: list[Any] = []
        regions: dict[str, ast.Call] = {}
        named: dict[str, tuple[list[Region], ast.AST]] = {}
        init, notes, rest = None, None, []
        for statement in node.body:
            word = self.word(statement.value) if isinstance(statement, ast.Expr) else None
            if self.axis_words(statement):
                self.bind_axes(statement, axes)
            elif word == "where":
                where += self.arguments(statement.value)
            elif word in ("reads", "writes"):
                regions[word] = statement.value
            elif isinstance(statement, ast.With) and self.word(statement.items[0].context_expr) == "init":
                if init is not None:
                    raise self.source.error(f"the block '{name}' has an init already", statement)
                init = statement
            elif word in ("block_attr", "sblock_attr") and statement.value.args:
                notes = statement.value.args[0]
            elif word not in IGNORED:
                rest.append(statement)
        if init is not None and not any(kind == REDUCE for kind, _, _ in axes.values()):
            raise self.source.error(f"the block '{name}' has an init, but no axis that is reduced (T.axis.reduce)", init)
        self.check_axes(name, axes, node)
        tests = [condition(w) for w in where if w is not True]
        with self.under(tests):
            kinds, extents, bound = ([a[i] for a in axes.values()] for i in range(3))
            made = loops.make_block(name, list(axes), kinds, extents, bound, init is not None)
            noted(made.operation, notes)
            first = [*self.names_given(node.body[: node.body.index(init)]), *init.body] if init else []
            for block, statements in ((made.init_block, first), (made.block, rest)):
                if block is not None:
                    names = {axis: Scalar(v, "index") for axis, v in zip(axes, block.arguments)}
                    with loops.before_end(block), self.inside(**names):
                        self.statements(statements)
                        if block == made.block:
                            named = {w: (self.regions(r), r) for w, r in regions.items()}
        self.check_regions(made, named)

    def names_given(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        """The statements that give names to values and to parts of buffers, but for the axes: an init sees those in front of it."""
        return [s for s in statements if isinstance(s, ast.Assign) and not self.axis_words(s)
                and not isinstance(s.targets[0], ast.Subscript)
                and (not self.makes_buffer(s.value) or self.word(s.value) == "match_buffer")]

    @contextmanager
    def under(self, tests: list[ir.Value]) -> Iterator[None]:
        """What is built inside happens where all tests hold."""
        if not tests:
            yield
            return
        made = scf.IfOp(tests[0])
        with ir.InsertionPoint(made.then_block):
            with self.under(tests[1:]):
                yield
            scf.YieldOp([])

    def bind_axes(self, statement: ast.Assign, axes: dict[str, tuple[str, int | None, Any]]) -> None:
        target = statement.targets[0]
        targets = target.elts if isinstance(target, ast.Tuple) else [target]
        calls = statement.value.elts if isinstance(statement.value, ast.Tuple) else [statement.value]
        made = [axis for call in calls for axis in self.axes_of(call)]
        if len(targets) != len(made):
            raise self.source.error(f"{len(made)} ax{'i' if len(made) == 1 else 'e'}s, and {len(targets)} "
                                    f"name{'s' * (len(targets) != 1)} for them", statement)
        for variable, (kind, extent, value) in zip(targets, made):
            if kind not in AXES:
                raise self.source.error(f"an axis is spatial (S), reduce (R) or opaque (O), not {kind!r}", statement)
            name = self.variable(variable)
            if name in axes:
                raise self.source.error(f"the axis '{name}' is bound twice", variable)
            axes[name] = AXES[kind], extent, as_index(value)

    def axes_of(self, call: ast.expr) -> list[tuple[str, int | None, Any]]:
        """Kind, extent and value of the axes that a call makes."""
        if not isinstance(call, ast.Call):
            raise self.source.error("an axis is made by a call: T.axis.spatial(128, i)", call)
        kind = str(self.word(call)).removeprefix("axis.")
        if kind == "remap":
            given = self.named(call, "kinds", "bindings", "dtype")
            kinds, bound = given.get("kinds"), given.get("bindings")
            if not isinstance(kinds, str) or not isinstance(bound, tuple) or len(kinds) != len(bound):
                raise self.source.error("T.axis.remap takes a letter for each loop: T.axis.remap(\"SSR\", [i, j, k])", call)
            return [(one, self.extent_of(value), value) for one, value in zip(kinds, bound)]
        given = self.named(call, "dom", "binding", "dtype")
        if "dom" not in given or "binding" not in given:
            raise self.source.error("an axis has an extent and a value: T.axis.spatial(128, i)", call)
        extent = given["dom"]
        if isinstance(extent, tuple):
            extent = extent[1] if len(extent) == 2 and extent[0] == 0 else None
        return [(kind, extent if isinstance(extent, int) else None, given["binding"])]

    def extent_of(self, value: Any) -> int | None:
        """The extent of the loop whose variable a value is."""
        loop = loops.loop_of(value.value) if isinstance(value, Scalar) else None
        if loop is None:
            raise Problem("T.axis.remap takes loop variables; for other values say T.axis.spatial(extent, value)")
        return loop.extent

    def check_axes(self, name: str, axes: dict[str, tuple[str, int | None, Any]], node: ast.AST) -> None:
        seen: dict[ir.Value, str] = {}
        for axis, (_, extent, value) in axes.items():
            loop = loops.loop_of(value)
            if loop is None:
                continue
            if value in seen:
                raise self.source.error(f"the block '{name}' binds the axes {seen[value]} and {axis} both to the loop {loop.name}", node)
            seen[value] = axis
            if extent is not None and loop.extent is not None and loop.extent > extent:
                raise self.source.error(f"the block '{name}': the axis {axis} has {extent} values, and the loop {loop.name} has "
                                        f"{loop.extent} steps", node)
