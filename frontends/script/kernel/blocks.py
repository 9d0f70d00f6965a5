"""The blocks of a kernel: axes, predicate, init and body."""

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from legato.analysis.accesses import buffer_of
from legato.core.ir_helpers import defining_op, find
from legato.core.mlir import ir, scf
from legato.dialects.tir import loops
from legato.dialects.tir.loops import REDUCE
from legato.dialects.tir.strides import ALIGNMENTS, align
from legato.frontends.script.kernel.allocations import makes_buffer
from legato.frontends.script.kernel.arguments import arguments
from legato.frontends.script.kernel.axes import BoundAxis, axis_kinds, bind_axes, check_axes
from legato.frontends.script.kernel.notes import NOTES, noted
from legato.frontends.script.kernel.parser import KernelParser
from legato.frontends.script.kernel.regions import check_writes, regions
from legato.frontends.script.kernel.values import condition


def block(parser: KernelParser, name: str, node: ast.With) -> None:
    """Builds ``with T.block(name):`` with the properties that its body states: axes, T.where, T.reads, T.writes, T.init, T.block_attr."""
    axes: dict[str, BoundAxis] = {}
    where: list[Any] = []
    lists: list[Any] = []  # the calls of T.reads and T.writes, the last one of each
    init, notes, rest = None, None, []
    for statement in node.body:
        word = parser.word(statement.value) if isinstance(statement, ast.Expr) else None
        if axis_kinds(parser, statement):
            bind_axes(parser, statement, axes)
        elif word == "where":
            where += arguments(parser, statement.value)
        elif word in ("reads", "writes"):
            lists = [c for c in lists if parser.word(c) != word] + [statement.value]
        elif isinstance(statement, ast.With) and parser.word(statement.items[0].context_expr) == "init":
            if init is not None:
                raise parser.error(f"the block '{name}' has an init already", statement)
            init = statement
        elif word in ("block_attr", "sblock_attr"):
            notes = next(iter([*statement.value.args, *(k.value for k in statement.value.keywords)]), notes)
        else:
            rest.append(statement)
    if init is not None and not any(axis.kind == REDUCE for axis in axes.values()):
        raise parser.error(f"the block '{name}' has an init, but no axis that is reduced (T.axis.reduce)", init)
    tests = [condition(w) for w in where if w is not True]
    check_axes(parser, name, axes, node, bool(tests))
    places = [axis.place for axis in axes.values()]
    found: dict[str, Any] = {}
    with under(tests):
        kinds, extents = [a.kind for a in axes.values()], [a.extent for a in axes.values()]
        made = loops.make_block(name, list(axes), kinds, extents, places, init is not None)
        noted(parser.source, made.operation, notes)
        if init is not None:
            first = [*given_names(parser, node.body[: node.body.index(init)]), *init.body]
            with loops.before_end(made.init_block), parser.inside(**axis_values(axes, made.init_block, REDUCE)):
                parser.statements(first)
        with loops.before_end(made.block), parser.inside(**axis_values(axes, made.block)):
            parser.statements(rest)
            found = {str(parser.word(call)): (regions(parser, call), call) for call in lists}
    take_alignments(made.operation)
    if "writes" in found and (axes or found["writes"][0]):  # T.writes() of a block without axes, as TVM prints external ones, says nothing
        check_writes(parser, made, *found["writes"])


def take_alignments(block: ir.Operation) -> None:
    """Moves TVM's annotation for the strides of buffers that a block writes to their allocations, where it is well formed."""
    notes = {note.name: note.attr for note in block.attributes[NOTES]} if NOTES in block.attributes else {}
    entries = notes.pop(ALIGNMENTS, None)
    if not isinstance(entries, ir.ArrayAttr):
        return
    written = [defining_op(buffer) for buffer in dict.fromkeys(map(buffer_of, find(block, "memref.store")))]
    for entry in entries:
        numbers = [one.value for one in entry if isinstance(one, ir.IntegerAttr)] if isinstance(entry, ir.ArrayAttr) else []
        if len(numbers) != 4 or not 0 <= numbers[0] < len(written) or numbers[2] < 1:
            return
        made = written[numbers[0]]
        if made is not None and made.name == "tir.alloc_buffer" and 0 <= numbers[1] < made.results[0].type.rank - 1:
            align(made, *numbers[1:])
    if notes:
        block.attributes[NOTES] = ir.DictAttr.get(notes)
    else:
        del block.attributes[NOTES]


def axis_values(axes: dict[str, BoundAxis], inside: ir.Block, first: str | None = None) -> dict[str, Any]:
    """The axes' values in a region of the block, by name. ``first``: the kind of axes whose value is their first one there."""
    return {name: axis.begin if axis.kind == first and axis.begin != 0 else axis.at(v)
            for (name, axis), v in zip(axes.items(), inside.arguments)}


def given_names(parser: KernelParser, statements: list[ast.stmt]) -> list[ast.stmt]:
    """The statements that name values and views, without those of axes and memory: an init sees the names defined before it."""
    return [s for s in statements if isinstance(s, ast.Assign) and not axis_kinds(parser, s)
            and not isinstance(s.targets[0], ast.Subscript)
            and (not makes_buffer(parser, s.value) or parser.word(s.value) == "match_buffer")]


@contextmanager
def under(tests: list[ir.Value]) -> Iterator[None]:
    """Puts the ops built inside under all tests: the predicate of a block, T.where."""
    if not tests:
        yield
        return
    made = scf.IfOp(tests[0])
    with ir.InsertionPoint(made.then_block):
        with under(tests[1:]):
            yield
        scf.YieldOp([])
