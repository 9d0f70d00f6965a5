"""Blocks and conditions of a kernel: tir.block, and scf.if, which may be a block's predicate."""

from typing import Any

from legato.analysis.accesses import buffer_of
from legato.core.ir_helpers import body, defining_op, find
from legato.core.mlir import ir
from legato.dialects.tir.loops import BlockOp, loop_of
from legato.dialects.tir.strides import ALIGNMENTS, alignment_of
from legato.frontends.script.printer.notes import notes_of, shown
from legato.frontends.script.printer.text import PrintedText
from legato.frontends.script.printer.values import common, reads, together
from legato.frontends.script.printer.writer import KernelWriter

LETTERS = {"spatial": "S", "reduce": "R", "opaque": "O"}


def tir_block(writer: KernelWriter, op: ir.Operation, predicate: str | None = None) -> None:
    """``with T.block("C"):``. ``predicate``: the condition of a T.where."""
    block: Any = op.opview
    values = list(block.values)
    sources = [writer.index(v) for v in values]
    writer.line(f'with T.block("{block.name}"):')

    def write() -> None:
        names = [writer.fresh(axis) for axis in block.axes]
        axes(writer, block, names, values, sources)
        if predicate is not None:
            writer.line(f"T.where({predicate})")
        notes = notes_of(op) | alignments(op)
        if notes:
            writer.line(f"T.block_attr({shown(notes)})")
        if block.init_block is not None:
            name_axes(writer, block.init_block, names)
            writer.line("with T.init():")
            writer.block(block.init_block)
        name_axes(writer, block.block, names)
        writer.statements(body(block.block))

    writer.inner(write)


def alignments(op: ir.Operation) -> dict[str, Any]:
    """TVM's annotation of a block for the buffers that it writes, and whose strides are to be aligned."""
    found = []
    for number, buffer in enumerate(dict.fromkeys(map(buffer_of, find(op, "memref.store")))):
        made = defining_op(buffer)
        aligned = alignment_of(made) if made is not None and made.name == "tir.alloc_buffer" else None
        found += [[number, *aligned]] if aligned is not None else []
    return {ALIGNMENTS: found} if found else {}


def axes(writer: KernelWriter, block: BlockOp, names: list[str], values: list[ir.Value], sources: list[str]) -> None:
    """The lines that define the axes: one T.axis.remap where all are bound to loops of the same extents."""
    plain = [(loop := loop_of(v)) is not None and loop.extent == extent for v, extent in zip(values, block.extents)]
    if names and all(plain):
        letters = "".join(LETTERS[kind] for kind in block.kinds)
        writer.line(f"{', '.join(names)} = T.axis.remap(\"{letters}\", [{', '.join(sources)}])")
        return
    for name, kind, extent, value, source in zip(names, block.kinds, block.extents, values, sources):
        size = str(extent) if extent is not None else dynamic_extent(writer, value, source)
        writer.line(f"{name} = T.axis.{kind}({size}, {source})")


def dynamic_extent(writer: KernelWriter, value: ir.Value, source: str) -> str:
    """The source of a dynamic extent of an axis: the upper bound of its loop, or one more than its value."""
    loop = loop_of(value)
    return writer.index(loop.bounds[1]) if loop is not None else f"{source} + 1"


def name_axes(writer: KernelWriter, block: ir.Block, names: list[str]) -> None:
    """Gives the axes their names in a region of the block."""
    for argument, name in zip(block.arguments, names):
        writer.texts[argument] = PrintedText(name, "index")


def scf_if(writer: KernelWriter, op: ir.Operation) -> None:
    """``if test: ... else: ...``, the T.where of a block that stands alone under it, or ``T.if_then_else``."""
    if op.results:
        if_then_else(writer, op)
        return
    inside = body(op.regions[0].blocks[0])
    test = writer.read(op.operands[0]).source
    if len(inside) == 1 and inside[0].name == "tir.block" and not len(op.regions[1].blocks):
        tir_block(writer, inside[0], test)
        return
    writer.line(f"if {test}:")
    writer.inner(lambda: writer.statements(inside))
    if len(op.regions[1].blocks):
        writer.line("else:")
        writer.block(op.regions[1].blocks[0])


def if_then_else(writer: KernelWriter, op: ir.Operation) -> None:
    """``T.if_then_else(test, a, b)``. NotPrintable where a branch is not a single expression."""
    test, branches, count = writer.read(op.operands[0]), [], len(writer.lines)
    if len(op.results) != 1:
        raise writer.refuse("it has a condition that gives several values")
    for region in op.regions:
        inside = region.blocks[0]
        writer.statements(body(inside))
        branches.append(writer.read(inside.operations[len(inside.operations) - 1].operation.operands[0]))
    if len(writer.lines) != count:
        raise writer.refuse("a branch of T.if_then_else is no expression")
    chosen = ", ".join(t.source for t in together(branches))
    text = PrintedText(f"T.if_then_else({test.source}, {chosen})", common(branches), reads=reads([test, *branches]))
    writer.remember(op.results[0], text)


OPS = {"tir.block": tir_block, "scf.if": scf_if}
