"""tir-split-windows: splits pooling and depthwise kernels on padded input into an interior that reads the input and padded borders.

The output is split into the positions whose windows need no padding and up to four strips around them, which are computed from small
padded copies. Each part ends in an elementwise op, the window op's reader or a copy, so that schedules find one form for each part: a
fill, a window op and a reader.
"""
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from legato.analysis.structured import StructuredKernels, WindowForm
from legato.core.ir_helpers import present, terminator
from legato.core.mlir import arith, func, ir, linalg, tensor
from legato.core.slices import Sizes, dim, inserted, shape_of, slice_of
from legato.dialects import tir
from legato.dialects.module import Module
from legato.passes.pipeline.base import ModulePass, PassContext

WORTH_IT = 0.4  # least fraction of the output in the interior


@dataclass(frozen=True)
class SplitWindows(ModulePass):
    """Splits padded pooling and depthwise kernels into an unpadded interior and padded strips."""

    name: ClassVar[str] = "tir-split-windows"
    keeps_kernels: ClassVar[bool] = True

    def run(self, module: Module, context: PassContext) -> None:
        for kernel in tir.schedulable(module.module):
            split_windows(kernel, context.kernels)


def split_windows(kernel: func.FuncOp, kernels: StructuredKernels) -> None:
    """Splits one kernel; kernels of other forms, and those with a part that reads padding only, are left as they are."""
    form = kernels.of(kernel).window
    if form is None:
        return
    split = WindowSplit(kernel, form)
    if not all(split.reads_input(part) for part in split.parts()):
        return
    with ir.InsertionPoint(split.returns), form.op.location:
        out = split.out
        for part in split.parts():
            out = split.build(part, out)
        split.returns.operands[0] = out
    reader = None if form.reader is None else form.reader.op
    for op in (reader, form.op, form.fill, form.pad):
        if op is not None:
            op.erase()
    kernels.drop(kernel)


Part = tuple[tuple[int, int], tuple[int, int]]


class WindowSplit:
    """Builds the parts of one kernel's output."""

    def __init__(self, kernel: func.FuncOp, form: WindowForm):
        block = kernel.body.blocks[0]
        self.form, self.returns, self.out = form, terminator(block), block.arguments[len(block.arguments) - 1]

    def parts(self) -> list[Part]:
        """The ranges of output rows and columns of each part, strips first."""
        rows, columns = self.form.axes
        (top, bottom), (left, right) = rows.inside(), columns.inside()
        whole = (0, rows.count), (0, columns.count)
        if (bottom - top) * (right - left) < WORTH_IT * rows.count * columns.count:
            return [whole]
        middle = (top, bottom)
        parts = [((0, top), whole[1]), ((bottom, rows.count), whole[1]), (middle, (0, left)), (middle, (right, columns.count)),
                 (middle, (left, right))]
        return [(r, c) for r, c in parts if r[0] < r[1] and c[0] < c[1]]

    def reads_input(self, part: Part) -> bool:
        """Whether a part reads anything of the input: windows may lie in padding alone."""
        return all(first < last for first, last, *_ in (axis.reads(*range_) for axis, range_ in zip(self.form.axes, part)))

    def build(self, part: Part, out: ir.Value) -> ir.Value:
        """Computes one part of the output and inserts it into ``out``. Returns the new output."""
        (top, bottom), (left, right) = part
        sizes = [dim(out, 0), bottom - top, right - left, dim(out, 3)]
        offsets = [0, top, left, 0]
        element = self.form.op.results[0].type.element_type
        empty = tensor.EmptyOp(sizes, element).result
        fill = copy_of(self.form.fill, [self.form.fill.operands[0], empty], [empty.type])
        window = copy_of(self.form.op, [self.input(part), self.form.op.operands[1], fill.results[0]], [empty.type])
        place = slice_unless_whole(out, offsets, sizes)
        if self.form.reader is None:
            result = read_through(window.results[0], place)
        else:
            operands = [self.operand(i, window.results[0], place, offsets, sizes) for i in range(len(self.form.reader.op.operands))]
            result = copy_of(self.form.reader.op, operands, [place.type]).results[0]
        return result if result.type == out.type else inserted(result, out, offsets, sizes)

    def input(self, part: Part) -> ir.Value:
        """The input that one part's windows read, padded where they reach beyond it."""
        low, high, offsets, sizes = [0], [0], [0], [dim(self.form.source, 0)]
        for axis, (start, end) in zip(self.form.axes, part):
            first, last, before, behind = axis.reads(start, end)
            offsets.append(first)
            sizes.append(last - first)
            low.append(before)
            high.append(behind)
        offsets, sizes, low, high = [*offsets, 0], [*sizes, dim(self.form.source, 3)], [*low, 0], [*high, 0]
        piece = slice_unless_whole(self.form.source, offsets, sizes)
        if not any(low) and not any(high):
            return piece
        padded = [s + a + b if isinstance(s, int) else s for s, a, b in zip(sizes, low, high)]
        type_ = ir.RankedTensorType.get(shape_of(padded), piece.type.element_type)
        pad = tensor.PadOp(type_, piece, [], [], low, high)
        block = pad.regions[0].blocks.append(*[ir.IndexType.get()] * 4)
        with ir.InsertionPoint(block):
            tensor.YieldOp(present(self.form.pad).regions[0].blocks[0].operations[0].operands[0])
        return pad.result

    def operand(self, index: int, window: ir.Value, place: ir.Value, offsets: list[int], sizes: Sizes) -> ir.Value:
        """The slice of a reader's operand for one part of the output."""
        reader = present(self.form.reader)
        value = reader.op.operands[index]
        if index == len(reader.op.operands) - 1:
            return place
        if value == self.form.op.results[0]:
            return window
        if not isinstance(value.type, ir.RankedTensorType):
            return value
        loops = reader.loops_of(index)
        starts = [0 if l is None else offsets[l] for l in loops]
        extents = [dim(value, d) if l is None else sizes[l] for d, l in enumerate(loops)]
        return slice_unless_whole(value, starts, extents)


def slice_unless_whole(value: ir.Value, offsets: Sequence[int], sizes: Sizes) -> ir.Value:
    """A slice of a tensor; the tensor itself where the types are equal: dynamic sizes are those of whole dimensions."""
    return value if value.type.shape == shape_of(sizes) else slice_of(value, offsets, sizes)


def copy_of(op: ir.Operation, operands: Sequence[ir.Value], types: Sequence[ir.Type]) -> ir.Operation:
    """A clone of the op on other operands, with other result types."""
    new = op.clone()
    for i, value in enumerate(operands):
        new.operands[i] = value
    for result, type_ in zip(new.results, types):
        result.set_type(type_)
    return new.operation


def read_through(value: ir.Value, out: ir.Value) -> ir.Value:
    """An elementwise copy with an operand that it does not read: upstream erases a copy that is plainly the identity."""
    rank, element = value.type.rank, value.type.element_type
    attribute = ir.FloatAttr.get(element, 0.0) if isinstance(element, ir.FloatType) else ir.IntegerAttr.get(element, 0)
    maps = [ir.AffineMap.get_identity(rank), ir.AffineMap.get(rank, 0, []), ir.AffineMap.get_identity(rank)]
    kinds = ir.ArrayAttr.get([ir.Attribute.parse("#linalg.iterator_type<parallel>")] * rank)
    unread = arith.ConstantOp(element, attribute).result
    copy = linalg.GenericOp([out.type], [value, unread], [out], ir.ArrayAttr.get([ir.AffineMapAttr.get(m) for m in maps]), kinds)
    block = copy.regions[0].blocks.append(element, element, element)
    with ir.InsertionPoint(block):
        linalg.YieldOp([block.arguments[0]])
    return copy.results[0]
