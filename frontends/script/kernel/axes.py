"""The axes of a kernel's blocks: ``vi = T.axis.spatial(128, i)``, ``vi, vk = T.axis.remap("SR", [i, k])``."""

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from legato.core.mlir import ir
from legato.dialects.tir import loops
from legato.dialects.tir.loops import OPAQUE, REDUCE, SPATIAL
from legato.frontends.script.kernel.arguments import named
from legato.frontends.script.kernel.parser import KernelParser, variable
from legato.frontends.script.kernel.values import Scalar, as_index
from legato.frontends.script.language.source import Misuse

KINDS = {"spatial": SPATIAL, "S": SPATIAL, "reduce": REDUCE, "R": REDUCE, "opaque": OPAQUE, "O": OPAQUE}
PREFIX = "axis."
OLD_KINDS = ("reduce_axis", "range", "scan_axis", "opaque_axis")


@dataclass(frozen=True)
class BoundAxis:
    """An axis of a block: its kind, its extent where that is a number, and the value that it is bound to."""

    kind: str
    extent: int | None
    value: Any


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
        axes[name] = BoundAxis(KINDS[axis.kind], axis.extent, as_index(axis.value))


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
        return [BoundAxis(one, extent_of(value), value) for one, value in zip(kinds, bound)]
    given = named(parser, call, "dom", "binding", "dtype")
    if "dom" not in given or "binding" not in given:
        raise parser.error("an axis has an extent and a value: T.axis.spatial(128, i)", call)
    extent = given["dom"]
    if isinstance(extent, tuple):
        extent = extent[1] if len(extent) == 2 and extent[0] == 0 else None
    return [BoundAxis(kind, extent if isinstance(extent, int) else None, given["binding"])]


def extent_of(value: Any) -> int | None:
    """The extent, where it is a number, of the loop whose variable a value is. Misuse for any other value."""
    loop = loops.loop_of(value.value) if isinstance(value, Scalar) else None
    if loop is None:
        raise Misuse("T.axis.remap takes loop variables; for other values say T.axis.spatial(extent, value)")
    return loop.extent


def check_axes(parser: KernelParser, name: str, axes: dict[str, BoundAxis], node: ast.AST) -> None:
    """ScriptError where two axes are bound to one loop, or a loop's extent exceeds its axis's."""
    seen: dict[ir.Value, str] = {}
    for axis, bound in axes.items():
        loop = loops.loop_of(bound.value)
        if loop is None:
            continue
        if bound.value in seen:
            raise parser.error(f"the block '{name}' binds the axes {seen[bound.value]} and {axis} both to the loop {loop.name}", node)
        seen[bound.value] = axis
        if bound.extent is not None and loop.extent is not None and loop.extent > bound.extent:
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
