"""The axes of a kernel's blocks: ``vi = T.axis.spatial(128, i)``, ``vi, vk = T.axis.remap("SR", [i, k])``."""

import ast
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from legato.core.mlir import ir
from legato.dialects.tir import loops
from legato.dialects.tir.loops import OPAQUE, REDUCE, SPATIAL
from legato.frontends.script.kernel.arguments import named
from legato.frontends.script.kernel.arithmetic import binary
from legato.frontends.script.kernel.parser import KernelParser, variable
from legato.frontends.script.kernel.values import Scalar, as_index, index_value
from legato.frontends.script.language.source import Misuse

KINDS = {"spatial": SPATIAL, "S": SPATIAL, "reduce": REDUCE, "R": REDUCE, "opaque": OPAQUE, "O": OPAQUE}
PREFIX = "axis."
OLD_KINDS = ("reduce_axis", "range", "scan_axis", "opaque_axis")


@dataclass(frozen=True)
class BoundAxis:
    """An axis of a block: its kind, its extent where that is a number, the value that it is bound to, and the first value of its range."""

    kind: str
    extent: int | None
    value: Any
    begin: Any = 0

    @property
    def place(self) -> ir.Value:
        """The value's distance from the first one: axes of blocks begin at 0."""
        return as_index(self.value if self.begin == 0 else binary("-", self.value, self.begin))

    def at(self, place: ir.Value) -> Any:
        """The value at a place."""
        return index_value(place) if self.begin == 0 else binary("+", index_value(place), self.begin)


def axis_kinds(parser: KernelParser, statement: ast.stmt) -> list[str | None]:
    """The kinds of the axes that an assignment makes (``remap`` is one); none where it makes anything else."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return []
    calls = statement.value.elts if isinstance(statement.value, ast.Tuple) else [statement.value]
    words = [parser.word(c) for c in calls]
    return [w.removeprefix(PREFIX) for w in words if w] if all(w and w.startswith(PREFIX) for w in words) else []


def bind_axes(parser: KernelParser, statement: ast.Assign, axes: dict[str, BoundAxis]) -> None:
    """Adds the axes that an assignment makes to those of a block, by name, their values as SSA values."""
    target = statement.targets[0]
    targets = target.elts if isinstance(target, ast.Tuple) else [target]
    calls = statement.value.elts if isinstance(statement.value, ast.Tuple) else [statement.value]
    made = [axis for call in calls for axis in axes_of(parser, call)]
    if len(targets) != len(made):
        raise parser.error(f"{len(made)} ax{'i' if len(made) == 1 else 'e'}s, and {len(targets)} "
                           f"name{'s' * (len(targets) != 1)} for them", statement)
    for node, axis in zip(targets, made):
        if axis.kind not in KINDS:
            raise parser.error(f"an axis is spatial (S), reduce (R) or opaque (O), not {axis.kind!r}", statement)
        name = variable(parser, node)
        if name in axes:
            raise parser.error(f"the axis '{name}' is bound twice", node)
        axes[name] = replace(axis, kind=KINDS[axis.kind], value=index_value(as_index(axis.value)))


def axes_of(parser: KernelParser, call: ast.expr) -> list[BoundAxis]:
    """The axes that a call makes, with their kinds as the script spells them."""
    if not isinstance(call, ast.Call):
        raise parser.error("an axis is made by a call: T.axis.spatial(128, i)", call)
    kind = str(parser.word(call)).removeprefix(PREFIX)
    if kind == "remap":
        given = named(parser, call, "kinds", "bindings", "dtype")
        kinds, bound = given.get("kinds"), given.get("bindings")
        if not isinstance(kinds, str) or not isinstance(bound, tuple) or len(kinds) != len(bound):
            raise parser.error("T.axis.remap takes a letter for each loop: T.axis.remap(\"SSR\", [i, j, k])", call)
        return [BoundAxis(one, (loop := loop_bound(value)).extent, value, begin_of(loop.bounds[0])) for one, value in zip(kinds, bound)]
    given = named(parser, call, "dom", "binding", "dtype")
    if "dom" not in given or "binding" not in given:
        raise parser.error("an axis has an extent and a value: T.axis.spatial(128, i)", call)
    begin, end = found if isinstance(found := given["dom"], tuple) and len(found) == 2 else (0, found)
    extent = end - begin if isinstance(begin, int) and isinstance(end, int) else None
    return [BoundAxis(kind, extent, given["binding"], begin if isinstance(begin, int) else begin_of(as_index(begin)))]


def loop_bound(value: Any) -> loops.ForOp:
    """The loop whose variable a value is. Misuse for any other value."""
    loop = loops.loop_of(value.value) if isinstance(value, Scalar) else None
    if loop is None:
        raise Misuse("T.axis.remap takes loop variables; for other values say T.axis.spatial(extent, value)")
    return loop


def begin_of(bound: ir.Value) -> Any:
    """The lower bound of a loop, or of an axis, as a value of the script."""
    number = loops.constant_of(bound)
    return index_value(bound) if number is None else number


def check_axes(parser: KernelParser, name: str, axes: dict[str, BoundAxis], node: ast.AST, predicated: bool) -> None:
    """ScriptError where two axes are bound to one loop, or a loop's extent exceeds its axis's. ``predicated``: the block has a T.where,
    which may leave out the loop's last steps."""
    seen: dict[ir.Value, str] = {}
    for axis, bound in axes.items():
        loop = loops.loop_of(bound.value.value)
        if loop is None:
            continue
        if bound.value.value in seen:
            raise parser.error(f"the block '{name}' binds the axes {seen[bound.value.value]} and {axis} both to the loop {loop.name}", node)
        seen[bound.value.value] = axis
        if not predicated and bound.extent is not None and loop.extent is not None and loop.extent > bound.extent:
            raise parser.error(f"the block '{name}': the axis {axis} has {bound.extent} values, and the loop {loop.name} has "
                               f"{loop.extent} steps", node)


def axes_as_statements(node: ast.With, word: Callable[[ast.AST], str | None], loops_around: list[str]) -> ast.With:
    """TVM's oldest spelling, ``with T.block([16, T.reduce_axis(0, 8)], "C") as [vi, vk]`` and T.bind(vi, i), as axes in the body.

    ``loops_around``: the variables of the loops; axes without a T.bind are bound to the innermost ones.
    """
    call, target = node.items[0].context_expr, node.items[0].optional_vars
    names = target.elts if isinstance(target, (ast.List, ast.Tuple)) else [target] if target is not None else []
    if not isinstance(call, ast.Call) or not isinstance(call.args[0], ast.List) or not isinstance(call.func, ast.Attribute) or (
            len(names) != len(call.args[0].elts)):
        raise Misuse("a block has a name: with T.block(\"C\"), and axes inside: vi = T.axis.spatial(16, i)")
    calls = [s.value for s in node.body if isinstance(s, ast.Expr) and isinstance(s.value, ast.Call) and word(s.value) == "bind"]
    bound = {c.args[0].id: c.args[1] for c in calls if len(c.args) == 2 and isinstance(c.args[0], ast.Name)}
    inner = loops_around[len(loops_around) - len(names):]
    statements: list[ast.stmt] = []
    for number, (name, extent) in enumerate(zip(names, call.args[0].elts)):
        kind = word(extent) if isinstance(extent, ast.Call) else None
        kind = kind if kind in OLD_KINDS else None
        if not isinstance(name, ast.Name) or (name.id not in bound and len(inner) != len(names)):
            raise Misuse("an axis is bound to a value: vi = T.axis.spatial(16, i)")
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
